#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// 37 keys and 21 queries end within a tile, and 70 keys of 128 channels are two tiles.
const bool holes_registered =
    register_hole("attention_async_copies", "Hole1CopiesTheRowsThereAre", "attention",
                  {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}},
                  {}, {}, "bf16") &&
    register_hole("attention_async_copies", "Hole2WaitsForTheCopies", "attention",
                  {{"B", 1}, {"T", 70}, {"H", 1}, {"K", 128}, {"V", 128}, {"T_q", 21}, {"H_kv", 1}},
                  {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", "attention_async_copies",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .nan_tile = 128,
     // Tiles have 128 keys with 64 channels, and 64 keys with more. Tiles of queries have 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}},
                 {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_async_copies", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
