#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace emulator::xray;

// The loads per element of c are 13 words of its column, out of 128 parts that are fetched. Each of
// the two blocks of a row reads all of A.
const ladder::Shape kRagged = {{"M", 2}, {"N", 37}, {"K", 100}, {"GROUP", 32}};
const bool registered = ladder::testing::register_budget(
    "int4_row", "int4_matmul",
    {.loads = (2 * 13 * 37 + 2 * 2 * 4 * 37 + 2 * 2 * 100) / (2 * 37.0),
     .stores = 1,
     .counts = {{kShuffles, 8, "warp", 2 * 2 * 8}, {kSharedLoadRequests, 9, "warp", 2 * 2 * 8}}},
    kRagged);
const bool bounds = ladder::testing::register_bounds(
    "int4_row", "int4_matmul", {{"M", 2}, {"N", 36}, {"K", 8196}, {"GROUP", 32}});

constexpr std::uint64_t kN = 64, kK = 4096, kGroup = 128;

Kernel row() {
  return ladder::testing::xray_of("int4_row", "int4_matmul",
                                  {{"M", 1}, {"N", kN}, {"K", kK}, {"GROUP", kGroup}});
}

TEST(int4_row, ReadsEachWordOnceInFullSectors) {
  const Kernel kernel = row();
  const Traffic& w = kernel.buffer("w").loads();
  EXPECT_EQ(w.accesses_per_element.least, 1u);
  EXPECT_EQ(w.accesses_per_element.most, 1u);
  EXPECT_EQ(w.bytes_asked, kN * kK / 2);
  EXPECT_EQ(w.sectors * kSectorBytes, w.bytes_asked);
  EXPECT_EQ(w.requests, w.bytes_asked / (16 * kWarpSize));
}

// A part of 32 k needs one, and a group is four parts. A row of A is read once by each of two
// blocks.
TEST(int4_row, ReadsAScaleForEachPart) {
  const Kernel kernel = row();
  EXPECT_EQ(kernel.buffer("scale").loads().accesses, kN / 4 * kK / 32);
  EXPECT_EQ(kernel.buffer("zero").loads().accesses, kN / 4 * kK / 32);
  EXPECT_EQ(kernel.buffer("a").loads().bytes_asked, 2 * 4 * kK);
}

TEST(int4_row, HasThreeBarriersAndNoBankConflictAndNoAtomic) {
  const Kernel kernel = row();
  EXPECT_EQ(kernel[kBarriers], 3 * kN / 32);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kAtomics], 0u);
}

// The first warp's global requests in order, with the weights of two parts before A.
TEST(int4_row, AsksForEightWordsBeforeA) {
  const Kernel kernel = row();
  std::vector<std::string> order;
  for (const Step& s : kernel.steps) {
    const Access& access = kernel.accesses[s.access];
    if (access.operation == Operation::kLoad && access.space == Space::kGlobal)
      order.push_back(s.buffer);
  }
  const auto a = std::find(order.begin(), order.end(), "a");
  EXPECT_EQ(std::count(order.begin(), a, "w"), 8);
}

}  // namespace
