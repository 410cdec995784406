// Problems of WKV and GLA and of their gradients: a shape with options, and inputs drawn for it. The same case gives the same inputs
// on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/tensor.hpp"
#include "common/operators/precision.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder {

// How fast the state forgets.
enum class Decay {
  kNone,         // log_w = 0
  kMild,         // exp(-exp(raw)), raw about -4..-1: RWKV's own range
  kStrong,       // log_w about -16..-1
  kTotal,        // log_w = -inf: every step forgets everything
  kStrongToken,  // mild, with one token of log_w = -inf in the middle
  kFixed,        // WkvCase::fixed_log_w everywhere
};

inline constexpr const char* kDecayWords[] = {"none",  "mild",         "strong",
                                              "total", "strong_token", "fixed"};

struct WkvCase {
  Recurrence recurrence = Recurrence::kWkv;
  std::int64_t B = 1, T = 1, H = 1, K = 64, V = 64;
  std::vector<std::int64_t> lengths = {};  // of packed sequences; then B = 1, T is their sum
  Decay decay = Decay::kMild;
  float fixed_log_w = 0.0f;     // for Decay::kFixed
  bool decay_per_head = false;  // RWKV-5: log_w is (H, K)
  bool initial_state = false;
  bool final_state = false;
  bool reverse = false;
  float scale = 1.0f;
  float magnitude = 1.0f;  // of q, k, v, u and the initial state
  Precision precision = Precision::kFp32;
  std::uint32_t seed = 1;

  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("lengths", s.lengths), visit("decay", s.decay, kDecayWords);
    visit("fixed_log_w", s.fixed_log_w), visit("decay_per_head", s.decay_per_head);
    visit("initial_state", s.initial_state), visit("final_state", s.final_state);
    visit("reverse", s.reverse), visit("scale", s.scale), visit("magnitude", s.magnitude);
    visit("seed", s.seed);
  }

  // Each has a state of its own.
  std::int64_t sequences() const {
    return lengths.empty() ? B : static_cast<std::int64_t>(lengths.size());
  }
};

// "B2_T37_H3_K64_V100_mild_reverse", "gla_B1_T22_H3_K64_V64_packed_5_0_17_mild"
std::string name_of(const WkvCase& c);

// The case with these packed sequences in the place of its batches.
WkvCase packed(WkvCase c, std::vector<std::int64_t> lengths);

// Tensors are float on the host; where they are stored in bf16, they hold only values that bf16 has.
struct WkvProblem {
  WkvCase wkv_case;
  Tensor<float> q, k, v, log_w, u, initial_state;  // u is empty for GLA
  Tensor<std::int64_t> cu_seqlens;                 // empty: each batch is one sequence

  // A sequence is this part of the B * T steps.
  struct Sequence {
    std::int64_t first, length;
  };
  Sequence sequence(std::int64_t n) const;

  // Arguments that point at these host arrays; the outputs are for the caller to set.
  WkvArgs args() const;
};

WkvProblem make_problem(const WkvCase& c);

// Everything but the pointers.
WkvArgs sizes_of(const WkvCase& c);

struct WkvOutputs {
  std::vector<float> o;            // (B, T, H, V)
  std::vector<float> final_state;  // (sequences, H, K, V); empty where the case does not ask for it

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("o", s.o), visit("final_state", s.final_state);
  }
};

// The gradients of sum(o * d_o) + sum(final_state * d_final_state).
struct WkvGradProblem {
  WkvProblem forward;
  Tensor<float> d_o;            // (B, T, H, V)
  Tensor<float> d_final_state;  // (sequences, H, K, V); empty where the case has no final state

  WkvGradArgs args() const;  // likewise
};

// Wants d_initial_state where the case has an initial state.
WkvGradProblem make_grad_problem(const WkvCase& c);

template <typename Number>
struct BasicWkvGradients {
  std::vector<Number> dq, dk, dv;       // (B, T, H, K), (B, T, H, K), (B, T, H, V)
  std::vector<Number> d_log_w;          // (B, T, H, K) or (H, K)
  std::vector<Number> du;               // (H, K); empty for GLA
  std::vector<Number> d_initial_state;  // (sequences, H, K, V); empty where it is not wanted

  bool operator==(const BasicWkvGradients&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("dq", s.dq), visit("dk", s.dk), visit("dv", s.dv), visit("d_log_w", s.d_log_w);
    visit("du", s.du), visit("d_initial_state", s.d_initial_state);
  }
};

using WkvGradients = BasicWkvGradients<float>;

}  // namespace ladder
