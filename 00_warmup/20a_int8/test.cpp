#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

// GROUP is smaller than a tile and across its edges, all of K, and all but one row of it.
const bool registered =
    ladder::testing::register_suite(
        "quantize", "quantize_groups",
        {.sizes = {{"K", {100, 1, 64}}, {"N", {37, 1, 64}}, {"GROUP", {32, 7, 1, 100}}},
         .options = {{"symmetric", {"false", "true"}}},
         .borders = {{.size = "N", .at = {256}},
                     {.size = "GROUP", .at = {99}, .others = {{"K", 100}}}}}) &&
    ladder::testing::register_suite(
        "int8_matmul", "int8_tiles",
        {.sizes = {{"M", {37, 1, 32}},
                   {"N", {45, 1, 64}},
                   {"K", {70, 1, 64}},
                   {"GROUP", {20, 1, 32, 70}}},
         .options = {{"symmetric", {"false", "true"}}},
         .borders = {{.size = "M", .at = {32, 64}},
                     {.size = "N", .at = {32, 64}},
                     {.size = "K", .at = {32, 64}},
                     {.size = "GROUP", .at = {69}, .others = {{"K", 70}}}}});

// In a range around 0, half of the numbers are on either side. The zero point is rint(127.5), and
// the largest value would be rint(255.5) = 256, which does not fit in a byte.
KERNEL_TEST(quantize_groups, KeepsTheLargestOfARangeAroundZero) {
  for (const float largest : {1.0f, 3.0f, 0.1f}) {
    const ladder::Implementation i = ladder::find_implementation("quantize_groups");
    const auto problem =
        ladder::testing::case_of("quantize", {{"K", 2}, {"N", 1}, {"GROUP", 2}}, {}, "fp32", {})
            ->make()
            ->with("r", {largest, -largest});
    const std::vector<unsigned char> q = ladder::testing::computed(i, *problem);
    ASSERT_GE(q.size(), 2u);
    EXPECT_GE(q[0], 254) << "WRONG RESULT in q: of " << largest << " in a range around 0";
    EXPECT_LE(q[1], 1) << "WRONG RESULT in q: of " << -largest << " in a range around 0";
  }
}

using warmup::register_hole;

const ladder::Shape kWeights = {{"K", 70}, {"N", 37}, {"GROUP", 32}};
const ladder::Shape kProduct = {{"M", 37}, {"N", 45}, {"K", 70}, {"GROUP", 20}};
const bool holes[] = {
    register_hole("quantize_groups", "Hole1HasScalesAndZeroPoints", "quantize", kWeights),
    register_hole("quantize_groups", "Hole1HasSymmetricScales", "quantize", kWeights,
                  {{"symmetric", "true"}}),
    register_hole("int8_tiles", "Hole2HasGroups", "int8_matmul", kProduct),
    register_hole("int8_tiles", "Hole2HasNoZeroPoints", "int8_matmul", kProduct,
                  {{"symmetric", "true"}}),
    register_hole("int8_tiles", "Hole2HasAScaleForEachColumn", "int8_matmul",
                  {{"M", 37}, {"N", 45}, {"K", 70}, {"GROUP", 70}})};

}  // namespace
