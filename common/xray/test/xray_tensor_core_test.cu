// Tests the X-ray of tensor-core instructions. A warp's matrix loads are checked row by row.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/cuda/tensor_core.hpp"
#include "common/emulator/test/device_vector.hpp"
#include "common/emulator/test/portable_kernels.hpp"
#include "common/xray/report.hpp"
#include "common/xray/test/recorded.hpp"

namespace {

using namespace emulator::xray;
using emulator::Schedule;

class XrayTensorCore : public RecordedTest {};

// Two 16 x 16 operands in rows of 48 bytes: two matrix loads without conflicts, two products.
TEST_F(XrayTensorCore, CountsAreAsKnownByHand) {
  const DeviceVector<float> a(std::vector<float>(256, 1.0f)), b(std::vector<float>(256, 1.0f));
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    const DeviceVector<float> d(256);
    portable_kernels::multiply_loaded(d.data(), a.data(), b.data());
    Kernel kernel = only();
    for (const Error& error : kernel.errors)
      ADD_FAILURE() << error.message;
    EXPECT_EQ(kernel[kSharedMatrixLoadRequests], 2u);
    EXPECT_EQ(kernel[kSharedLoadRequests], 0u);
    EXPECT_EQ(kernel[kSharedLoadWavefronts], 8u);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
    EXPECT_EQ(kernel[kTensorOperations], 2u);
    EXPECT_EQ(kernel[kTensorMultiplyAdds], 2u * 16 * 8 * 16);
    const std::vector<Subject> subjects = {{"", "multiply_loaded", std::move(kernel)}};
    EXPECT_NE(to_table(subjects).find("tensor-core operations (instructions of a warp)"),
              std::string::npos);
    EXPECT_EQ(to_json(subjects)["kernels"][0]["counters"]["tensor_operations"], 2);
  }
}

enum How { kRight, kNoBarrier, kNoWait, kUnwritten, kPastTheEnd };

int load_line = 0;
__global__ void stores_and_loads(std::uint32_t* out, const float4* in, How how) {
  __shared__ float4 rows[32];
  const unsigned lane = threadIdx.x;
  if (how != kUnwritten || lane != 5) rows[lane] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
  if (how == kNoWait) __pipeline_memcpy_async(&rows[lane], in, 16);
  if (how != kNoBarrier) __syncwarp();
  std::uint32_t r[4];
  load_line = __LINE__ + 1;
  ladder::cuda::load_matrices(r, &rows[31 - lane] + (how == kPastTheEnd && lane == 0 ? 1 : 0));
  out[lane] = r[0] ^ r[1] ^ r[2] ^ r[3];
}

TEST_F(XrayTensorCore, FindsWhatIsWrongWithARow) {
  const DeviceVector<float4> in(std::vector<float4>(1));
  const DeviceVector<std::uint32_t> out(32);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    const auto first_error = [&](How how) {
      stores_and_loads<<<1, 32>>>(out.data(), in.data(), how);
      const Kernel kernel = only();
      EXPECT_EQ(kernel.errors.empty(), how == kRight) << how;
      return kernel.errors.empty() ? Error{} : kernel.errors.front();
    };
    const auto at = [](int line) {
      return "common/xray/test/xray_tensor_core_test.cu:" + std::to_string(line);
    };
    const auto expect = [&](const Error& error, const char* kind, unsigned thread, int offset) {
      EXPECT_EQ(error.kind, kind);
      EXPECT_EQ(error.space, Space::kShared);
      EXPECT_EQ(error.bytes, 16u);
      EXPECT_EQ(error.offset, offset) << error.message;
      EXPECT_EQ(error.party.thread.x, thread) << error.message;
      EXPECT_EQ(error.party.where.text(), at(load_line)) << error.message;
    };
    first_error(kRight);
    expect(first_error(kUnwritten), "uninitialised read", 26, 5 * 16);
    expect(first_error(kPastTheEnd), "out of bounds", 0, 32 * 16);
    for (const auto& [how, words] :
         {std::pair(kNoBarrier, "no __syncwarp() or __syncthreads() orders them"),
          std::pair(kNoWait, "no __pipeline_wait_prior()")}) {
      const Error race = first_error(how);
      EXPECT_EQ(race.kind, "race");
      EXPECT_NE(race.message.find(words), std::string::npos) << race.message;
      EXPECT_NE(race.message.find(at(load_line)), std::string::npos) << race.message;
    }
  }
}

}  // namespace
