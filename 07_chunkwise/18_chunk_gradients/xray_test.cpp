#include <gtest/gtest.h>

#include <cstdint>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

const ladder::Shape kRagged{{"B", 1}, {"T", 21}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds =
    ladder::testing::register_bounds("wkv_chunk_gradients", "wkv_backward", kRagged);

// The case has 21 steps in two chunks. The walks load five vectors in both directions, and the
// chunks load them once more. For each row and chunk both states are loaded once and u 17 times,
// and then the parts of du.
const bool registered =
    ladder::testing::register_budget("wkv_chunk_gradients", "wkv_backward",
                                     {.loads = 3 * 5 + 2 * (2 * 64 + 17 + 1) / 21.0,
                                      .stores = 4 + (2 * (2 * 64 + 2) + 1) / 21.0,
                                      .atomics = 0,
                                      .counts = {{kBarriers, 2 * 2 * 2 + 2 * 3, "head", 2}}},
                                     kRagged);

// The table of the page, for one head of four chunks.
TEST(WkvChunkGradients, KeepsTwoStatesForAChunkAndAddsWithoutAtomics) {
  const ladder::WkvCase c{.B = 1, .T = 64, .H = 1, .K = 64, .V = 64};
  constexpr std::uint64_t kStates = 4 * 2 * 64 * 64, kVector = 64 * 64;
  std::uint64_t loaded = 0, stored = 0, barriers = 0, shuffles = 0, conflicts = 0;
  for (const Kernel& kernel : xrays_of<ladder::WkvBackward>("wkv_chunk_gradients", c)) {
    loaded += kernel[kGlobalLoadBytesMoved];
    stored += kernel[kGlobalStoreBytesMoved];
    barriers += kernel[kBarriers];
    shuffles += kernel[kShuffles];
    conflicts += kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts];
    EXPECT_EQ(kernel[kAtomics] + kernel[kTensorOperations], 0u);
    for (const Buffer& buffer : kernel.buffers)
      EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << buffer.name;
  }
  EXPECT_EQ(loaded, 411648u);
  EXPECT_EQ(stored, 198912u);
  EXPECT_EQ(barriers, 28u);
  EXPECT_EQ(shuffles, 256u);
  EXPECT_EQ(conflicts, 384u);
  // Both states and four gradients of a chunk, a part of du and of d_log_w per chunk, and du.
  EXPECT_EQ(stored, 4 * (kStates + 4 * kVector + 4 * 2 * 64 + 64));
}

}  // namespace
