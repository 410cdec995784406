#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// The cases are one query over one tile, three tiles of which the last one is partial, the same
// with a mask in two blocks of queries, and queries without a key.
const ladder::Shape kOneTile = {{"B", 1},  {"T", 5},   {"H", 1},   {"K", 64},
                                {"V", 64}, {"T_q", 1}, {"H_kv", 1}};
const ladder::Shape kThreeTiles = {{"B", 1},  {"T", 37},  {"H", 2},   {"K", 64},
                                   {"V", 64}, {"T_q", 9}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 40},    {"H", 2},   {"K", 64},
                                  {"V", 64}, {"T_q", 130}, {"H_kv", 1}};
const ladder::Shape kNoKey = {{"B", 1},  {"T", 3},   {"H", 2},   {"K", 64},
                              {"V", 64}, {"T_q", 5}, {"H_kv", 2}};
const ladder::Options kCausal = {{"causal", "true"}};

const bool holes =
    register_hole("attention_tiles", "Hole1ScoresATileUnderItsMask", "attention", kThreeTiles,
                  kCausal) &&
    register_hole("attention_tiles", "Hole2BringsSumAndOToTheLargerScore", "attention",
                  kThreeTiles) &&
    register_hole("attention_tiles", "Hole3WeighsTheValues", "attention", kOneTile) &&
    register_hole("attention_tiles", "Hole4DividesAndStores", "attention", kNoKey, kCausal);

// For scratch.cu.
const bool stages =
    register_hole("attention_tiles", "Stage1LoadsTheQuery", "attention", kTwoBlocks) &&
    register_hole("attention_tiles", "Stage2LoadsTheTiles", "attention", kThreeTiles) &&
    register_hole("attention_tiles", "Stage3ScoresATileUnderItsMask", "attention", kThreeTiles,
                  kCausal) &&
    register_hole("attention_tiles", "Stage4WeighsTheValues", "attention", kThreeTiles) &&
    register_hole("attention_tiles", "Stage5DividesAndStores", "attention", kNoKey, kCausal);

// A block of 128 queries loads every key that its last query sees, so a NaN may reach all of them.
const bool registered = ladder::testing::register_suite(
    "attention", "attention_tiles",
    {.sizes = {{"D", {64}}, {"T_q", {0, 5, 1, 127, 128, 130}}, {"T_k", {5, 0, 1, 33, 65, 130}}},
     .refuses = {"packed", "key_lengths"},
     .most = {{"T_q", std::int64_t{128} * INT32_MAX}},
     .nan_tile = 128,
     .borders = {{.size = "T", .at = {16, 32}}, {.size = "T_q", .at = {128}}}});

}  // namespace
