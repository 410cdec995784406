// A test of WKV gradients that reject states, because the suite does not request gradients of
// states there. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "common/operators/wkv/operator.hpp"

namespace chunkwise {

template <typename Args = ladder::WkvGradArgs>
void expect_gradients_of_states_refused(const std::string& implementation) {
  float some = 0;
  std::remove_pointer_t<decltype(Args::d_log_w)> element{};
  Args plain;  // without steps, so that no other array is needed
  plain.forward.B = plain.forward.H = 1;
  plain.forward.K = plain.forward.V = 64;
  plain.forward.u = plain.d_log_w = &element;
  plain.du = &some;
  const auto expect_refused = [&](const Args& args, const std::string& array) {
    try {
      ladder::launch<ladder::WkvBackward>(ladder::find_implementation(implementation), args);
      ADD_FAILURE() << array << " is not refused";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find(array + " is given"), 0u) << error.what();
    }
  };
  Args final_state = plain, initial_state = plain;
  final_state.d_final_state = initial_state.d_initial_state = &some;
  expect_refused(final_state, "d_final_state");
  expect_refused(initial_state, "d_initial_state");
}

}  // namespace chunkwise
