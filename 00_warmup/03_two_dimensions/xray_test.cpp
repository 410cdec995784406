#include <gtest/gtest.h>

#include <string>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "matrix_add", "matrix_add", {.loads = 2, .stores = 1, .atomics = 0}, {{"M", 37}, {"N", 50}});
const bool bounds =
    ladder::testing::register_bounds("matrix_add_x_is_row", "matrix_add", {{"M", 37}, {"N", 50}});

// M = 64 and N = 96 are 192 requests for each array.
Kernel xray_of(const std::string& implementation, const ladder::Options& views) {
  const Kernel kernel =
      ladder::testing::xray_of(implementation, "matrix_add", {{"M", 64}, {"N", 96}}, views);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2 * 192u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 192u);
  return kernel;
}

TEST(MatrixAdd, ARowOfThreadsTakesFourSectors) {
  const Kernel x_is_column = xray_of("matrix_add", {});
  const Kernel x_is_row = xray_of("matrix_add_x_is_row", {});
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(x_is_column.buffer(name).loads().sectors, 192 * 4u) << name;
    EXPECT_EQ(x_is_row.buffer(name).loads().sectors, 192 * 32u) << name;
  }
  EXPECT_EQ(x_is_column[kGlobalStoreSectors], 192 * 4u);
  EXPECT_EQ(x_is_row[kGlobalStoreSectors], 192 * 32u);
}

TEST(MatrixAdd, TheViewSaysHowManySectors) {
  const auto sectors = [](const char* view) {
    return xray_of("matrix_add", {{"a_view", view}}).buffer("a").loads().sectors;
  };
  EXPECT_EQ(sectors("dense"), 192 * 4u);
  EXPECT_EQ(sectors("every_second_column"), 192 * 8u);
  EXPECT_EQ(sectors("transposed"), 192 * 32u);
  EXPECT_EQ(sectors("padded_rows"), 936u);  // rows of 99 floats begin at any float
  // With x along the rows it is the other way around. Warps then read along a transposed matrix.
  EXPECT_EQ(xray_of("matrix_add_x_is_row", {{"a_view", "transposed"}}).buffer("a").loads().sectors,
            192 * 4u);
}

}  // namespace
