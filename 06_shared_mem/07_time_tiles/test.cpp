#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using ladder::Decay;
using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::run;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::device_is_missing;
using ladder::testing::is_right;

namespace {

// Each width of rows has its own tilings, for few heads, for more (one block per SM) and for very
// many (three per SM). Tiles are 4 to 32 steps long, and blocks have 16 or 64 columns. The single
// step of lesson 08 handles 64 rows at a time.
const std::vector<ladder::Border> kBorders = {
    {.size = "K", .at = {32, 64, 128, 256}},
    {.size = "K", .at = {32, 64, 128, 256}, .others = {{"H", 1}}, .multiprocessors = 1},
    {.size = "K", .at = {32, 64, 128, 256}, .others = {{"H", 3}}, .multiprocessors = 1},
    {.size = "K", .at = {64, 128}, .others = {{"T", 1}}},
    {.size = "V", .at = {16, 64}},
    {.size = "V", .at = {64, 128}, .others = {{"H", 3}}, .multiprocessors = 1},
    {.size = "V", .at = {64}, .others = {{"T", 1}}},
    {.size = "T", .at = {32, 64}}};

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_time_tiles",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay", "fp16"},
     .refuses = {"packed sequences"},
     .most = {{"K", 256}, {"V", 65535 * 16}, {"T", INT32_MAX - 64}, {"B * H", INT32_MAX}},
     .nan_tile = 4,  // masked scores
     .borders = kBorders});

// Each width of rows has its own tilings for few, many and very many heads. One order of threads is
// enough for so many cases, because the suite runs its borders in the others.
TEST(wkv_time_tiles, MatchesReferenceInEveryTiling) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const Implementation implementation = find_implementation("wkv_time_tiles");
  for (const std::int64_t heads : {1, 70, 270}) {
    for (const std::int64_t K : {5, 33, 64, 127, 129}) {
      WkvCase c{.B = 1, .T = heads == 1 ? 35 : 6, .H = heads, .K = K, .V = K == 64 ? 64 : 20};
      c.initial_state = c.final_state = true;
      const WkvProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(problem, run(implementation, problem))) << name_of(c);
    }
  }
}

// Four steps share one read of the state. A total decay at any of them must not affect the others.
KERNEL_TEST(wkv_time_tiles, SurvivesTotalDecayAtEachStepOfAUnit) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  for (std::int64_t forgets = 0; forgets < 8; ++forgets) {
    WkvCase c{.B = 1, .T = 11, .H = 2, .K = 64, .V = 36};
    c.initial_state = c.final_state = true;
    WkvProblem problem = make_problem(c);
    const std::int64_t step = c.H * c.K;
    std::fill_n(problem["log_w"].begin() + forgets * step, step, -INFINITY);
    EXPECT_TRUE(is_right(problem, run(implementation, problem))) << "at step " << forgets;
  }
}

// The largest number of fp16 is 65504, and an output from 65520 on becomes infinite when it is
// stored. The state is fp32 and stays finite, so a later output is right again. The value columns
// are independent sums.
KERNEL_TEST(wkv_time_tiles, StoresInfinityBeyondFp16) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  const std::vector<std::vector<float>> v = {{65504, 65504, 60000, -60000},  // the steps
                                             {0, 15, 60000, -60000},
                                             {0, 1, -60000, 60000},
                                             {0, 0, 0, 0}};
  const std::vector<std::vector<float>> sums = {
      {0, 0, 0, 0},
      {65504, 65504, 60000, -60000},
      {65504, 65504, INFINITY, -INFINITY},  // 65519 is nearer to 65504
      {65504, INFINITY, 60000, -60000}};
  WkvCase c{.B = 1, .T = 4, .H = 1, .K = 4, .V = 4};
  c.precision = ladder::Precision::kFp16;
  c.decay = Decay::kNone;
  c.initial_state = c.final_state = true;
  WkvProblem problem = make_problem(c);
  for (const char* array : {"q", "k", "v", "u", "initial_state"})
    std::fill(problem[array].begin(), problem[array].end(), 0.0f);
  for (std::int64_t t = 0; t < c.T; ++t) {
    problem["q"][t * c.K] = problem["k"][t * c.K] = 1;
    std::copy(v[t].begin(), v[t].end(), problem["v"].begin() + t * c.V);
  }
  const ladder::WkvOutputs outputs = run(implementation, problem);
  for (std::int64_t i = 0; i < c.T * c.V; ++i)
    EXPECT_EQ(outputs.o[i], sums[i / c.V][i % c.V]) << "step " << i / c.V << ", column " << i % c.V;
  EXPECT_EQ(outputs.final_state[1], 65520);
  EXPECT_EQ(outputs.final_state[2], 60000);

  // A single step has its own kernel.
  c.T = 1;
  WkvProblem step = make_problem(c);
  for (const char* array : {"q", "k", "v", "u", "initial_state"})
    std::fill(step[array].begin(), step[array].end(), 0.0f);
  step["q"][0] = 1;
  step["initial_state"][0] = 65519, step["initial_state"][1] = 65520;
  const ladder::WkvOutputs stepped = run(implementation, step);
  EXPECT_EQ(stepped.o, (std::vector<float>{65504, INFINITY, 0, 0}));
  EXPECT_EQ(stepped.final_state, step["initial_state"]);
}

// The state may be updated in place.
KERNEL_TEST(wkv_time_tiles, UpdatesTheStateInPlace) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  WkvCase c{.B = 2, .T = 5, .H = 3, .K = 100, .V = 72};
  c.initial_state = c.final_state = true;
  const WkvProblem problem = make_problem(c);
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(device(implementation.device), problem);
  WkvArgs args = on_device.args();
  device(implementation.device)
      .upload(args.final_state, problem["initial_state"].data(),
              problem["initial_state"].size() * sizeof(float));
  args.initial_state = args.final_state;
  ladder::launch<ladder::Wkv>(implementation, args);
  EXPECT_TRUE(is_right(problem, on_device.download()));
}

// Copies of 16 bytes if all arrays allow them, copies of single floats if one does not.
KERNEL_TEST(wkv_time_tiles, AllowsAnyFloatPointer) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  ladder::Device& where = device(implementation.device);
  const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 37, .H = 2, .K = 64, .V = 64});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(where, problem);
  WkvArgs args = on_device.args();
  std::vector<float> shifted(problem["q"].size() + 1);
  std::copy(problem["q"].begin(), problem["q"].end(), shifted.begin() + 1);
  ladder::GuardedArray q(where, "q", shifted, ladder::GuardedArray::Role::kInput);
  args.q = static_cast<const float*>(q.pointer()) + 1;
  ladder::launch<ladder::Wkv>(implementation, args);
  EXPECT_TRUE(is_right(problem, on_device.download()));
}

TEST(wkv_time_tiles, RefusesMoreThan256Rows) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  if (device_is_missing(implementation)) return;
  const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 2, .H = 1, .K = 257, .V = 4});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(device(implementation.device), problem);
  try {
    ladder::launch<ladder::Wkv>(implementation, on_device.args());
    ADD_FAILURE() << "K = 257 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("K is 257"), std::string::npos) << error.what();
  }
}

}  // namespace
