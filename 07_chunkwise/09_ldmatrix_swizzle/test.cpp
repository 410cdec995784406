#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

using ladder::testing::register_hole;

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("linear_attention_ldmatrix_swizzle", "Stage1LoadsTheOtherWayRound",
                  "linear_attention", {{"B", 1}, {"T", 64}, {"H", 1}, {"K", 64}, {"V", 64}},
                  {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16") &&
    register_hole("linear_attention_ldmatrix_swizzle", "Stage2BringsAChunk", "linear_attention",
                  {{"B", 2}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}},
                  {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16") &&
    register_hole("linear_attention_ldmatrix_swizzle", "Stage3ScoresTheChunk", "linear_attention",
                  {{"B", 1}, {"T", 64}, {"H", 2}, {"K", 64}, {"V", 64}},
                  {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16") &&
    register_hole("linear_attention_ldmatrix_swizzle", "Stage4MultipliesWithStateAndScores",
                  "linear_attention", {{"B", 1}, {"T", 128}, {"H", 1}, {"K", 64}, {"V", 64}},
                  {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16") &&
    register_hole("linear_attention_ldmatrix_swizzle", "Stage5AddsTheChunkToTheState",
                  "linear_attention", {{"B", 1}, {"T", 192}, {"H", 1}, {"K", 64}, {"V", 64}},
                  {{"feature_map", "identity"}, {"normalize", "false"}}, {}, "bf16");

// Chunks of 64 tokens. Masked scores are computed in the blocks of 16 tokens on the diagonal.
const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_ldmatrix_swizzle",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 64, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"all but the causal product"},
     .most = {{"K", 64}, {"V", 64}, {"B", 65535}, {"H", 65535}},
     .multiple = 64,
     .plain_steps = 130,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});
