#include <gtest/gtest.h>

#include <vector>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

const bool bounds = ladder::testing::register_bounds(
    "prefix_sum_in_chunks", "prefix_sum", {{"length", 130}, {"chunk", 7}}, {}, {"int32"});

// 130 elements in 19 chunks. An element is loaded as x and as a local sum, together with its
// chunk's carry, and stored twice. Each chunk but the last passes one sum to the carry, and each
// has one carry.
const bool registered = ladder::testing::register_budget(
    "prefix_sum_in_chunks", "prefix_sum",
    {.loads = 3 + 18.0 / 130, .stores = 2 + 19.0 / 130, .atomics = 0},
    {{"length", 130}, {"chunk", 7}}, {}, {}, "int32");

std::vector<Kernel> kernels_of(std::int64_t length, std::int64_t chunk) {
  return xrays_of("prefix_sum_in_chunks", "prefix_sum", {{"length", length}, {"chunk", chunk}}, {},
                  "int32");
}

// The table of the page.
TEST(PrefixSum, CountsWhatThePageSays) {
  const std::vector<Kernel> kernels = kernels_of(4096, 64);
  ASSERT_EQ(kernels.size(), 3u);
  const Kernel &local = kernels[0], &carry = kernels[1], &adjust = kernels[2];
  EXPECT_EQ(local[kGlobalLoadRequests], 128u);  // two warps, 64 steps
  EXPECT_EQ(local[kGlobalStoreRequests], 128u);
  EXPECT_EQ(local[kGlobalLoadSectors], 128u * 32);
  EXPECT_EQ(carry[kGlobalLoadRequests], 63u);  // one thread, a request for each chunk but the last
  EXPECT_EQ(carry[kGlobalStoreRequests], 64u);
  EXPECT_EQ(carry[kGlobalLoadSectors], 63u);
  EXPECT_EQ(adjust[kGlobalLoadRequests], 2u * 128);  // 128 warps, a sum and a carry each
  EXPECT_EQ(adjust[kGlobalStoreRequests], 128u);
  EXPECT_EQ(adjust[kGlobalLoadSectors], 128u * (4 + 1));  // 32 neighbours, and one word for all
}

TEST(PrefixSum, ReadsEveryElementTwiceAndWritesItTwice) {
  const std::vector<Kernel> kernels = kernels_of(130, 7);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].buffer("x").loads().accesses_per_element.most, 1u);
  for (const Kernel* kernel : {&kernels[0], &kernels[2]})
    EXPECT_EQ(kernel->buffer("sums").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[2].buffer("sums").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[1].buffer("carry").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[2].buffer("carry").loads().accesses_per_element.most, 7u);
}

// Chunks of twice the length halve the chain of carries and double the chain in each chunk.
TEST(PrefixSum, HasAShorterChainOfCarriesWithLongerChunks) {
  for (const std::int64_t chunk : {32, 64, 128}) {
    const std::vector<Kernel> kernels = kernels_of(4096, chunk);
    ASSERT_EQ(kernels.size(), 3u);
    const auto links = static_cast<std::uint64_t>(4096 / chunk - 1);
    EXPECT_EQ(kernels[1][kGlobalLoadRequests], links) << chunk;
  }
}

}  // namespace
