#include "common/testing/suite.hpp"

const bool one_barrier_registered =
    ladder::testing::register_suite("wkv", "wkv_one_barrier",
                                    {.sizes = {{"K", {64}}, {"V", {64}}},
                                     .refuses = {"states", "reverse", "packed sequences", "K != V"},
                                     .most = {{"B * H", INT32_MAX}}});
