#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// A chunk of one step, of five, of sixteen; three chunks.
const bool holes =
    register_hole("wkv_chunks", "Hole1DecaysTheRowsForTheState", "wkv",
                  {{"B", 1}, {"T", 32}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Hole2ScoresEachPairOfAChunk", "wkv",
                  {{"B", 2}, {"T", 16}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunks", "Hole3AddsStateAndScores", "wkv",
                  {{"B", 1}, {"T", 21}, {"H", 2}, {"K", 64}, {"V", 64}}, {{"scale", "0.5"}}) &&
    register_hole("wkv_chunks", "Hole4HandsTheStateOnOnceAChunk", "wkv",
                  {{"B", 1}, {"T", 48}, {"H", 1}, {"K", 64}, {"V", 64}});

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_chunks",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 34,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

}  // namespace
