#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/guarded_array.hpp"
#include "common/core/poison.hpp"
#include "common/judge/judging.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::WkvCase;
using Rows = std::vector<float>;

constexpr int kSize = 2;               // K and V
constexpr float kHalf = -0.69314718f;  // its exp is 1/2

const Rows kQ = {1, 1, 1, 0, 1, 1};     // (T, K)
const Rows kK = {1, 2, 0, 1, 1, 0};     // (T, K)
const Rows kV = {4, 2, 2, 6, 1, 3};     // (T, V)
const Rows kLogW = {0, kHalf};          // (K), the same at each step
const Rows kU = {2, 1};                 // (K)
const Rows kO = {16, 8, 4, 2, 12, 16};  // (T, V)
// The state (K, V) before each step, and after the last.
const Rows kStates[] = {{0, 0, 0, 0}, {4, 2, 8, 4}, {4, 2, 6, 8}, {5, 5, 3, 4}};

// The page's worked example, from step `first` to before step `end`.
void expect_the_example(int first, int end, bool wants_state = true) {
  const float nothing = std::bit_cast<float>(ladder::kPoisonBits);
  Rows o((end - first) * kSize, nothing), state(kSize * kSize, nothing);
  ladder::WkvArgs args{.B = 1, .T = end - first, .H = 1, .K = kSize, .V = kSize};
  args.q = kQ.data() + first * kSize;
  args.k = kK.data() + first * kSize;
  args.v = kV.data() + first * kSize;
  args.log_w = kLogW.data();
  args.u = kU.data();
  args.initial_state = first == 0 ? nullptr : kStates[first].data();
  args.o = o.data();
  if (wants_state) args.final_state = state.data();
  ladder::launch<ladder::Wkv>(ladder::find_implementation("wkv_naive"), args);

  const auto expect_near = [](const std::string& place, float yours, float right) {
    if (std::abs(yours - right) <= 1e-5f) return;
    const std::string is = ladder::is_never_written(yours) ? "never written"
                           : ladder::is_of_never_written(yours)
                               ? "made of what was never written"
                               : ladder::yours_and_right(yours, right);
    ADD_FAILURE() << "WRONG RESULT in " << place << ": " << is;
  };
  for (std::size_t n = 0; n < o.size(); ++n) {
    const std::string step = std::to_string(first + n / kSize);
    expect_near("o of step " + step + ", column " + std::to_string(n % kSize), o[n],
                kO[first * kSize + n]);
  }
  for (std::size_t n = 0; wants_state && n < state.size(); ++n) {
    expect_near("the last state, row " + std::to_string(n / kSize) + ", column " +
                    std::to_string(n % kSize),
                state[n], kStates[end][n]);
  }
}

// u is a row for each head, the same for all batches. Past its H K numbers the values are nearly 0,
// and AddressSanitizer rejects reading them.
void expect_one_u_for_all_batches() {
  constexpr int kB = 2, kH = 3;
  const Rows ones(kB * kH * kSize, 1.0f), log_w(kH * kSize, 0.0f);
  const ladder::GuardedArray u(ladder::device(ladder::DeviceKind::kCpu), "u",
                               Rows(kH * kSize, 1.0f), ladder::GuardedArray::Role::kInput);
  Rows o(kB * kH * kSize);
  ladder::WkvArgs args{.B = kB, .T = 1, .H = kH, .K = kSize, .V = kSize};
  args.q = args.k = args.v = ones.data();
  args.log_w = log_w.data();
  args.u = static_cast<const float*>(u.pointer());
  args.o = o.data();
  ladder::launch<ladder::Wkv>(ladder::find_implementation("wkv_naive"), args);
  // Each output is the bonus alone, the sum of K ones.
  if (std::any_of(o.begin(), o.end(), [](float x) { return std::abs(x) < 1e-6f; }))
    ADD_FAILURE() << "WRONG RESULT: u is read behind its end. It has H K numbers, K for each head; "
                     "all batches read the same ones";
}

void expect_right(const WkvCase& c) {
  ladder::testing::expect_right(ladder::find_implementation("wkv_naive"), ladder::make_problem(c));
}

// Without a step the state is only handed on.
TEST(wkv_naive, Hole1BeginsWithTheState) {
  expect_the_example(1, 1);
  if (HasFailure()) return;
  expect_right(
      {.B = 2, .T = 0, .H = 3, .K = 4, .V = 5, .initial_state = true, .final_state = true});
  expect_right({.B = 2, .T = 0, .H = 3, .K = 4, .V = 5, .final_state = true});
}

// The output of a single step needs no decay and no update.
TEST(wkv_naive, Hole2ReadsTheState) {
  expect_the_example(1, 2, /*wants_state=*/false);
  if (HasFailure()) return;
  expect_one_u_for_all_batches();
  if (HasFailure()) return;
  expect_right({.B = 2, .T = 1, .H = 3, .K = 4, .V = 5, .initial_state = true});
}

TEST(wkv_naive, Hole3ComputesTheWorkedExample) {
  expect_the_example(0, 3);
  // A longer case gives a wrong result its name, for which three steps are too few.
  if (HasFailure()) expect_right({.B = 1, .T = 9, .H = 2, .K = 4, .V = 5});
}

// However the sequence is cut, the state that is handed over makes up for it.
TEST(wkv_naive, ComputesTheWorkedExampleInTwoParts) {
  expect_the_example(0, 2);
  expect_the_example(2, 3);
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_naive", {.refuses = {"packed sequences"}});

}  // namespace
