#include "common/testing/suite.hpp"

const bool shared_mem_registered = ladder::testing::register_suite(
    "wkv", "wkv_shared_mem",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .refuses = {"packed sequences"},
     .most = {{"K", 256}, {"V", 256}, {"B * H", INT32_MAX}},
     .borders = {{.size = "K", .at = {32, 64, 128, 256}}, {.size = "V", .at = {32, 64, 256}}}});
