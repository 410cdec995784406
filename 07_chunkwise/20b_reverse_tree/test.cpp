#include <gtest/gtest.h>

#include "07_chunkwise/refused_states.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using ladder::WkvCase;

namespace {

using ladder::testing::register_hole;

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("wkv_reverse_tree", "Stage1SavesTheStates", "wkv_backward",
                  {{"B", 1}, {"T", 130}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_reverse_tree", "Stage2ClimbsTheTree", "wkv_backward",
                  {{"B", 1}, {"T", 16}, {"H", 2}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_reverse_tree", "Stage3WalksAlongTheChunk", "wkv_backward",
                  {{"B", 1}, {"T", 80}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_reverse_tree", "Stage4UndoesTheJoins", "wkv_backward",
                  {{"B", 1}, {"T", 16}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_reverse_tree", "Stage5GivesAUnitItsGradients", "wkv_backward",
                  {{"B", 2}, {"T", 20}, {"H", 2}, {"K", 64}, {"V", 64}},
                  {{"decay_per_head", "true"}}, {}, "bf16");

// Sub-chunks of 16 tokens, chunks of 64.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_reverse_tree",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 17, 65}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 64}, .others = {{"K", 64}, {"V", 64}}}}});

// After a decay of 0 nothing of the earlier state is read, so the gradient of that decay is exactly
// 0.
KERNEL_TEST(wkv_reverse_tree, GivesNoGradientToATotalDecay) {
  WkvCase c{.B = 1, .T = 9, .H = 2, .K = 64, .V = 64, .decay = ladder::Decay::kTotal};
  c.precision = ladder::Precision::kBf16;
  const ladder::WkvGradients gradients = ladder::run_backward(
      ladder::find_implementation("wkv_reverse_tree"), ladder::make_grad_problem(c));
  ASSERT_EQ(gradients.d_log_w.size(), 9u * 2 * 64);
  for (const float gradient : gradients.d_log_w)
    EXPECT_EQ(gradient, 0.0f);
}

TEST(wkv_reverse_tree, RefusesGradientsOfStates) {
  chunkwise::expect_gradients_of_states_refused<ladder::WkvGradBf16Args>("wkv_reverse_tree");
}

}  // namespace
