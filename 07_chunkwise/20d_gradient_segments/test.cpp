#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using emulator::SmallerDevice;
using ladder::arithmetic_of;
using ladder::Decay;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::make_grad_problem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::run_backward;
using ladder::WkvCase;
using ladder::WkvGradients;
using ladder::WkvGradProblem;

namespace {

// A chunk has 64 steps, a segment at least two chunks, and there are at least three segments or
// one. 257 steps are three segments, the last with one step, and 385 are four.
const bool wkv = ladder::testing::register_suite(
    "wkv_backward", "wkv_gradient_segments",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .sizes = {{"T", {0, 1, 65, 257, 330}}, {"K", {20, 72, 100}}, {"V", {20, 2, 72}}},
     .refuses = {"packed sequences"},
     .borders = {{.size = "K", .at = {64, 128}},
                 {.size = "V", .at = {64, 128}},
                 {.size = "T", .at = {64, 128}},
                 {.size = "T", .at = {256, 384}, .others = {{"H", 1}}}}});
const bool gla = ladder::testing::register_suite(
    "gla_backward", "gla_gradient_segments",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .sizes = {{"T", {0, 1, 65, 257, 330}}, {"K", {20, 72, 100}}, {"V", {20, 2, 72}}},
     .refuses = {"packed sequences"}});

Implementation implementation_for(const WkvCase& c) {
  return find_implementation(c.recurrence == Recurrence::kGla ? "gla_gradient_segments"
                                                              : "wkv_gradient_segments");
}

void expect_right(const WkvGradProblem& problem, const std::string& what) {
  const WkvCase& c = problem.drawn_case();
  const Implementation implementation = implementation_for(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, run_backward(implementation, problem),
                                        arithmetic_of(implementation, c.precision)))
      << name_of(c) << ", " << what;
}

WkvCase case_of(std::int64_t T, Precision precision, Recurrence recurrence = Recurrence::kWkv) {
  WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 1, .K = 20, .V = 20};
  c.initial_state = c.final_state = true;
  c.precision = precision;
  return c;
}

// Six segments of two chunks, but the last has 44 steps, or with reversed time the first. Without a
// decay no pair of steps is too distant to be seen.
KERNEL_TEST(gradient_segments, ConnectsAllSegmentsWithoutADecay) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const bool reverse : {false, true}) {
      WkvCase c = case_of(10 * 64 + 44, Precision::kBf16, recurrence);
      c.decay = Decay::kFixed;
      c.fixed_log_w = 0.0f;
      c.reverse = reverse;
      expect_right(make_grad_problem(c), "no decay");
    }
  }
}

TEST(gradient_segments, ConnectsAllSegmentsInEveryPrecision) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  for (const Precision precision :
       {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
    for (const float log_w : {0.0f, -0.002f, -0.1f}) {
      for (const bool per_head : {false, true}) {
        WkvCase c = case_of(13 * 64 + 1, precision);
        c.decay = Decay::kFixed;
        c.fixed_log_w = log_w;
        c.decay_per_head = per_head;
        expect_right(make_grad_problem(c), "log_w " + std::to_string(log_w));
      }
    }
  }
}

// The state is forgotten at a step at, before or after a border of segments of 128 steps. In the
// walk of D the borders are counted from the end.
KERNEL_TEST(gradient_segments, SurvivesATotalDecayAtABorder) {
  for (const std::int64_t forgets : {0, 127, 128, 200, 255, 256, 299}) {
    WkvGradProblem problem = make_grad_problem(case_of(300, Precision::kBf16));
    const std::int64_t row = 20;
    std::fill_n(problem["log_w"].begin() + forgets * row, row, -INFINITY);
    expect_right(problem, "forgets at step " + std::to_string(forgets));
  }
}

KERNEL_TEST(gradient_segments, GivesNoGradientToATotalDecay) {
  WkvCase c = case_of(300, Precision::kBf16);
  c.decay = Decay::kTotal;
  for (const float gradient : run_backward(implementation_for(c), make_grad_problem(c)).d_log_w)
    EXPECT_EQ(gradient, 0.0f);
}

// On the emulator with few SMs, segments are longer than two chunks. Heads with several tiles of K
// and V share the SMs.
KERNEL_TEST(gradient_segments, WalksLongSegmentsOnASmallDevice) {
  for (const auto& [multiprocessors, T, K, V] : {std::tuple{"2", 680, 20, 20},
                                                 {"4", 1300, 20, 20},
                                                 {"8", 600, 72, 20},
                                                 {"8", 600, 20, 72}}) {
    const SmallerDevice device(SmallerDevice::kMultiprocessors, multiprocessors);
    WkvCase c = case_of(T, Precision::kBf16);
    c.K = K, c.V = V;
    expect_right(make_grad_problem(c), std::string(multiprocessors) + " SMs");
  }
}

// Four chunks are too few for three segments.
KERNEL_TEST(gradient_segments, GivesLesson20sGradientsWithOneSegment) {
  const WkvGradProblem problem = make_grad_problem(case_of(256, Precision::kBf16));
  const WkvGradients one = run_backward(find_implementation("wkv_gradient_segments"), problem);
  const WkvGradients whole = run_backward(find_implementation("wkv_chunkwise_backward"), problem);
  EXPECT_EQ(one.dq, whole.dq);
  EXPECT_EQ(one.dk, whole.dk);
  EXPECT_EQ(one.dv, whole.dv);
  EXPECT_EQ(one.d_log_w, whole.d_log_w);
  EXPECT_EQ(one.du, whole.du);
  EXPECT_EQ(one.d_initial_state, whole.d_initial_state);
}

}  // namespace
