#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_float4", "wkv", {{"B", 1}, {"T", 21}, {"H", 3}, {"K", 4}, {"V", 4}});

// For four key rows one load each of q, k, log_w and u, and v and o once.
const bool registered = ladder::testing::register_budget(
    "wkv_float4", "wkv", {.loads = 4 * 64 / 4 + 1, .stores = 1, .atomics = 0});

// In chapter 04 each warp loads each element of these rows with one request, which touches one
// sector.
TEST(WkvFloat4, AsksForTheSameBytesWithAQuarterOfTheRequests) {
  for (const int K : {4, 64, 100}) {
    const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = K, .V = K};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_float4", s);
    const std::uint64_t tokens = s.B * s.T * s.H;
    const std::uint64_t steps_of_warps = s.T * ((s.B * s.H * s.V + kWarpSize - 1) / kWarpSize);
    for (const char* name : {"q", "k", "log_w", "u"}) {
      const Traffic& loads = kernel.buffer(name).loads();
      EXPECT_EQ(loads.bytes_asked, tokens * s.V * s.K * sizeof(float)) << name;
      if (s.V % kWarpSize == 0) {  // else a warp's lanes may belong to two heads
        EXPECT_EQ(loads.requests, steps_of_warps * s.K / 4) << name;
        EXPECT_EQ(loads.sectors, steps_of_warps * s.K / 4) << name;
      }
    }
    EXPECT_EQ(kernel[kGlobalLoadRequests], steps_of_warps * (4 * s.K / 4 + 1));
    EXPECT_EQ(kernel[kAtomics], 0u);
  }
}

}  // namespace
