#include "common/operators/suite.hpp"

const bool registered = ladder::testing::register_wkv_suite(
    "wkv_no_atomic",
    {.square_heads_only = true, .states = false, .reverse = false, .repeatable = true});
