#include "common/testing/suite.hpp"

const ladder::testing::SuiteSupport kSupport{
    .sizes = {{"N", {321, 1, 31, 33, 64, 65, 128}}, {"K", {5, 1, 2, 16}}}};
const bool registered = ladder::testing::register_suite("two_sides", "parity_split", kSupport) &&
                        ladder::testing::register_suite("two_sides", "parity_by_warp", kSupport);
