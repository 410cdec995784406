#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/suite.hpp"

using ladder::arithmetic_of;
using ladder::Decay;
using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::make_grad_problem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::run_backward;
using ladder::WkvCase;
using ladder::WkvGradProblem;
using ladder::testing::device_is_missing;
using ladder::testing::is_right;

namespace {

// A tile that is not full, and two tiles of K and of V; a chunk is 64 steps, a block 16.
// Lengths 17, 18 and 20 would leave single rows up to a half above the limit: see README, "Precision".
const ladder::testing::WkvSupport support{
    .bf16 = true, .lengths = {0, 1, 24, 65}, .K_sizes = {20, 72}, .V_sizes = {20, 72}};
const bool registered =
    ladder::testing::register_wkv_backward_suite("wkv_chunkwise_backward", support) &&
    ladder::testing::register_gla_backward_suite("gla_chunkwise_backward", support);

// Both operators, as the precision's launcher computes them.
void expect_right(const WkvGradProblem& problem, const std::string& what) {
  const WkvCase& c = problem.forward.wkv_case;
  const Implementation implementation = find_implementation(
      c.recurrence == Recurrence::kGla ? "gla_chunkwise_backward" : "wkv_chunkwise_backward");
  if (device_is_missing(implementation)) return;
  EXPECT_TRUE(is_right(problem, run_backward(implementation, problem),
                       arithmetic_of(implementation, c.precision)))
      << name_of(c) << ", " << what;
}

// Decays are products over a tree of blocks of 16 steps: a decay to nothing must be right at each level of it, in each half, and
// next to the borders of blocks.
TEST(chunkwise_backward, SurvivesTotalDecayAtEachLevelOfTheTree) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const std::int64_t forgets : {0, 1, 2, 4, 8, 15, 16, 31, 32, 33, 63}) {
      WkvCase c{.recurrence = recurrence, .B = 1, .T = 64, .H = 1, .K = 16, .V = 8};
      c.initial_state = c.final_state = true;
      c.precision = Precision::kBf16;
      WkvGradProblem problem = make_grad_problem(c);
      const std::int64_t row = c.H * c.K;
      std::fill_n(problem.forward.log_w.data.begin() + forgets * row, row, -INFINITY);
      expect_right(problem, "forgets at step " + std::to_string(forgets));
    }
  }
}

// No difference of large sums: where nothing of the state is left, its decay has no effect, exactly.
TEST(chunkwise_backward, GivesNoGradientToATotalDecay) {
  const Implementation implementation = find_implementation("wkv_chunkwise_backward");
  if (device_is_missing(implementation)) return;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    WkvCase c{.B = 1, .T = 37, .H = 2, .K = 32, .V = 16, .decay = Decay::kTotal};
    c.initial_state = c.final_state = true;
    c.precision = precision;
    for (const float gradient : run_backward(implementation, make_grad_problem(c)).d_log_w)
      EXPECT_EQ(gradient, 0.0f);
  }
}

// 16-byte copies where all arrays allow them, single elements where one does not.
TEST(chunkwise_backward, AllowsAnyFloatPointer) {
  const Implementation implementation = find_implementation("wkv_chunkwise_backward");
  if (device_is_missing(implementation)) return;
  const WkvGradProblem problem =
      make_grad_problem(WkvCase{.B = 1, .T = 18, .H = 2, .K = 64, .V = 64});
  ladder::BasicWkvGradOnDevice<float> on_device(device(implementation.device), problem);
  ladder::WkvGradArgs args = on_device.args();
  std::vector<float> shifted(problem.d_o.data.size() + 1);
  std::copy(problem.d_o.data.begin(), problem.d_o.data.end(), shifted.begin() + 1);
  ladder::GuardedArray d_o(device(implementation.device), "d_o", shifted,
                           ladder::GuardedArray::Role::kInput);
  args.d_o = static_cast<const float*>(d_o.pointer()) + 1;
  implementation.wkv_backward(args);
  EXPECT_TRUE(is_right(problem, on_device.download()));
}

}  // namespace
