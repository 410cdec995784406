#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

const ladder::Shape kOneRow = {{"B", 1}, {"T", 7}, {"H", 1}, {"K", 64}, {"V", 64}, {"T_q", 1}};
const ladder::Shape kRows = {{"B", 1}, {"T", 9}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool holes =
    ladder::testing::register_hole("attention_row_per_warp", "Hole1GivesAllLanesTheScore",
                                   "attention", kOneRow) &&
    ladder::testing::register_hole("attention_row_per_warp", "Hole2BringsTheRowUpToDate",
                                   "attention", kRows);

// For scratch.cu. In the last case the first queries see no key.
const bool stages =
    ladder::testing::register_hole("attention_row_per_warp", "Stage1BringsTheQuery", "attention",
                                   kOneRow) &&
    ladder::testing::register_hole("attention_row_per_warp", "Stage2WalksOverTheKeys", "attention",
                                   kRows, {{"causal", "true"}}) &&
    ladder::testing::register_hole("attention_row_per_warp", "Stage3StoresWhatThereIs", "attention",
                                   {{"B", 1}, {"T", 3}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 5}},
                                   {{"causal", "true"}});

// A block has four queries and no tile of keys, so a NaN reaches only the queries that see its key.
const bool registered = ladder::testing::register_suite(
    "attention", "attention_row_per_warp",
    {.storages = {"fp32", "bf16"},
     .sizes = {{"T_q", {0, 5, 1, 4, 17, 33}}, {"T_k", {5, 0, 1, 33, 65, 17}}},
     .refuses = {"packed", "key_lengths"},
     .most = {{"T_q", std::int64_t{4} * INT32_MAX}},
     .borders = {{.size = "T_q", .at = {4, 8}}}});

}  // namespace
