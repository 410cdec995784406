#include <gtest/gtest.h>

#include <cstdint>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

const ladder::Shape kRagged{{"B", 1}, {"T", 21}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds =
    ladder::testing::register_bounds("wkv_gradient_products", "wkv_backward", kRagged);

// The case has 21 steps in two chunks. Each walk loads three vectors, and the chunks load five. For
// each row and chunk both states are loaded once and u 17 times, and then the parts of du.
const bool registered =
    ladder::testing::register_budget("wkv_gradient_products", "wkv_backward",
                                     {.loads = 2 * 3 + 5 + 2 * (2 * 64 + 17 + 1) / 21.0,
                                      .stores = 4 + (2 * (2 * 64 + 2) + 1) / 21.0,
                                      .atomics = 0,
                                      .counts = {{kTensorOperations, 2112, "head", 2},
                                                 {kSharedLoadRequests, 4814, "head", 2},
                                                 {kBarriers, 2 * 2 * 3 + 2 * 4, "head", 2}}},
                                     kRagged);

// The table of the page, for one head of four chunks.
TEST(WkvGradientProducts, ReadsAFifthOfSharedMemoryAndMultipliesOnTensorCores) {
  const ladder::WkvCase c{.B = 1, .T = 64, .H = 1, .K = 64, .V = 64};
  std::uint64_t loaded = 0, stored = 0, shared_loads = 0, wavefronts = 0, operations = 0,
                barriers = 0, shuffles = 0;
  for (const Kernel& kernel : xrays_of<ladder::WkvBackward>("wkv_gradient_products", c)) {
    loaded += kernel[kGlobalLoadBytesMoved];
    stored += kernel[kGlobalStoreBytesMoved];
    shared_loads += kernel[kSharedLoadRequests];
    wavefronts += kernel[kSharedLoadWavefronts];
    operations += kernel[kTensorOperations];
    barriers += kernel[kBarriers];
    shuffles += kernel[kShuffles];
    EXPECT_EQ(kernel[kAtomics], 0u);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
    for (const Buffer& buffer : kernel.buffers)
      EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << buffer.name;
  }
  EXPECT_EQ(loaded, 317440u);
  EXPECT_EQ(stored, 198912u);
  EXPECT_EQ(shared_loads, 9672u);
  EXPECT_EQ(wavefronts, 11912u);
  EXPECT_EQ(barriers, 40u);
  EXPECT_EQ(shuffles, 320u);
  // Products of 16 x 16 x 16 per chunk are 16 of S and 16 of D, 4 for the scores' gradients, 16
  // with S, 16 with D and 20 for dv.
  EXPECT_EQ(operations, 4u * (2 * 16 + 4 + 2 * 16 + 20) * 12);
}

}  // namespace
