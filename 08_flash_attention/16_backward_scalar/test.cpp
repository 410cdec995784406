#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// For scratch.cu. The loop that checks an exercise reports the stage for which a case fails. The
// cases use rows that do not fill a warp's lanes evenly, then two query heads for one key head and
// ends of tiles, then keys that a query does not see, then three columns per lane, then a tile of
// queries with one row.
const bool stages =
    register_hole("attention_backward_scalar", "Stage1SumsTheRows", "attention_backward",
                  {{"B", 2}, {"T", 5}, {"H", 2}, {"K", 96}, {"V", 96}, {"T_q", 3}, {"H_kv", 2}}) &&
    register_hole(
        "attention_backward_scalar", "Stage2BringsTheTiles", "attention_backward",
        {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 35}, {"H_kv", 1}}) &&
    register_hole("attention_backward_scalar", "Stage3FindsTheGradientOfTheScores",
                  "attention_backward",
                  {{"B", 1}, {"T", 40}, {"H", 2}, {"K", 32}, {"V", 32}, {"T_q", 37}, {"H_kv", 2}},
                  {{"causal", "true"}}) &&
    register_hole(
        "attention_backward_scalar", "Stage4AddsUpTheGradients", "attention_backward",
        {{"B", 1}, {"T", 34}, {"H", 1}, {"K", 96}, {"V", 96}, {"T_q", 34}, {"H_kv", 1}}) &&
    register_hole("attention_backward_scalar", "Stage5LaunchesAndStores", "attention_backward",
                  {{"B", 2}, {"T", 5}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 33}, {"H_kv", 1}});

// Tiles have 32 queries and keys.
const bool registered = ladder::testing::register_suite(
    "attention_backward", "attention_backward_scalar",
    {.storages = {"fp32", "bf16", "fp16"},
     .sizes = {{"T_q", {0, 5, 1, 17, 32, 33, 65}},
               {"T_k", {5, 0, 65, 1, 32, 65, 33}},
               {"D", {64, 32, 96, 128, 256, 5, 36}}},
     .options = {{"scale", {"-0.25"}}},
     .borders = {{.size = "T", .at = {32, 64}}, {.size = "T_q", .at = {32, 64}}}});

const bool edges_registered = flash_attention::edges::register_backward_edges(
    "attention_backward_scalar", {.precision = ladder::Precision::kFp32,
                                  .scale_of_0 = true,
                                  .any_D = true,
                                  .D_step = 1,
                                  .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
