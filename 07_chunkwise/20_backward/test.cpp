#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

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
using ladder::testing::is_right;

namespace {

// Tiles of 64 rows and columns, and chunks of 64 steps. Eight threads add up the chunks' parts of
// du. GLA uses the same tiles.
const std::vector<ladder::Border> kBorders = {{.size = "K", .at = {64, 128}},
                                              {.size = "V", .at = {64, 128}},
                                              {.size = "V", .at = {128}, .others = {{"K", 130}}},
                                              {.size = "T", .at = {64, 128}},
                                              {.size = "T", .at = {512}, .others = {{"H", 1}}}};

// A partial tile, and two tiles of K and of V. A chunk has 64 steps, a block 16.
bool register_backward(const std::string& op, const std::string& implementation,
                       const std::vector<ladder::FoundCase>& also) {
  return ladder::testing::register_suite(
      op, implementation,
      {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
       .sizes = {{"T", {0, 1, 17, 18, 20, 65, 130, 200}}, {"K", {20, 72, 100}}, {"V", {20, 2, 72}}},
       .refuses = {"packed sequences"},
       .also = also,
       .borders = op == "wkv_backward" ? kBorders : std::vector<ladder::Border>()});
}

const bool wkv = register_backward(
    "wkv_backward", "wkv_chunkwise_backward",
    {{{{"B", 2}, {"T", 18}, {"H", 3}, {"K", 20}, {"V", 20}},
      {{"decay", "total"},
       {"decay_per_head", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e-8"},
       {"seed", "198"}}},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 72}, {"V", 20}},
      {{"decay", "none"}, {"decay_per_head", "true"}, {"magnitude", "1e-8"}, {"seed", "53"}},
      "bf16"},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 72}, {"V", 72}},
      {{"decay", "total"}, {"magnitude", "1e-8"}, {"seed", "174"}},
      "bf16_fp32_decay"}});
const bool gla = register_backward(
    "gla_backward", "gla_chunkwise_backward",
    {{{{"B", 2}, {"T", 18}, {"H", 3}, {"K", 20}, {"V", 20}},
      {{"decay", "strong_token"},
       {"initial_state", "true"},
       {"final_state", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e8"},
       {"seed", "336"}},
      "bf16_fp32_decay"},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 20}, {"V", 20}},
      {{"decay", "strong"},
       {"decay_per_head", "true"},
       {"initial_state", "true"},
       {"final_state", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"seed", "286"}},
      "bf16"},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 72}, {"V", 20}},
      {{"decay", "strong"},
       {"initial_state", "true"},
       {"final_state", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e8"},
       {"seed", "122"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 72}, {"V", 20}},
      {{"decay", "total"}, {"decay_per_head", "true"}, {"magnitude", "1e8"}, {"seed", "127"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 72}, {"V", 72}},
      {{"decay", "strong"},
       {"decay_per_head", "true"},
       {"initial_state", "true"},
       {"final_state", "true"},
       {"magnitude", "1e-8"},
       {"seed", "259"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 72}, {"V", 20}},
      {{"decay", "total"}, {"magnitude", "1e-8"}, {"seed", "434"}},
      "bf16"},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 72}, {"V", 72}},
      {{"decay", "total"},
       {"decay_per_head", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e-8"},
       {"seed", "182"}},
      "bf16_fp32_decay"}});

// Both operators, as the precision's launcher computes them.
void expect_right(const WkvGradProblem& problem, const std::string& what) {
  const WkvCase& c = problem.drawn_case();
  const Implementation implementation = find_implementation(
      c.recurrence == Recurrence::kGla ? "gla_chunkwise_backward" : "wkv_chunkwise_backward");
  EXPECT_TRUE(is_right(problem, run_backward(implementation, problem),
                       arithmetic_of(implementation, c.precision)))
      << name_of(c) << ", " << what;
}

// Decays are products over a tree of blocks of 16 steps. A total decay must be right at each level
// of it, in each half, and next to the borders of blocks.
KERNEL_TEST(chunkwise_backward, SurvivesTotalDecayAtEachLevelOfTheTree) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const std::int64_t forgets : {0, 1, 2, 4, 8, 15, 16, 31, 32, 33, 63}) {
      WkvCase c{.recurrence = recurrence, .B = 1, .T = 64, .H = 1, .K = 16, .V = 8};
      c.initial_state = c.final_state = true;
      c.precision = Precision::kBf16;
      WkvGradProblem problem = make_grad_problem(c);
      const std::int64_t row = c.H * c.K;
      std::fill_n(problem["log_w"].begin() + forgets * row, row, -INFINITY);
      expect_right(problem, "forgets at step " + std::to_string(forgets));
    }
  }
}

// There is no difference of large sums. If nothing of the state is left, its decay has exactly no
// effect.
KERNEL_TEST(chunkwise_backward, GivesNoGradientToATotalDecay) {
  const Implementation implementation = find_implementation("wkv_chunkwise_backward");
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    WkvCase c{.B = 1, .T = 37, .H = 2, .K = 32, .V = 16, .decay = Decay::kTotal};
    c.initial_state = c.final_state = true;
    c.precision = precision;
    for (const float gradient : run_backward(implementation, make_grad_problem(c)).d_log_w)
      EXPECT_EQ(gradient, 0.0f);
  }
}

// Three and four chunks, so that every stage of the walks is refilled, with widths of one tile, of
// two, and of several tiles of V. One order of threads is enough for so many cases, because the
// suite runs its borders in the others.
TEST(chunkwise_backward, MatchesReferenceOverManyChunks) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
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

// The gradient of a decay per head is a sum over all steps, in which the rounding errors of S and
// D, one per chunk, would add up. One order of threads is enough for so many cases, because the
// suite runs its borders in the others.
TEST(chunkwise_backward, SumsTheGradientOfADecayPerHeadOverManyChunks) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
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
