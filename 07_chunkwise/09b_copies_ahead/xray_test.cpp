#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

// Two heads of three chunks, the last with two tokens, so that every buffer is reused.
const ladder::Shape kShape{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};
constexpr std::int64_t kHeads = 2, kChunks = kHeads * 3;
constexpr std::int64_t kCopies = 3 * 64 * 64 / 8;  // of a chunk's q, k and v, eight elements each
constexpr std::int64_t kFirstCopies = kHeads * kCopies;  // before them there is nothing to multiply

const bool bounds = ladder::testing::register_bounds("linear_attention_copies_ahead",
                                                     "causal_dot_product", kShape, {}, {"bf16"});

// Each of q, k and v is loaded once, eight elements at a time, and o is stored two at a time.
const bool registered = ladder::testing::register_budget(
    "linear_attention_copies_ahead", "causal_dot_product",
    {.loads = 3.0 / 8,
     .stores = 1.0 / 2,
     .atomics = 0,
     .counts = {{kTensorOperations, 416, "chunk", kChunks},
                {kSharedMatrixLoadRequests, 240, "chunk", kChunks},
                {kSharedLoadBankConflicts, 0, "launch", 1},
                {kBarriers, 2, "chunk", kChunks},
                {kAsyncCopiesAtOnce, 1, "copy of a block's first chunk", kFirstCopies}}},
    kShape, {}, {}, "bf16");

// The table of the page is for 64 tokens of one head, and here two heads of 128 are computed.
constexpr std::uint64_t kParts = 2 * 2;

Kernel two_chunks(const char* implementation) {
  ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = 128, .H = 2, .K = 64, .V = 64});
  c.precision = ladder::Precision::kBf16;
  return xray_of<CausalDotProduct>(implementation, c);
}

TEST(ChunksAhead, CountsWhatThePageSays) {
  const Kernel before = two_chunks("linear_attention_ldmatrix_swizzle");
  const Kernel after = two_chunks("linear_attention_copies_ahead");
  EXPECT_EQ(before[kAsyncCopies], 0u);
  EXPECT_EQ(after[kAsyncCopies], kParts * kCopies);
  EXPECT_EQ(after[kAsyncCopiesAtOnce], kFirstCopies) << "those of the first chunk";
  EXPECT_EQ(before[kSharedStoreRequests], kParts * 88);
  EXPECT_EQ(after[kSharedStoreRequests], kParts * 40);
  EXPECT_EQ(before[kBarriers], kParts * 3);
  EXPECT_EQ(after[kBarriers], kParts * 2);
  EXPECT_EQ(before[kSharedBytes], 32u * 1024);
  EXPECT_EQ(after[kSharedBytes], 56u * 1024);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], kParts * 240);
}

TEST(ChunksAhead, LoadsMultipliesAndStoresAsBefore) {
  const Kernel before = two_chunks("linear_attention_ldmatrix_swizzle");
  const Kernel after = two_chunks("linear_attention_copies_ahead");
  for (const Counter counter :
       {kGlobalLoadBytesMoved, kGlobalStoreRequests, kGlobalStoreSectors, kSharedMatrixLoadRequests,
        kSharedLoadWavefronts, kSharedLoadBankConflicts, kSharedStoreBankConflicts,
        kTensorOperations})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
