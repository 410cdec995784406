#include <gtest/gtest.h>

#include <vector>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xrays_of;

const ladder::LinearAttentionCase kCase =
    CausalDotProduct::make_case({.B = 1, .T = 37, .H = 2, .K = 64, .V = 64});

const bool bounds =
    ladder::testing::register_bounds("linear_attention_chunk_states", "linear_attention");

// k and v are loaded once for the chunks' sums, and q, k and v once for the outputs, k and q in
// both tiles of columns. A query reads the 64 rows of its column of the state. The states of three
// chunks are written, then read and written by the scan.
constexpr double kStates = 3 * 64.0 / 37;  // for each element of o
const bool registered = ladder::testing::register_budget(
    "linear_attention_chunk_states", "causal_dot_product",
    {.loads = 2 + 1 + kStates + 2 + 2 + 1 + 64, .stores = kStates + kStates + 1, .atomics = 0},
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}});

TEST(ChunkStates, ReadsKeysAndValuesTwiceAndQueriesOnce) {
  const std::vector<Kernel> kernels =
      xrays_of<CausalDotProduct>("linear_attention_chunk_states", kCase);
  ASSERT_EQ(kernels.size(), 3u);
  const std::uint64_t column_tiles = 64 / 32;
  for (const Kernel* kernel : {&kernels[0], &kernels[2]}) {
    EXPECT_EQ(kernel->buffer("k").loads().accesses_per_element.most, column_tiles);
    EXPECT_EQ(kernel->buffer("v").loads().accesses_per_element.most, 1u);
    EXPECT_EQ((*kernel)[kSharedLoadBankConflicts] + (*kernel)[kSharedStoreBankConflicts], 0u);
  }
  EXPECT_EQ(kernels[2].buffer("q").loads().accesses_per_element.most, column_tiles);
  EXPECT_EQ(kernels[2].buffer("o").stores().accesses_per_element.most, 1u);
}

// The states of all chunks are written, read and written by the scan, and read again.
TEST(ChunkStates, CarriesEveryChunksStateThroughMemory) {
  const std::vector<Kernel> kernels =
      xrays_of<CausalDotProduct>("linear_attention_chunk_states", kCase);
  ASSERT_EQ(kernels.size(), 3u);
  const std::uint64_t chunks = (37 + 15) / 16, bytes = 2 * chunks * 64 * 64 * sizeof(float);
  EXPECT_EQ(kernels[0][kGlobalStoreBytesMoved], bytes);
  EXPECT_EQ(kernels[1][kGlobalLoadBytesMoved], bytes);
  EXPECT_EQ(kernels[1][kGlobalStoreBytesMoved], bytes);
  EXPECT_GE(kernels[2][kGlobalLoadBytesMoved], bytes);
}

// The table of the page. In the scan, which is one of three launches, neighbouring threads load
// neighbouring elements.
TEST(ChunkStates, CountsWhatThePageSays) {
  const std::vector<Kernel> kernels = xrays_of<CausalDotProduct>(
      "linear_attention_chunk_states",
      CausalDotProduct::make_case({.B = 1, .T = 128, .H = 1, .K = 64, .V = 64}));
  ASSERT_EQ(kernels.size(), 3u);
  const std::uint64_t warps = 64 * 64 / 32, chunks = 128 / 16;
  EXPECT_EQ(kernels[1][kGlobalLoadRequests], warps * chunks);
  EXPECT_EQ(kernels[1][kGlobalStoreRequests], warps * chunks);
  EXPECT_EQ(kernels[1][kGlobalLoadSectors], 4 * warps * chunks);
  EXPECT_EQ(kernels[0][kGlobalStoreRequests], warps * chunks);
  EXPECT_EQ(kernels[0].buffer("k").loads().accesses_per_element.most, 2u);
  // q and k in both tiles of columns, and v. Then each of 16 queries reads all rows of its chunk's
  // state.
  const std::uint64_t staged = (2 * 2 + 1) * 128 * 64 / 32;
  EXPECT_EQ(kernels[2][kGlobalLoadRequests], staged + 16 * warps * chunks);
  EXPECT_EQ(kernels[0][kBarriers], 16u);  // of as many blocks
  EXPECT_EQ(kernels[2][kBarriers], 2u * 16);
  const Kernel walk = ladder::testing::xray_of<CausalDotProduct>(
      "linear_attention_chunk_walk",
      CausalDotProduct::make_case({.B = 1, .T = 128, .H = 1, .K = 64, .V = 64}));
  EXPECT_EQ(walk[kBarriers], 2 * chunks * 4);  // of two blocks
}

// Four times the length needs four times the states.
TEST(ChunkStates, WritesAStateForEachChunk) {
  for (const std::int64_t T : {32, 128}) {
    const std::vector<Kernel> kernels = xrays_of<CausalDotProduct>(
        "linear_attention_chunk_states",
        CausalDotProduct::make_case({.B = 1, .T = T, .H = 1, .K = 20, .V = 20}));
    ASSERT_EQ(kernels.size(), 3u);
    EXPECT_EQ(kernels[0][kGlobalStoreBytesMoved], T / 16 * 20 * 32 * sizeof(float)) << T;
  }
}

}  // namespace
