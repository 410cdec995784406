#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// Two whole chunks, one chunk, a partial second chunk with a scale, and three chunks.
const bool holes =
    register_hole("wkv_chunks", "Hole1DecaysTheRowsForTheState", "wkv",
                  {{"B", 1}, {"T", 32}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Hole2ScoresEachLaterQuery", "wkv",
                  {{"B", 2}, {"T", 16}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Hole3AddsStateAndScores", "wkv",
                  {{"B", 1}, {"T", 21}, {"H", 2}, {"K", 64}, {"V", 64}}, {{"scale", "0.5"}}) &&
    register_hole("wkv_chunks", "Hole4HandsTheStateOnOnceAChunk", "wkv",
                  {{"B", 1}, {"T", 48}, {"H", 1}, {"K", 64}, {"V", 64}});

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("wkv_chunks", "Stage1LoadsTheRowsOfAChunk", "wkv",
                  {{"B", 2}, {"T", 18}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Stage2DecaysTheRowsForTheState", "wkv",
                  {{"B", 1}, {"T", 32}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Stage3ScoresEachPairOfAChunk", "wkv",
                  {{"B", 1}, {"T", 16}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Stage4AddsStateAndScores", "wkv",
                  {{"B", 1}, {"T", 20}, {"H", 3}, {"K", 64}, {"V", 64}}, {{"scale", "0.5"}}) &&
    register_hole("wkv_chunks", "Stage5HandsTheStateOnOnceAChunk", "wkv",
                  {{"B", 2}, {"T", 33}, {"H", 1}, {"K", 64}, {"V", 64}});

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_chunks",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 34,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

}  // namespace
