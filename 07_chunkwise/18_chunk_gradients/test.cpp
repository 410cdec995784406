#include <gtest/gtest.h>

#include "07_chunkwise/refused_states.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("wkv_chunk_gradients", "Stage1BringsAChunk", "wkv_backward",
                  {{"B", 2}, {"T", 18}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunk_gradients", "Stage2WalksToTheBorders", "wkv_backward",
                  {{"B", 1}, {"T", 40}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunk_gradients", "Stage3ScoresThePairs", "wkv_backward",
                  {{"B", 1}, {"T", 9}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunk_gradients", "Stage4TakesStatesAndStores", "wkv_backward",
                  {{"B", 1}, {"T", 35}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    register_hole("wkv_chunk_gradients", "Stage5VisitsTheKeys", "wkv_backward",
                  {{"B", 1}, {"T", 17}, {"H", 1}, {"K", 64}, {"V", 64}});

// Chunks of 16 steps.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_chunk_gradients",
    {.sizes = {{"T", {0, 1, 16, 35}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

TEST(wkv_chunk_gradients, RefusesGradientsOfStates) {
  chunkwise::expect_gradients_of_states_refused("wkv_chunk_gradients");
}

}  // namespace
