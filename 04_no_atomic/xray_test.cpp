#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_no_atomic", "wkv", {{"B", 1}, {"T", 21}, {"H", 3}, {"K", 4}, {"V", 4}});

// Per key row one load each of q, k, log_w and u, and v once. o is stored once, and not filled
// before.
const bool registered = ladder::testing::register_budget(
    "wkv_no_atomic", "wkv", {.loads = 4 * 64 + 1, .stores = 1, .atomics = 0});

TEST(WkvNoAtomic, StoresEachOutputOnceAndWithoutAtomics) {
  for (const int K : {4, 64, 100}) {
    const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = K, .V = K};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_no_atomic", s);
    EXPECT_EQ(kernel[kAtomics], 0u);
    const Traffic& stores = kernel.buffer("o").stores();
    EXPECT_EQ(stores.accesses_per_element.least, 1u);
    EXPECT_EQ(stores.accesses_per_element.most, 1u);
  }
}

}  // namespace
