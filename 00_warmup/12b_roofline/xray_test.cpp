#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include "00_warmup/12b_roofline/multiply_adds.hpp"

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "multiply_adds", "multiply_adds", {.loads = 1, .stores = 1, .atomics = 0}, {{"N", 1000}});

// Whatever it computes, it moves the same bytes.
TEST(MultiplyAdds, MovesEightBytesForAnElement) {
  for (const std::int64_t rounds : {0, 64}) {
    const Kernel kernel = ladder::testing::xray_of("multiply_adds", "multiply_adds",
                                                   {{"N", 4096}, {"rounds", rounds}});
    EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 4 * 4096u);
    EXPECT_EQ(kernel[kGlobalStoreBytesMoved], 4 * 4096u);
  }
}

}  // namespace
