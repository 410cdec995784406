#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace emulator::xray;

const ladder::Shape kShape = {{"N", 321}, {"K", 5}};
const bool registered = ladder::testing::register_budget(
    "parity_by_warp", "two_sides", {.loads = 1 + 5, .stores = 1, .atomics = 0}, kShape);
const bool bounds = ladder::testing::register_bounds("parity_split", "two_sides", kShape);

// The README's table has 4096 elements, 128 warps and 16 coefficients of each kind.
constexpr std::uint64_t kWarps = 128, kCoefficients = 16;

Kernel kernel_of(const std::string& implementation) {
  return ladder::testing::xray_of(implementation, "two_sides",
                                  {{"N", 32 * kWarps}, {"K", kCoefficients}});
}

std::uint64_t coefficient_requests(const Kernel& kernel) {
  return kernel.buffer("p").loads().requests + kernel.buffer("q").loads().requests;
}

TEST(ParitySplit, RunsBothSidesInEveryWarp) {
  const Kernel kernel = kernel_of("parity_split");
  EXPECT_EQ(coefficient_requests(kernel), 2 * kCoefficients * kWarps);
  EXPECT_EQ(kernel[kGlobalLoadRequests], (1 + 2 * kCoefficients) * kWarps);
  EXPECT_EQ(kernel.buffer("x").loads().sectors, 4 * kWarps);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kWarps);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 4 * kWarps);
}

TEST(ParityByWarp, RunsOneSideInEveryWarp) {
  const Kernel kernel = kernel_of("parity_by_warp");
  EXPECT_EQ(coefficient_requests(kernel), kCoefficients * kWarps);
  EXPECT_EQ(kernel[kGlobalLoadRequests], (1 + kCoefficients) * kWarps);
  EXPECT_EQ(kernel.buffer("x").loads().sectors, 8 * kWarps);  // half of each is for the other warp
  EXPECT_EQ(kernel[kGlobalStoreRequests], kWarps);
  EXPECT_EQ(kernel[kGlobalStoreSectors], 8 * kWarps);
}

// ./ladder exercise shows this output.
TEST(RequestsOfParityByWarp, KeepsItsBudget) {
  const double each =
      static_cast<double>(kernel_of("parity_by_warp")[kGlobalLoadRequests]) / kWarps;
  ladder::testing::expect_within_budget(each, 1 + kCoefficients,
                                        "load requests per warp used, parity_by_warp");
}

}  // namespace
