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
const bool stages = register_hole("wkv_two_walks", "Stage1BringsAStep", "wkv_backward",
                                  {{"B", 2}, {"T", 3}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
                    register_hole("wkv_two_walks", "Stage2WalksForward", "wkv_backward",
                                  {{"B", 2}, {"T", 4}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
                    register_hole("wkv_two_walks", "Stage3AddsUpRowsAndColumns", "wkv_backward",
                                  {{"B", 2}, {"T", 4}, {"H", 2}, {"K", 64}, {"V", 64}},
                                  {{"decay_per_head", "true"}}) &&
                    register_hole("wkv_two_walks", "Stage4MovesTheAdjointOn", "wkv_backward",
                                  {{"B", 1}, {"T", 6}, {"H", 1}, {"K", 64}, {"V", 64}});

const bool registered =
    ladder::testing::register_suite("wkv_backward", "wkv_two_walks",
                                    {.sizes = {{"T", {0, 1, 2, 20}}, {"K", {64}}, {"V", {64}}},
                                     .refuses = {"states", "reverse", "packed sequences", "K != V"},
                                     .most = {{"B * H", INT32_MAX}}});

// After a decay of 0 nothing of the earlier state is read, so the gradient of that decay is exactly
// 0.
KERNEL_TEST(wkv_two_walks, GivesNoGradientToATotalDecay) {
  WkvCase c{.B = 1, .T = 9, .H = 2, .K = 64, .V = 64, .decay = ladder::Decay::kTotal};
  const ladder::WkvGradients gradients = ladder::run_backward(
      ladder::find_implementation("wkv_two_walks"), ladder::make_grad_problem(c));
  ASSERT_EQ(gradients.d_log_w.size(), 9u * 2 * 64);
  for (const float gradient : gradients.d_log_w)
    EXPECT_EQ(gradient, 0.0f);
}

TEST(wkv_two_walks, RefusesGradientsOfStates) {
  chunkwise::expect_gradients_of_states_refused("wkv_two_walks");
}

}  // namespace
