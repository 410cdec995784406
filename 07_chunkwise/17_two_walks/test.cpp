#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using ladder::WkvCase;
using ladder::WkvGradArgs;

namespace {

const bool registered =
    ladder::testing::register_suite("wkv_backward", "wkv_two_walks",
                                    {.sizes = {{"T", {0, 1, 2, 20}}, {"K", {64}}, {"V", {64}}},
                                     .refuses = {"states", "reverse", "packed sequences", "K != V"},
                                     .most = {{"B * H", INT32_MAX}}});

// Of a state that a decay of 0 has forgotten nothing is read: its decay has no effect, exactly.
KERNEL_TEST(wkv_two_walks, GivesNoGradientToATotalDecay) {
  WkvCase c{.B = 1, .T = 9, .H = 2, .K = 64, .V = 64, .decay = ladder::Decay::kTotal};
  const ladder::WkvGradients gradients = ladder::run_backward(
      ladder::find_implementation("wkv_two_walks"), ladder::make_grad_problem(c));
  ASSERT_EQ(gradients.d_log_w.size(), 9u * 2 * 64);
  for (const float gradient : gradients.d_log_w)
    EXPECT_EQ(gradient, 0.0f);
}

// The gradients of states, which the suite does not ask for where states are refused.
TEST(wkv_two_walks, RefusesGradientsOfStates) {
  const auto refusal = [](const std::function<void(WkvGradArgs&)>& give) -> std::string {
    WkvGradArgs args;
    float some = 0;
    args.forward.T = 0, args.forward.B = args.forward.H = 1;
    args.forward.K = args.forward.V = 64;
    args.forward.u = args.du = args.d_log_w = &some;
    give(args);
    try {
      ladder::launch<ladder::WkvBackward>(ladder::find_implementation("wkv_two_walks"), args);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  static float state = 0;
  EXPECT_NE(
      refusal([](WkvGradArgs& a) { a.d_final_state = &state; }).find("d_final_state is given"),
      std::string::npos);
  EXPECT_NE(
      refusal([](WkvGradArgs& a) { a.d_initial_state = &state; }).find("d_initial_state is given"),
      std::string::npos);
}

}  // namespace
