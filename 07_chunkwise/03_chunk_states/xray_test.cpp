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

// The states of all chunks: written, read and written by the scan, read.
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

}  // namespace
