#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/suite.hpp"

using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::make_problem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::run;
using ladder::WkvCase;
using ladder::WkvOutputs;
using ladder::WkvProblem;
using ladder::testing::device_is_missing;
using ladder::testing::is_right;

namespace {

// Short of a chunk, a unit and a token, and one beyond each.
const ladder::testing::WkvSupport kSupport{.bf16 = true,
                                           .packed = true,
                                           .nan_tile = 16,
                                           .lengths = {0, 1, 17, 65},
                                           .K_sizes = {16, 64},
                                           .V_sizes = {16, 48}};
const bool wkv = ladder::testing::register_wkv_suite("wkv_chunkwise", kSupport);
const bool gla = ladder::testing::register_gla_suite("wkv_chunkwise", kSupport);

void expect_right(const std::string& name, const WkvCase& c) {
  const Implementation implementation = find_implementation(name);
  const WkvProblem problem = make_problem(c);
  EXPECT_TRUE(is_right(problem, run(implementation, problem),
                       ladder::arithmetic_of(implementation, c.precision)))
      << name << " " << name_of(c);
}

WkvCase with_states(WkvCase c) {
  c.initial_state = c.final_state = true;
  return c;
}

// Every width has its own tiling; widths that are no multiple of anything are padded.
TEST(wkv_chunkwise, MatchesReferenceInEveryTiling) {
  if (device_is_missing(find_implementation("wkv_chunkwise"))) return;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const auto& [K, V] : {std::pair{13, 7}, {64, 80}, {100, 130}, {128, 16}, {250, 72}}) {
      expect_right("wkv_chunkwise", with_states({.recurrence = recurrence,
                                                 .T = 35,
                                                 .H = 2,
                                                 .K = K,
                                                 .V = V,
                                                 .precision = Precision::kBf16}));
    }
  }
}

// Segments of one sequence, of several and of empty ones; the chunks of a segment begin elsewhere than the sequence's.
TEST(wkv_chunkwise, MatchesReferenceInSegments) {
  if (device_is_missing(find_implementation("wkv_chunkwise"))) return;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    WkvCase c = with_states({.recurrence = recurrence,
                             .B = 2,
                             .T = 200,
                             .H = 2,
                             .K = 64,
                             .V = 48,
                             .precision = Precision::kBf16});
    expect_right("wkv_chunkwise_time_parallel", c);
    c.reverse = true;
    c.T = 130;
    expect_right("wkv_chunkwise_time_parallel", c);
    expect_right("wkv_chunkwise_time_parallel", packed(c, {0, 70, 1, 0, 150, 0}));
  }
  WkvCase c = with_states(
      {.B = 1, .T = 100, .H = 1, .K = 250, .V = 70, .precision = Precision::kBf16Fp32Decay});
  expect_right("wkv_chunkwise_time_parallel", c);
}

// What comes later, in the same chunk or not, must not change a bit of what came before.
TEST(wkv_chunkwise, KnowsNothingOfLaterTokens) {
  const Implementation implementation = find_implementation("wkv_chunkwise");
  if (device_is_missing(implementation)) return;
  const WkvCase c{.T = 130, .H = 2, .K = 64, .V = 32, .precision = Precision::kBf16};
  const WkvProblem problem = make_problem(c);
  const WkvOutputs outputs = run(implementation, problem);
  for (const std::int64_t T : {1, 20, 64, 100}) {
    WkvProblem part = problem;
    part.wkv_case.T = T;
    for (ladder::Tensor<float>* tensor : {&part.q, &part.k, &part.log_w})
      tensor->data.resize(T * c.H * c.K);
    part.v.data.resize(T * c.H * c.V);
    const WkvOutputs of_part = run(implementation, part);
    EXPECT_TRUE(std::equal(of_part.o.begin(), of_part.o.end(), outputs.o.begin())) << "T = " << T;
  }
}

// A decay to nothing at any of 16 tokens must not reach the others.
TEST(wkv_chunkwise, SurvivesTotalDecayAtEachTokenOfAUnit) {
  const Implementation implementation = find_implementation("wkv_chunkwise");
  if (device_is_missing(implementation)) return;
  for (std::int64_t forgets = 0; forgets < 17; ++forgets) {
    const WkvCase c =
        with_states({.T = 33, .H = 1, .K = 64, .V = 16, .precision = Precision::kBf16});
    WkvProblem problem = make_problem(c);
    std::fill_n(problem.log_w.data.begin() + forgets * c.K, c.K, -INFINITY);
    EXPECT_TRUE(is_right(problem, run(implementation, problem),
                         ladder::arithmetic_of(implementation, c.precision)))
        << "at token " << forgets;
  }
}

// The state may be updated where it is, however the work is divided.
TEST(wkv_chunkwise, UpdatesTheStateInPlace) {
  const Implementation implementation = find_implementation("wkv_chunkwise_time_parallel");
  if (device_is_missing(implementation)) return;
  const WkvCase c =
      with_states({.B = 1, .T = 200, .H = 2, .K = 64, .V = 20, .precision = Precision::kBf16});
  const WkvProblem problem = make_problem(c);
  ladder::BasicWkvOnDevice<ladder::bfloat16> on_device(device(implementation.device), problem);
  auto args = on_device.args();
  device(implementation.device)
      .upload(args.final_state, problem.initial_state.data.data(),
              problem.initial_state.data.size() * sizeof(float));
  args.initial_state = args.final_state;
  implementation.wkv_bf16(args);
  EXPECT_TRUE(
      is_right(problem, on_device.download(), ladder::arithmetic_of(implementation, c.precision)));
}

TEST(wkv_chunkwise, RefusesMoreThan256Channels) {
  const Implementation implementation = find_implementation("wkv_chunkwise");
  if (device_is_missing(implementation)) return;
  const WkvProblem problem =
      make_problem({.T = 2, .H = 1, .K = 257, .V = 4, .precision = Precision::kBf16});
  ladder::BasicWkvOnDevice<ladder::bfloat16> on_device(device(implementation.device), problem);
  try {
    implementation.wkv_bf16(on_device.args());
    ADD_FAILURE() << "K = 257 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("K is 257"), std::string::npos) << error.what();
  }
}

}  // namespace
