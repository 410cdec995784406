#include <gtest/gtest.h>

#include <string>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

const ladder::Shape kShape = {{"N", 1 << 14}};
const ladder::testing::Budget kOncePerElement = {.loads = 2, .stores = 1, .atomics = 0};
const bool registered[] = {
    ladder::testing::register_budget("vector_add_grid_stride", "vector_add", kOncePerElement,
                                     kShape),
    ladder::testing::register_budget("vector_add_vectors", "vector_add",
                                     {.loads = 2.0 / 4, .stores = 1.0 / 4, .atomics = 0}, kShape)};
const ladder::Shape kRagged = {{"N", 1001}};
const bool bounds =
    ladder::testing::register_bounds("vector_add_per_element", "vector_add", kRagged) &&
    ladder::testing::register_bounds("vector_add_grid_stride", "vector_add", kRagged) &&
    ladder::testing::register_bounds("vector_add_vectors", "vector_add", kRagged);

Kernel xray_of(const std::string& name) {
  return ladder::testing::xray_of(name, "vector_add", kShape);
}

// 2^14 elements are 512 times 32, in 2,048 sectors of 8 for each array.
TEST(VectorAdd, TakesTheSameSectorsByAQuarterOfTheRequests) {
  for (const std::string name : {"per_element", "grid_stride", "vectors"}) {
    const Kernel kernel = xray_of("vector_add_" + name);
    const unsigned at_once = name == "vectors" ? 4 : 1;
    EXPECT_EQ(kernel[kGlobalLoadRequests], 2 * 512u / at_once) << name;
    EXPECT_EQ(kernel[kGlobalStoreRequests], 512u / at_once) << name;
    EXPECT_EQ(kernel[kGlobalLoadSectors], 2 * 2048u) << name;
    EXPECT_EQ(kernel[kGlobalStoreSectors], 2048u) << name;
  }
}

}  // namespace
