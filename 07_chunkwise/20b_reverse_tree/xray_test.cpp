#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// Two chunks, the second with six tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds =
    ladder::testing::register_bounds("wkv_reverse_tree", "wkv_backward", kRagged, {}, {"bf16"});

// Four chunks of one head.
const ladder::WkvCase kCase{
    .B = 1, .T = 256, .H = 1, .K = 64, .V = 64, .precision = ladder::Precision::kBf16};

struct Counts {
  std::uint64_t products = 0, shuffles = 0, loaded = 0, stored = 0, shared_loads = 0,
                shared_stores = 0, conflicts = 0, barriers = 0, shared_bytes = 0;
};

Counts counts_of(const char* implementation) {
  Counts counts;
  for (const Kernel& kernel : xrays_of<ladder::WkvBackward>(implementation, kCase)) {
    EXPECT_EQ(kernel[kAtomics], 0u);
    counts.products += kernel[kTensorOperations];
    counts.shuffles += kernel[kShuffles];
    counts.loaded += kernel[kGlobalLoadBytesMoved];
    counts.stored += kernel[kGlobalStoreBytesMoved];
    counts.shared_loads += kernel[kSharedLoadWavefronts];
    counts.shared_stores += kernel[kSharedStoreWavefronts];
    counts.conflicts += kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts];
    counts.barriers += kernel[kBarriers];
    counts.shared_bytes = std::max<std::uint64_t>(counts.shared_bytes, kernel.dynamic_shared_bytes);
    for (const Buffer& buffer : kernel.buffers)
      EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << buffer.name;
  }
  return counts;
}

// The table of the page.
TEST(WkvReverseTree, MultipliesLessAndShufflesNothing) {
  const Counts anchors = counts_of("wkv_chunkwise_backward"), tree = counts_of("wkv_reverse_tree");
  EXPECT_EQ(anchors.products, 5440u);
  EXPECT_EQ(tree.products, 4480u);
  EXPECT_EQ(anchors.shuffles, 4992u);
  EXPECT_EQ(tree.shuffles, 0u);
  EXPECT_EQ(anchors.loaded, 429056u);
  EXPECT_EQ(tree.loaded, 393600u);
  EXPECT_EQ(anchors.stored, 197888u);
  EXPECT_EQ(tree.stored, 197376u);
  EXPECT_EQ(anchors.shared_loads, 24686u);
  EXPECT_EQ(tree.shared_loads, 23856u);
  EXPECT_EQ(anchors.shared_stores, 5520u);
  EXPECT_EQ(tree.shared_stores, 8402u);
  EXPECT_EQ(anchors.conflicts, 3840u);
  EXPECT_EQ(tree.conflicts, 0u);
  EXPECT_EQ(anchors.barriers, 46u);
  EXPECT_EQ(tree.barriers, 33u);
  EXPECT_EQ(anchors.shared_bytes, 107008u);
  EXPECT_EQ(tree.shared_bytes, 151040u);
}

}  // namespace
