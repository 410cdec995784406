#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_restrict", {.refuses = {"states", "reverse", "packed sequences", "K != V"}});
