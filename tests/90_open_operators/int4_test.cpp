#include "common/testing/suite.hpp"

const bool int4_registered = ladder::testing::register_suite(
    "matmul_int4", "matmul_int4_threads", {.storages = {"int4"}, .sizes = {{"K", {96, 32, 64}}}});
