#include <gtest/gtest.h>

#include "07_chunkwise/decays_between.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::testing::register_hole;

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("wkv_tree", "Stage1JoinsBlocksAndTakesTheirScores", "wkv",
                  {{"B", 1}, {"T", 40}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_tree", "Stage2MakesBlocksOfOneToken", "wkv",
                  {{"B", 1}, {"T", 16}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_tree", "Stage3ClimbsTheTree", "wkv",
                  {{"B", 1}, {"T", 33}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_tree", "Stage4CopiesStages", "wkv",
                  {{"B", 2}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_tree", "Stage5KeepsTheOrder", "wkv",
                  {{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}}, {}, {}, "bf16");

// Sub-chunks of 16 tokens, stages of 64.
const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_tree",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 16, 17, 65, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"K", 64}, {"V", 64}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});

KERNEL_TEST(wkv_tree, SeesEachKeyThroughTheDecaysBetween) {
  chunkwise::expect_decays_between("wkv_tree");
}

}  // namespace
