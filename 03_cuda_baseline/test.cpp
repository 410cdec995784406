#include "common/testing/suite.hpp"

// Although it adds atomically, one thread owns each output element and adds in order: the same bits every time.
const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_atomic", {.refuses = {"states", "reverse", "packed sequences", "K != V"}});
