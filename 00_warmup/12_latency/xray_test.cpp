#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// A load and a store for four elements, and up to three elements alone.
const bool registered = ladder::testing::register_budget(
    "scale_in_flight", "scale", {.loads = 1027 / 4099.0, .stores = 1027 / 4099.0}, {{"N", 4099}});

Kernel scaled(std::int64_t N) {
  const auto problem = ladder::find_operator("scale").make_case({{"N", N}}, {}, "fp32")->make();
  return ladder::testing::only_one(ladder::testing::sound_kernels(
      ladder::xray(ladder::find_implementation("scale_in_flight"), *problem, "fp32")));
}

// Of the first warp, before its first store.
struct InFlight {
  unsigned loads = 0, bytes_of_a_lane = 0;
};
InFlight before_the_first_store(const Kernel& kernel) {
  InFlight result;
  for (const Step& step : kernel.steps) {
    const Access& access = kernel.accesses[step.access];
    if (access.operation != Operation::kLoad) break;
    ++result.loads, result.bytes_of_a_lane += access.bytes;
  }
  return result;
}

TEST(ScaleInFlight, AsksForFourBeforeItStoresOne) {
  const InFlight in_flight = before_the_first_store(scaled(4096));
  EXPECT_EQ(in_flight.loads, 4u);
  EXPECT_EQ(in_flight.bytes_of_a_lane, 64u);
  if (in_flight.loads == 1)
    ADD_FAILURE() << "one load is under way at a time: a store stands between the loads";
}

TEST(ScaleInFlight, FillsItsSectors) {
  const Kernel kernel = scaled(4096);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 4096u / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 4096u / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], kernel[kGlobalLoadBytesAsked]);
  if (kernel[kGlobalLoadBytesMoved] > kernel[kGlobalLoadBytesAsked])
    ADD_FAILURE() << "the lanes of a warp are not side by side: sectors are fetched more than once";
}

}  // namespace
