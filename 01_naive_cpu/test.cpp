#include "common/operators/suite.hpp"

const bool registered = ladder::testing::register_wkv_suite("wkv_naive", {});
