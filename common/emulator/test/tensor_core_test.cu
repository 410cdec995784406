// Tensor-core instructions give the same under every schedule. Misuse is reported.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "after_reset.hpp"
#include "common/cuda/tensor_core.hpp"
#include "device_vector.hpp"
#include "portable_kernels.hpp"

namespace {

using emulator::Schedule;

class TensorCoreUse : public AfterReset {};

TEST_F(TensorCoreUse, EveryScheduleGivesTheSame) {
  std::vector<float> numbers(16 * 16);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 1.0f / static_cast<float>(i + 1);
  const DeviceVector<float> in(numbers);
  std::vector<float> first;
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    const DeviceVector<float> out(16 * 16);
    portable_kernels::multiply_loaded(out.data(), in.data(), in.data());
    if (first.empty()) first = out.host();
    EXPECT_EQ(out.host(), first);
  }
}

enum class Missing { kNobody, kInAnotherBranch, kReturned, kAtAnotherLine };

int product_line = 0;
__global__ void lanes_that_do_not_come(float* out, Missing missing) {
  const bool odd_one = blockIdx.x == 1 && threadIdx.x == 37;
  if (odd_one && missing == Missing::kReturned) return;
  float d[4] = {};
  const std::uint32_t a[4] = {}, b[2] = {};
  if (odd_one && missing == Missing::kInAnotherBranch) __syncwarp();
  if (odd_one && missing == Missing::kAtAnotherLine) {
    ladder::cuda::mma_bf16(d, a, b);
  } else {
    product_line = __LINE__ + 1;
    ladder::cuda::mma_bf16(d, a, b);
  }
  out[threadIdx.x] = d[0];
}

void expect_failure(const std::vector<std::string>& parts) {
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, cudaErrorLaunchFailure);
  const std::string text = cudaGetErrorString(error);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
}

std::string at_line(int line) {
  return "tensor_core_test.cu:" + std::to_string(line);
}

TEST_F(TensorCoreUse, ALaneThatIsNotThereIsReported) {
  const DeviceVector<float> out(64);
  emulator::set_workers(1);  // both blocks write the line
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    lanes_that_do_not_come<<<2, 64>>>(out.data(), Missing::kNobody);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const std::vector<std::string> common = {"mma_bf16", "kernel lanes_that_do_not_come",
                                             "block (1, 0, 0)"};
    const auto report = [&](Missing missing, std::vector<std::string> parts) {
      lanes_that_do_not_come<<<2, 64>>>(out.data(), missing);
      parts.insert(parts.end(), common.begin(), common.end());
      parts.push_back(at_line(product_line));
      expect_failure(parts);
    };
    report(Missing::kInAnotherBranch, {"deadlock", "thread (37, 0, 0)"});
    report(Missing::kReturned, {"lane 5 has returned", "thread ("});
    report(Missing::kAtAnotherLine, {"at one place", at_line(product_line - 3), "thread ("});
  }
}

TEST_F(TensorCoreUse, AWarpThatIsNotFullIsReported) {
  const DeviceVector<float> out(64);
  lanes_that_do_not_come<<<1, 60>>>(out.data(), Missing::kNobody);
  expect_failure({at_line(product_line), "lane 28 has returned or never was"});
}

int load_line = 0;
__global__ void loads_a_wrong_row(std::uint32_t* out, int offset, bool global) {
  __shared__ __align__(16) std::uint32_t rows[32][4];
  for (int i = 0; i < 4; ++i)
    rows[threadIdx.x][i] = threadIdx.x;
  __syncwarp();
  const std::uint32_t* row = rows[threadIdx.x];
  if (threadIdx.x == 9) row = (global ? out : row) + offset;
  std::uint32_t r[4];
  load_line = __LINE__ + 1;
  ladder::cuda::load_matrices(r, row);
  out[threadIdx.x] = r[0];
}

TEST_F(TensorCoreUse, AWrongRowIsReported) {
  const DeviceVector<std::uint32_t> out(64);
  loads_a_wrong_row<<<1, 32>>>(out.data(), 0, false);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  loads_a_wrong_row<<<1, 32>>>(out.data(), 2, false);
  expect_failure({at_line(load_line), "load_matrices: the row is not aligned to 16 bytes",
                  "thread (9, 0, 0)"});
  loads_a_wrong_row<<<1, 32>>>(out.data(), 0, true);
  expect_failure({at_line(load_line), "load_matrices: the row is not in the block's shared memory",
                  "thread (9, 0, 0)"});
}

}  // namespace
