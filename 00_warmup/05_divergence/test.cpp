#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

namespace warmup {
namespace {

const ladder::Support kSupport{
    .sizes = {{"N", {321, 1, 31, 33, 64, 65, 128}}, {"K", {5, 1, 2, 16}}}};
const bool registered = ladder::testing::register_suite("two_sides", "parity_split", kSupport) &&
                        ladder::testing::register_suite("two_sides", "parity_by_warp", kSupport);

// The kernel that is given needs the first hole only.
const bool holes[] = {
    register_hole("parity_split", "Hole1TakesTheLargestOfFive", "two_sides",
                  {{"N", 321}, {"K", 5}}),
    register_hole("parity_split", "Hole1TakesTheOnlyProduct", "two_sides", {{"N", 321}, {"K", 1}}),
    register_hole("parity_by_warp", "Hole2ComputesEachElement", "two_sides",
                  {{"N", 321}, {"K", 5}})};

}  // namespace
}  // namespace warmup
