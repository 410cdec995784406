// Tests of WKV kernels with an in-place state, where one array is the initial state and becomes the
// final state.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/core/device.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace chunkwise {

// `problem` has both states. Args are the arguments in which its values are stored.
template <typename Args>
ladder::WkvOutputs run_in_place(const ladder::Implementation& implementation,
                                const ladder::WkvProblem& problem) {
  ladder::Device& device = ladder::device(implementation.device);
  const ladder::OnDevice<ladder::Wkv, Args> on_device(device, problem);
  Args args = on_device.args();
  const auto& state = problem["initial_state"];
  device.upload(args.final_state, state.data(), state.size() * sizeof(float));
  args.initial_state = args.final_state;
  ladder::launch<ladder::Wkv>(implementation, args);
  device.synchronize();
  return on_device.download();
}

template <typename Args>
void expect_on_one_stream_in_place(const ladder::Implementation& implementation,
                                   const ladder::WkvProblem& problem) {
  const ladder::OnDevice<ladder::Wkv, Args> on_device(ladder::device(implementation.device),
                                                      problem);
  Args args = on_device.args();
  args.initial_state = args.final_state;
  ladder::testing::expect_on_one_stream(
      implementation.device, [&] { ladder::launch<ladder::Wkv>(implementation, args); },
      name_of(problem.drawn_case()));
}

template <typename Args>
void expect_the_same_in_place(const std::string& name, const ladder::WkvCase& c) {
  const ladder::Implementation implementation = ladder::find_implementation(name);
  const ladder::WkvProblem problem = make_problem(c);
  expect_on_one_stream_in_place<Args>(implementation, problem);
  const ladder::WkvOutputs apart = run(implementation, problem);
  const ladder::WkvOutputs in_place = run_in_place<Args>(implementation, problem);
  EXPECT_TRUE(ladder::testing::is_right(problem, in_place,
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
  EXPECT_TRUE(in_place.o == apart.o && in_place.final_state == apart.final_state)
      << name_of(c) << ": WRONG RESULT where initial_state and final_state are one array";
}

}  // namespace chunkwise
