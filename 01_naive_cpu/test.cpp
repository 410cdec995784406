#include "common/testing/suite.hpp"

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_naive", {.refuses = {"packed sequences"}});
