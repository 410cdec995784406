// Lengths are in device memory, where a launcher cannot reject bad ones, so kernels clamp them.
// Outputs are then wrong for the bad lengths, but nothing outside the arrays is read or written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::arithmetic_of;
using ladder::device;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::Precision;
using ladder::Recurrence;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::is_right;
using Lengths = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// A packed problem with cu_seqlens of our own on the device.
ladder::WkvOutputs run_with(const Implementation& implementation, const WkvProblem& problem,
                            const Lengths& cu_seqlens) {
  WkvProblem bad = problem;
  bad.array<std::int64_t>("cu_seqlens") = cu_seqlens;
  ladder::WkvOutputs outputs = run(implementation, bad);  // checks the guard zones
  return outputs;
}

// Each case has bad lengths, and the good ones to which they are clamped.
KERNEL_TEST(wkv_chunkwise, ClampsBadSequenceLengths) {
  for (const char* name : {"wkv_chunkwise_fused", "wkv_chunkwise_time_parallel"}) {
    const Implementation implementation = find_implementation(name);
    for (const bool reverse : {false, true}) {
      WkvCase c{.H = 2, .K = 20, .V = 10, .precision = Precision::kBf16};
      c.initial_state = c.final_state = true;
      c.reverse = reverse;
      c = packed(c, {70, 10, 50});
      const WkvProblem problem = make_problem(c);
      const std::int64_t T = c.T;
      const auto same = [&](const Lengths& bad, const Lengths& good) {
        SCOPED_TRACE(std::string(name) + (reverse ? " in reverse: " : ": ") +
                     ::testing::PrintToString(bad));
        const ladder::WkvOutputs expected = run_with(implementation, problem, good);
        const ladder::WkvOutputs outputs = run_with(implementation, problem, bad);
        EXPECT_EQ(outputs.o, expected.o);
        EXPECT_EQ(outputs.final_state, expected.final_state);
      };
      same({0, 70, 80, 1000}, {0, 70, 80, T});
      same({0, 70, 80, kHuge}, {0, 70, 80, T});
      same({-5, 70, 80, T}, {0, 70, 80, T});
      same({-kHuge, 70, 80, T}, {0, 70, 80, T});
      same({0, 70, T + 3, kHuge}, {0, 70, T, T});
      // Between 70 and 40 there is no step. The third sequence then contains steps twice, which is
      // not checked.
      const ladder::WkvOutputs crossed = run_with(implementation, problem, {0, 70, 40, T});
      const auto state_size = static_cast<std::ptrdiff_t>(c.H * c.K * c.V);
      EXPECT_TRUE(std::equal(problem["initial_state"].begin() + state_size,
                             problem["initial_state"].begin() + 2 * state_size,
                             crossed.final_state.begin() + state_size))
          << "a sequence without steps does not hand on its initial state";
      EXPECT_TRUE(std::none_of(crossed.o.begin(), crossed.o.end(), [](float x) {
        return std::isnan(x);
      })) << "a step of o was not written";
    }
  }
}

// Key lengths below 0 are 0, and above T_k they are T_k. With two batches, the elements after the
// first one's keys are not NaN but the second one's keys.
KERNEL_TEST(linear_attention_chunkwise, ClampsBadKeyLengths) {
  for (const char* name : {"linear_attention_chunkwise", "linear_attention_chunk_walk",
                           "linear_attention_chunk_states"}) {
    const Implementation implementation = find_implementation(name);
    for (const bool causal : {true, false}) {
      ladder::LinearAttentionCase c{.B = 2, .T_q = 37, .T_k = 21, .H = 2, .K = 20, .V = 10};
      c.causal = causal;
      c.key_lengths = true;
      ladder::LinearAttentionProblem problem = make_problem(c);
      const auto outputs_with = [&](const Lengths& key_lengths) {
        problem.array<std::int64_t>("key_lengths") = key_lengths;
        return run(implementation, problem);
      };
      SCOPED_TRACE(std::string(name) + (causal ? ", causal" : ""));
      EXPECT_EQ(outputs_with({22, -1}), outputs_with({21, 0}));
      EXPECT_EQ(outputs_with({kHuge, -kHuge}), outputs_with({21, 0}));
    }
  }
}

}  // namespace
