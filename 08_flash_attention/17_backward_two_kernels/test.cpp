#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys.
const bool registered = ladder::testing::register_suite(
    "attention_backward", "attention_backward_two_kernels",
    {.storages = {"bf16", "fp16"},
     .sizes = {{"T_q", {17, 65}}, {"T_k", {63, 70}}, {"D", {64, 32, 96, 128, 256, 24}}},
     .options = {{"window", {"1", "33", "64"}}, {"softcap", {"3"}}, {"scale", {"-0.25"}}},
     .borders = {{.size = "T", .at = {64, 128}}, {.size = "T_q", .at = {128}}}});

const bool edges_registered = flash_attention::edges::register_backward_edges(
    "attention_backward_two_kernels",
    {.all_options = true, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
