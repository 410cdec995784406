#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::Recurrence;
using ladder::run;
using ladder::WkvArgs;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::is_right;

// wkv_time_tiles launches this lesson's kernel if T = 1. Lesson 07's suites include that length.
namespace {

KERNEL_TEST(wkv_decode, MatchesReferenceForWkvAndGla) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const std::int64_t K : {5, 64, 127, 256}) {  // up to 64 rows per iteration of the block
      WkvCase c{.recurrence = recurrence, .B = 2, .T = 1, .H = 3, .K = K, .V = K == 64 ? 64 : 72};
      c.initial_state = c.final_state = true;
      for (const bool decay_per_head : {false, true}) {
        c.decay_per_head = decay_per_head;
        const WkvProblem problem = make_problem(c);
        EXPECT_TRUE(is_right(problem, run(implementation, problem))) << name_of(c);
      }
    }
  }
}

// The state may be updated in place.
KERNEL_TEST(wkv_decode, UpdatesTheStateInPlace) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  WkvCase c{.B = 2, .T = 1, .H = 3, .K = 100, .V = 72};
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
KERNEL_TEST(wkv_decode, AllowsAnyFloatPointer) {
  const Implementation implementation = find_implementation("wkv_time_tiles");
  ladder::Device& where = device(implementation.device);
  const WkvProblem problem = make_problem(WkvCase{.B = 1, .T = 1, .H = 2, .K = 64, .V = 64});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(where, problem);
  WkvArgs args = on_device.args();
  std::vector<float> shifted(problem["q"].size() + 1);
  std::copy(problem["q"].begin(), problem["q"].end(), shifted.begin() + 1);
  ladder::GuardedArray q(where, "q", shifted, ladder::GuardedArray::Role::kInput);
  args.q = static_cast<const float*>(q.pointer()) + 1;
  ladder::launch<ladder::Wkv>(implementation, args);
  EXPECT_TRUE(is_right(problem, on_device.download()));
}

}  // namespace
