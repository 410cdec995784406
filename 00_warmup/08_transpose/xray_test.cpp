#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Ragged, in more than one tile of each side.
const ladder::Shape kRagged = {{"M", 70}, {"N", 45}};
// The same in whole vectors, which are in one tile of 64 columns and two of 64 rows.
const ladder::Shape kRaggedVectors = {{"M", 72}, {"N", 44}};
bool register_budget_of(const char* name) {
  return ladder::testing::register_budget(name, "transpose",
                                          {.loads = 1, .stores = 1, .atomics = 0}, kRagged);
}
const bool registered =
    register_budget_of("transpose_at_the_write") && register_budget_of("transpose_at_the_read") &&
    register_budget_of("transpose_tiled") &&
    ladder::testing::register_budget("transpose_wide", "transpose",
                                     {.loads = 0.25,
                                      .stores = 0.25,
                                      .atomics = 0,
                                      .counts = {{kSharedLoadBankConflicts, 0, "tile", 2},
                                                 {kSharedStoreBankConflicts, 0, "tile", 2}}},
                                     kRaggedVectors);
const bool bounds =
    ladder::testing::register_bounds("transpose_at_the_read", "transpose", kRagged) &&
    ladder::testing::register_bounds("transpose_unpadded", "transpose", kRagged) &&
    ladder::testing::register_bounds("transpose_wide", "transpose", kRaggedVectors);

Kernel xray_of(const char* name) {  // 128 x 64 are 8192 elements and 256 warps
  const ladder::Shape shape = {{"M", 128}, {"N", 64}};
  return ladder::testing::xray_of(name, "transpose", shape);
}

constexpr std::uint64_t kElements = 128 * 64, kRequests = kElements / kWarpSize;

TEST(transpose_at_the_write, ReadsFourSectorsARequestAndWritesThirtyTwo) {
  const Kernel kernel = xray_of("transpose_at_the_write");
  EXPECT_EQ(kernel[kGlobalLoadRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 32 * kRequests);
}

TEST(transpose_at_the_read, ReadsThirtyTwoSectorsARequestAndWritesFour) {
  const Kernel kernel = xray_of("transpose_at_the_read");
  EXPECT_EQ(kernel[kGlobalLoadRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 32 * kRequests);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 4 * kRequests);
}

// A column of a tile without padding is in one bank, so it needs 32 wavefronts instead of one.
TEST(transpose_unpadded, HasThirtyOneBankConflictsARequest) {
  const Kernel kernel = xray_of("transpose_unpadded");
  EXPECT_EQ(kernel[kGlobalLoadRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kSharedLoadRequests], kRequests);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 31 * kRequests);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

TEST(transpose_tiled, IsCoalescedAndFreeOfBankConflicts) {
  const Kernel kernel = xray_of("transpose_tiled");
  EXPECT_EQ(kernel[kGlobalLoadRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kRequests);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kSharedLoadRequests], kRequests);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u) << "the budget is no bank conflict";
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u) << "the budget is no bank conflict";
}

// ./ladder exercise shows this output.
TEST(BankConflictsOfTransposeTiled, KeepsItsBudget) {
  const Kernel kernel = xray_of("transpose_tiled");
  const double each =
      static_cast<double>(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts]) /
      kRequests;
  ladder::testing::expect_within_budget(each, 0,
                                        "bank conflicts per shared load used, transpose_tiled");
}

TEST(SectorsOfTransposeTiled, KeepsItsBudget) {
  const Kernel kernel = xray_of("transpose_tiled");
  ladder::testing::expect_within_budget(kernel, kGlobalLoadSectors, kGlobalLoadRequests, 4,
                                        "sectors per load request used, transpose_tiled");
  ladder::testing::expect_within_budget(kernel, kGlobalStoreSectors, kGlobalStoreRequests, 4,
                                        "sectors per store request used, transpose_tiled");
}

TEST(transpose_wide, HasAQuarterOfTheRequestsAndNoBankConflicts) {
  const Kernel kernel = xray_of("transpose_wide");
  EXPECT_EQ(kernel[kGlobalLoadRequests], kRequests / 4);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kRequests / 4);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 4 * kRequests);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

}  // namespace
