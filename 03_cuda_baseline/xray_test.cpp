#include "common/testing/xray.hpp"
#include "common/operators/wkv/operator.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_atomic", "wkv", {{"B", 1}, {"T", 21}, {"H", 3}, {"K", 4}, {"V", 4}});

// Per key row one load each of q, k, log_w and u and one atomic, and v once. The launcher fills o
// with zeros.
const bool registered = ladder::testing::register_budget(
    "wkv_atomic", "wkv", {.loads = 4 * 64 + 1, .stores = 0, .atomics = 64, .host_bytes = 4});

TEST(WkvAtomic, AddsEveryTermWithAnAtomic) {
  for (const int K : {4, 64, 100}) {
    const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = K, .V = K};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_atomic", s);
    EXPECT_EQ(kernel[kAtomics], static_cast<std::uint64_t>(s.B * s.T * s.H * s.K * s.V));
    EXPECT_EQ(kernel[kGlobalStoreRequests], 0u);
    EXPECT_EQ(kernel[kAtomicCollisions], 0u);
  }
}

// As in a budget, which does not count how the outputs get there.
TEST(WkvAtomic, FillsItsOutputOnce) {
  const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = 64, .V = 64};
  const auto unnamed = [](const auto&...) { return std::string(); };
  const ladder::XrayRun run = ladder::xray(ladder::find_implementation("wkv_atomic"),
                                           *ladder::as_case<ladder::Wkv>(s)->make(), unnamed);
  EXPECT_EQ(run.host_bytes, sizeof(float) * s.B * s.T * s.H * s.V);
}

TEST(WkvAtomic, FetchesAnElementOncePerValueColumn) {
  const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_atomic", s);
  for (const char* name : {"q", "k", "log_w"}) {
    const Traffic& loads = kernel.buffer(name).loads();
    EXPECT_EQ(loads.accesses_per_element.least, 64u) << name;
    EXPECT_EQ(loads.accesses_per_element.most, 64u) << name;
    EXPECT_EQ(loads.requests_per_element.most, 64u / kWarpSize) << name;
  }
  EXPECT_EQ(kernel.buffer("u").loads().accesses_per_element.most, 64u * s.B * s.T);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
}

}  // namespace
