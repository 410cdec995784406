#include "common/testing/suite.hpp"

const ladder::testing::SuiteSupport kSupport{
    .sizes = {{"N", {300, 1, 20, 127, 128, 129, 256}}, {"R", {3, 0, 1, 4, 32}}}};
const bool registered =
    ladder::testing::register_suite("moving_mean", "stencil_global", kSupport) &&
    ladder::testing::register_suite("moving_mean", "stencil_shared", kSupport);
