#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys. dq grows by atomics, whose order changes its last bits.
const bool registered = ladder::testing::register_suite(
    "attention_backward", "attention_backward",
    {.not_repeatable = {"dq"},
     .storages = {"bf16", "fp16"},
     .sizes = {{"T_q", {1, 64, 65}}, {"T_k", {65, 64, 130}}, {"D", {64, 32, 96, 128, 256, 24}}},
     .options = {{"window", {"1", "33", "64"}}, {"softcap", {"3"}}, {"scale", {"-0.25"}}},
     .also = {{{{"B", 1}, {"T_q", 1}, {"T", 65}, {"H", 2}, {"H_kv", 1}, {"K", 32}, {"V", 32}},
               {{"causal", "true"}, {"scale", "0.5"}, {"seed", "166"}},
               "fp16"}},
     .borders = {{.size = "T", .at = {128}},
                 {.size = "T_q", .at = {128}},
                 {.size = "T", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}},
                 {.size = "T_q", .at = {64}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_backward_edges(
    "attention_backward", {.dq_repeatable = false,
                           .all_options = true,
                           .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
