#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

Kernel attend(const char* implementation) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 128, .T_k = 128, .D = 64, .precision = ladder::Precision::kBf16});
}

std::uint64_t wavefronts_of_matrix_loads(const Kernel& kernel) {
  std::uint64_t wavefronts = 0;
  for (const Access& access : kernel.accesses) {
    if (access.code.find("load_matrices") != std::string::npos) wavefronts += access.wavefronts;
  }
  return wavefronts;
}

const bool bounds = ladder::testing::register_bounds(
    "attention_swizzled", "attention",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {}, {"bf16"});

// Four 8 x 8 blocks are 512 bytes, four wavefronts at best; of rows of 128 bytes all eight begin in the same bank.
TEST(AttentionTensorCores, LoadsEachRowOfABlockInATurnOfItsOwn) {
  const Kernel kernel = attend("attention_tensor_cores");
  EXPECT_GT(kernel[kSharedMatrixLoadRequests], 0u);
  EXPECT_EQ(wavefronts_of_matrix_loads(kernel), 8 * 4 * kernel[kSharedMatrixLoadRequests]);
}

TEST(AttentionTensorCores, KeepsNoScoresInMemory) {
  const Kernel kernel = attend("attention_tensor_cores");
  EXPECT_EQ(kernel.buffers.size(), 5u) << "q, k, v, o and lse";
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], 128u * 64 * 2 + 128 * sizeof(float));
  EXPECT_EQ(kernel[kAsyncCopies], 0u);
}

TEST(AttentionSwizzled, LoadsABlockInOneTurn) {
  const Kernel kernel = attend("attention_swizzled");
  EXPECT_EQ(wavefronts_of_matrix_loads(kernel), 4 * kernel[kSharedMatrixLoadRequests]);
  for (const Access& access : kernel.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

TEST(AttentionSwizzled, MovesTheSameWithoutRegisters) {
  const Kernel before = attend("attention_tensor_cores"), after = attend("attention_swizzled");
  for (const Counter counter : {kGlobalLoadBytesMoved, kGlobalStoreBytesMoved, kTensorOperations,
                                kSharedMatrixLoadRequests})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  EXPECT_EQ(after[kAsyncCopies], 3u * 128 * 64 / 8);
}

}  // namespace
