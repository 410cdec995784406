#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// For scratch.cu. The loop that checks an exercise reports the stage for which a case fails. The
// cases use tiles of 64 queries and keys, three of keys, and two of queries of each of two heads,
// then two blocks of 128 queries, which see other keys, then two batches.
const ladder::Shape kTwoTiles = {{"B", 1},   {"T", 140},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 1},  {"T", 150},   {"H", 1},   {"K", 64},
                                  {"V", 64}, {"T_q", 140}, {"H_kv", 1}};
const ladder::Shape kTwoBatches = {{"B", 2},  {"T", 20},   {"H", 2},   {"K", 32},
                                   {"V", 32}, {"T_q", 37}, {"H_kv", 1}};
const bool stages =
    register_hole("attention_backward_two_kernels", "Stage1BringsTheQueries", "attention_backward",
                  kTwoTiles, {}, {}, "bf16") &&
    register_hole("attention_backward_two_kernels", "Stage2SumsOverTheQueries",
                  "attention_backward", kTwoTiles, {{"causal", "true"}}, {}, "bf16") &&
    register_hole("attention_backward_two_kernels", "Stage3BringsTheKeys", "attention_backward",
                  kTwoBlocks, {{"causal", "true"}}, {}, "bf16") &&
    register_hole("attention_backward_two_kernels", "Stage4SumsOverTheKeys", "attention_backward",
                  kTwoBlocks, {{"causal", "true"}}, {}, "bf16") &&
    register_hole("attention_backward_two_kernels", "Stage5LaunchesThree", "attention_backward",
                  kTwoBatches, {}, {}, "bf16");

// Tiles have 64 or 128 queries and keys.
const bool registered = ladder::testing::register_suite(
    "attention_backward", "attention_backward_two_kernels",
    {.storages = {"bf16", "fp16"},
     .sizes = {{"T_q", {17, 65}}, {"T_k", {63, 70}}, {"D", {32, 96, 128, 256, 24}}},
     .options =
         {{"window", {"1", "33", "64"}}, {"softcap", {"3"}}, {"scale", {"-0.25"}}, {"D_v", {"72"}}},
     .borders = {{.size = "T", .at = {64, 128}}, {.size = "T_q", .at = {128}}}});

const bool edges_registered = flash_attention::edges::register_backward_edges(
    "attention_backward_two_kernels", {.D = 32,
                                       .all_options = true,
                                       .scale_of_0 = true,
                                       .any_D = true,
                                       .any_D_v = true,
                                       .limits = {"B", "H_q", "sequences", "T_q", "T_k"},
                                       .slots = true});

}  // namespace
