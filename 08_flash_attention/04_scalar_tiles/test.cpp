#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// For scratch.cu. The loop that checks an exercise reports the stage for which a case fails. The
// cases use two tiles of keys, of which the second contains six, then three tiles with a mask, then
// two tiles of queries in two batches.
const ladder::Shape kTwoTiles = {{"B", 1},  {"T", 70},   {"H", 2},   {"K", 64},
                                 {"V", 64}, {"T_q", 21}, {"H_kv", 1}};
const ladder::Shape kThreeTiles = {{"B", 1},  {"T", 150},  {"H", 1},   {"K", 32},
                                   {"V", 32}, {"T_q", 40}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 20},   {"H", 2},   {"K", 32},
                                  {"V", 32}, {"T_q", 70}, {"H_kv", 1}};
const bool stages =
    register_hole("attention_scalar_tiles", "Stage1BringsTheTiles", "attention", kTwoTiles) &&
    register_hole("attention_scalar_tiles", "Stage2BringsTheRowUpToDate", "attention", kThreeTiles,
                  {{"causal", "true"}}) &&
    register_hole("attention_scalar_tiles", "Stage3LaunchesAndStores", "attention", kTwoBlocks) &&
    register_hole("attention_scalar_tiles", "Stage4ComputesTheScores", "attention", kTwoTiles) &&
    register_hole("attention_scalar_tiles", "Stage5WeighsTheValues", "attention", kTwoTiles);

const bool registered = ladder::testing::register_suite(
    "attention", "attention_scalar_tiles",
    {.storages = {"fp32", "bf16", "fp16"},
     .nan_tile = 64,
     .borders = {{.size = "T", .at = {64, 128}}, {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_scalar_tiles",
    {.precision = ladder::Precision::kFp32, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
