#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>

#include "common/operators/compare.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/operator.hpp"

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
const ladder::testing::WkvSupport support{
    .bf16 = true,
    .lengths = {0, 1, 17, 18, 20, 65, 130, 200},
    .K_sizes = {20, 72, 100},
    .V_sizes = {20, 2, 72},
    .also = {
        {"B2_T18_H3_K20_V20_total_per_head_scaled_tiny", 198},
        {"B2_T1_H3_K72_V20_no_decay_per_head_tiny_bf16", 53},
        {"B2_T1_H3_K72_V72_total_tiny_bf16_fp32_decay", 174},
        {"gla_B2_T18_H3_K20_V20_one_total_token_from_state_to_state_scaled_huge_bf16_fp32_decay",
         336},
        {"gla_B2_T1_H3_K20_V20_strong_per_head_from_state_to_state_reverse_scaled_bf16", 286},
        {"gla_B2_T65_H3_K72_V20_strong_from_state_to_state_reverse_scaled_huge", 122},
        {"gla_B2_T65_H3_K72_V20_total_per_head_huge", 127},
        {"gla_B2_T65_H3_K72_V72_strong_per_head_from_state_to_state_tiny", 259},
        {"gla_B2_T65_H3_K72_V20_total_tiny_bf16", 434},
        {"gla_B2_T65_H3_K72_V72_total_per_head_reverse_scaled_tiny_bf16_fp32_decay", 182}}};
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

// Three and four chunks, so that every stage of the walks is filled again, with widths of one tile, of two, and of several tiles of V.
TEST(chunkwise_backward, MatchesReferenceOverManyChunks) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision :
         {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
      WkvCase c{.recurrence = recurrence, .B = 1, .T = 200, .H = 1, .K = 20, .V = 20};
      c.initial_state = c.final_state = true;
      c.precision = precision;
      expect_right(make_grad_problem(c), "four chunks");
      c.reverse = true;
      c.T = 130;
      c.K = c.V = 100;
      expect_right(make_grad_problem(c), "three chunks of two tiles");
    }
  }
}

// The gradient of a decay per head is a sum over all steps: what S and D lost in rounding, once per chunk, would add up in it.
TEST(chunkwise_backward, SumsTheGradientOfADecayPerHeadOverManyChunks) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const auto& [T, K, V] : {std::tuple{130, 20, 72}, {260, 64, 20}, {260, 20, 20}}) {
      for (const float log_w : {0.0f, -0.01f, -0.3f}) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 1, .K = K, .V = V};
        c.decay = Decay::kFixed;
        c.fixed_log_w = log_w;
        c.decay_per_head = true;
        c.precision = Precision::kBf16Fp32Decay;
        expect_right(make_grad_problem(c), "log_w " + std::to_string(log_w));
      }
    }
  }
}

}  // namespace
