#include "common/testing/suite.hpp"

const bool fused_recurrent_registered = ladder::testing::register_suite(
    "wkv", "wkv_fused_recurrent",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .refuses = {"packed sequences"},
     .most = {{"K", 65535 * 32}, {"B * H", 65535}},
     .borders = {{.size = "K", .at = {32, 64}}, {.size = "V", .at = {32, 64}}}});
