#include "common/testing/suite.hpp"

const bool registered =
    ladder::testing::register_suite("matmul", "matmul_threads", {.storages = {"fp32", "bf16"}});
