#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool bounds = ladder::testing::register_bounds(
    "int4_tuned", "int4_matmul", {{"M", 2}, {"N", 37}, {"K", 100}, {"GROUP", 32}});

// By count, one split of 64 k needs no atomics, and 32 columns of 4096 k are split.
TEST(int4_tuned, SplitsLongColumnsAlone) {
  const auto atomics = [](std::int64_t K) {
    return ladder::testing::xray_of("int4_tuned", "int4_matmul",
                                    {{"M", 1}, {"N", 32}, {"K", K}, {"GROUP", 64}})[kAtomics];
  };
  EXPECT_EQ(atomics(64), 0u);
  EXPECT_EQ(atomics(4096), 4u * 32);
}

}  // namespace
