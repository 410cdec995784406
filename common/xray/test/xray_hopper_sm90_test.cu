// The X-ray's counts for Hopper's instructions, and no race reported where an order may exist.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/cuda/hopper.hpp"
#include "common/emulator/test/device_vector.hpp"
#include "common/xray/report.hpp"
#include "common/xray/test/recorded.hpp"

namespace {

using namespace emulator::xray;
namespace hopper = ladder::cuda::hopper;
using emulator::Schedule;
using hopper::Major;
using ladder::bfloat16;

constexpr int kRows = 64;

class XrayHopper : public RecordedTest {
 protected:
  static Kernel only() {
    const cudaError_t error = cudaGetLastError();
    EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
    std::vector<Kernel> kernels = take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? Kernel{} : kernels.front();
  }
};

// One warp passes numbers by an mbarrier. Then a panel is copied and multiplied with itself.
__global__ void hand_over_and_multiply(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) bfloat16 panel_smem[kRows * hopper::kPanel];
  __shared__ float numbers_smem[32];
  __shared__ hopper::Barrier numbers_here_smem, panel_here_smem;
  if (threadIdx.x == 0) {
    hopper::init(&numbers_here_smem, 32);
    hopper::init(&panel_here_smem, 1);
    hopper::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&panel_here_smem, sizeof panel_smem);
    hopper::tma_load(panel_smem, &map, &panel_here_smem, 0, 0, 0);
  }
  if (threadIdx.x < 32) {
    numbers_smem[threadIdx.x] = 1.0f;
    hopper::arrive(&numbers_here_smem);
  }
  hopper::wait(&numbers_here_smem, 0);
  hopper::wait(&panel_here_smem, 0);
  float d[32];
  hopper::wgmma_fence();
  hopper::wgmma<bfloat16, 64, Major::kK, Major::kK>(d, hopper::matrix_descriptor(panel_smem),
                                                    hopper::matrix_descriptor(panel_smem), false);
  hopper::wgmma_commit_group();
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  const bfloat16 element = panel_smem[threadIdx.x];  // written by a copy
  out[threadIdx.x] = d[0] + numbers_smem[threadIdx.x % 32] + ladder::to_float(element);
}

TEST_F(XrayHopper, CallsNothingARaceThatABarrierInMemoryMayOrder) {
  const DeviceVector<bfloat16> in(
      std::vector<bfloat16>(kRows * hopper::kPanel, ladder::to_bfloat16(1.0f)));
  const CUtensorMap map = hopper::make_tensor_map(in.data(), kRows, 1, hopper::kPanel, kRows);
  for (const auto order : {Schedule::forward, Schedule::reverse, Schedule::shuffle}) {
    emulator::set_schedule({order, 1});
    const DeviceVector<float> out(128);
    hand_over_and_multiply<<<1, 128>>>(map, out.data());
    const Kernel kernel = only();
    for (const Error& error : kernel.errors)
      ADD_FAILURE() << error.message;
    EXPECT_EQ(kernel[kBulkCopies], 1u);
    EXPECT_EQ(kernel[kBulkCopyBytes], 64u * 128);
    EXPECT_EQ(kernel[kTensorOperations], 1u);
    EXPECT_EQ(kernel[kTensorMultiplyAdds], 64u * 64 * 16);
    EXPECT_EQ(out.host()[77], 16.0f + 1 + 1);
  }
}

// The same kernel with late copies and products. A row per warp: copy, wait, product, wait.
TEST_F(XrayHopper, DrawsWhatABlockWaitsForOverTime) {
  const DeviceVector<bfloat16> in(
      std::vector<bfloat16>(kRows * hopper::kPanel, ladder::to_bfloat16(1.0f)));
  const CUtensorMap map = hopper::make_tensor_map(in.data(), kRows, 1, hopper::kPanel, kRows);
  const DeviceVector<float> out(128);
  emulator::set_schedule({.order = Schedule::forward, .late = true});
  hand_over_and_multiply<<<1, 128>>>(map, out.data());
  const Kernel kernel = only();
  EXPECT_EQ(kernel[kBarrierWaits], 2u * 128);
  EXPECT_EQ(kernel[kProductWaits], 4u);
  EXPECT_EQ(kernel[kProductWaitsForAll], 4u);
  EXPECT_EQ(kernel[kNamedBarriers], 0u);
  EXPECT_EQ(kernel[kProductBytes], 2u * 64 * 16 * 2);

  const auto timeline = to_json({{"", "", kernel}})["kernels"][0]["timeline"];
  EXPECT_EQ(timeline["row_threads"], 32);
  const auto spans_of = [&](const char* operation, unsigned row) {
    std::vector<nlohmann::json> spans;
    for (const auto& span : timeline["spans"]) {
      if (span["operation"] == operation && span["row"] == row) spans.push_back(span);
    }
    return spans;
  };
  EXPECT_EQ(timeline["spans"].size(), 2u + 4 * 3);
  ASSERT_EQ(spans_of("tma_load", 0).size(), 1u);
  ASSERT_EQ(spans_of("wgmma", 0).size(), 1u);
  const auto copy = spans_of("tma_load", 0)[0], product = spans_of("wgmma", 0)[0];
  EXPECT_EQ(copy["what"], "copy");
  EXPECT_EQ(product["what"], "product");
  for (unsigned row = 0; row < 4; ++row) {
    const auto waits = spans_of("wait", row), last = spans_of("wgmma_wait_group", row);
    ASSERT_EQ(waits.size(), 2u);  // for numbers, then for the panel
    ASSERT_EQ(last.size(), 1u);
    EXPECT_EQ(waits[1]["what"], "wait");
    EXPECT_EQ(waits[0]["line"].get<int>() + 1, waits[1]["line"]);
    EXPECT_LT(copy["from"], waits[1]["from"]);
    EXPECT_LT(copy["to"], waits[1]["to"]);
    EXPECT_LT(waits[1]["to"], product["from"]);
    EXPECT_LT(product["from"], last[0]["from"]);
    EXPECT_LT(product["to"], last[0]["to"]);
  }
}

// The tensor has 50 of the panel's 64 rows.
__global__ void store_panel_and_read(const __grid_constant__ CUtensorMap map, const bfloat16* out,
                                     float* sum) {
  __shared__ alignas(1024) bfloat16 panel_smem[kRows * hopper::kPanel];
  for (int i = static_cast<int>(threadIdx.x); i < kRows * hopper::kPanel; i += 32)
    panel_smem[i] = ladder::to_bfloat16(1.0f);
  hopper::fence_proxy_async();
  __syncwarp();
  if (threadIdx.x != 0) return;
  hopper::tma_store(&map, panel_smem, 0, 0, 0);
  hopper::tma_store_commit();
  hopper::tma_store_wait<0>();
  *sum = ladder::to_float(out[0]) + ladder::to_float(out[49 * 64 + 63]);
}

TEST_F(XrayHopper, CountsBulkStoresAndWhatTheyWrite) {
  const DeviceVector<bfloat16> out(50 * hopper::kPanel);
  const CUtensorMap map = hopper::make_tensor_map(out.data(), 50, 1, hopper::kPanel, kRows);
  const DeviceVector<float> sum(1);
  store_panel_and_read<<<1, 32>>>(map, out.data(), sum.data());
  const Kernel kernel = only();
  for (const Error& error : kernel.errors)
    ADD_FAILURE() << error.message;
  EXPECT_EQ(kernel[kBulkStores], 1u);
  EXPECT_EQ(kernel[kBulkStoreBytes], 50u * 128);
  EXPECT_EQ(sum.host()[0], 2.0f);
}

__global__ void store_rows_and_read(unsigned* out) {
  __shared__ alignas(16) unsigned short rows_smem[32][8];
  const std::uint32_t r[4] = {1, 2, 3, 4};
  hopper::store_matrices(rows_smem[threadIdx.x], r);
  out[threadIdx.x] = rows_smem[31 - threadIdx.x][0];  // the missing __syncwarp is a race
}

TEST_F(XrayHopper, SeesTheRowsOfAMatrixStore) {
  const DeviceVector<unsigned> out(32);
  store_rows_and_read<<<1, 32>>>(out.data());
  const Kernel kernel = only();
  EXPECT_EQ(kernel[kSharedStoreRequests], 1u);
  EXPECT_EQ(kernel[kSharedStoreWavefronts], 4u);
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_EQ(kernel.errors.front().kind, "race");
}

}  // namespace
