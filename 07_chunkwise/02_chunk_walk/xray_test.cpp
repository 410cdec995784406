#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

const bool bounds =
    ladder::testing::register_bounds("linear_attention_chunk_walk", "linear_attention");

// Two blocks of 32 columns load all of q and k, and each its part of v.
const bool registered = ladder::testing::register_budget(
    "linear_attention_chunk_walk", "causal_dot_product",
    {.loads = 2 * 2 + 1,
     .stores = 1,
     .counts = {{kSharedLoadRequests, 3936, "chunk of a block", 2 * 3 * 2},
                {kSharedStoreRequests, 216, "chunk of a block", 2 * 3 * 2}}});

const ladder::LinearAttentionCase kCase =
    CausalDotProduct::make_case({.B = 1, .T = 37, .H = 2, .K = 64, .V = 64});

TEST(ChunkWalk, FetchesAnElementOncePerBlockOfColumns) {
  const Kernel kernel = xray_of<CausalDotProduct>("linear_attention_chunk_walk", kCase);
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kAtomics], 0u);
}

TEST(ChunkWalk, ConflictsInNoBankAndMeetsFourTimesPerChunk) {
  const Kernel kernel = xray_of<CausalDotProduct>("linear_attention_chunk_walk", kCase);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  const std::uint64_t blocks = 2 * 2, chunks = (37 + 15) / 16;
  EXPECT_EQ(kernel[kBarriers], blocks * chunks * 4);
}

}  // namespace
