#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::find_implementation;
using ladder::Implementation;
using ladder::Precision;
using ladder::Recurrence;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::is_right;

// Only the work inside a group of four steps and the single step differ from WKV. WKV's suite
// covers the rest.
const bool registered = ladder::testing::register_suite(
    "gla", "wkv_time_tiles",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay", "fp16"},
     .sizes = {{"T", {0, 1, 4, 6, 65}}, {"K", {36, 64, 256}}, {"V", {20, 64}}},
     .refuses = {"packed sequences"},
     .nan_tile = 4});  // masked scores

// One order of threads is enough for so many cases, because the suite runs its borders in the
// others.
TEST(wkv_time_tiles_gla, MatchesReferenceInEveryTiling) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const Implementation implementation = find_implementation("wkv_time_tiles");
  for (const std::int64_t heads : {1, 70, 270}) {
    for (const std::int64_t K : {5, 64, 127, 129}) {
      WkvCase c{.recurrence = Recurrence::kGla, .B = 1, .T = heads == 1 ? 35 : 6, .H = heads};
      c.K = K;
      c.V = K == 64 ? 64 : 20;
      c.initial_state = c.final_state = true;
      const WkvProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(problem, run(implementation, problem))) << name_of(c);
    }
  }
}

// A total decay at any of the four steps must not affect the others.
KERNEL_TEST(wkv_time_tiles_gla, SurvivesTotalDecayAtEachStepOfAUnit) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  for (std::int64_t forgets = 0; forgets < 8; ++forgets) {
    WkvCase c{.recurrence = Recurrence::kGla, .B = 1, .T = 11, .H = 2, .K = 64, .V = 36};
    c.initial_state = c.final_state = true;
    WkvProblem problem = make_problem(c);
    const std::int64_t step = c.H * c.K;
    std::fill_n(problem["log_w"].begin() + forgets * step, step, -INFINITY);
    EXPECT_TRUE(is_right(problem, run(implementation, problem))) << "at step " << forgets;
  }
}

}  // namespace
