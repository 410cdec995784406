#include "common/operators/suite.hpp"

// Although it adds atomically, one thread owns each output element and adds in order: the same bits every time.
const bool registered = ladder::testing::register_wkv_suite(
    "wkv_atomic",
    {.square_heads_only = true, .states = false, .reverse = false, .repeatable = true});
