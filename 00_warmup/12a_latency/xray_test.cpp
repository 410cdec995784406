#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// A load and a store for four elements, and up to three elements alone.
const bool registered = ladder::testing::register_budget(
    "scale_in_flight", "scale", {.loads = 1027 / 4099.0, .stores = 1027 / 4099.0}, {{"N", 4099}});

Kernel scaled(std::int64_t N) {
  return ladder::testing::xray_of("scale_in_flight", "scale", {{"N", N}});
}

// It counts the first warp's accesses. ./ladder exercise shows this output.
TEST(StoresBeforeTheLastLoad, KeepsItsBudget) {
  const Kernel kernel = scaled(4096);
  unsigned loads = 0, bytes_of_a_lane = 0, stores = 0, stores_before_the_last_load = 0;
  for (const Step& step : kernel.steps) {
    if (step.block.x != 0 || step.warp != 0) continue;
    const Access& access = kernel.accesses[step.access];
    if (access.operation == Operation::kLoad) {
      ++loads, bytes_of_a_lane += access.bytes;
      stores_before_the_last_load = stores;
    } else {
      ++stores;
    }
  }
  ladder::testing::expect_within_budget(
      static_cast<double>(stores_before_the_last_load), 0,
      "stores of a thread before its last load used: a load waits for the store before it");
  ladder::testing::expect_within_budget(loads, 4, "loads of a thread used");
  EXPECT_EQ(bytes_of_a_lane, 64u);
}

TEST(ScaleInFlight, FillsItsSectors) {
  const Kernel kernel = scaled(4096);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 4096u / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 4096u / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], kernel[kGlobalLoadBytesAsked]);
}

}  // namespace
