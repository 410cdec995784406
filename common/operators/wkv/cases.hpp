// Cases of WKV, GLA and their gradients. A case is a shape with options, and its inputs are drawn
// from a seed, so they are the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/precision.hpp"
#include "common/judge/design.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder {

struct WkvSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1);
  }
};

// How fast the state forgets.
enum class Decay {
  kNone,         // log_w = 0
  kMild,         // a decay of exp(-exp(raw)) with raw about -4 to -1, as in RWKV
  kStrong,       // log_w about -16 to -1
  kTotal,        // log_w = -inf, so every step forgets everything
  kStrongToken,  // mild, with one token of log_w = -inf in the middle
  kFixed,        // WkvCase::fixed_log_w everywhere
};

inline constexpr const char* kDecayWords[] = {"none",  "mild",         "strong",
                                              "total", "strong_token", "fixed"};

struct WkvCase {
  Recurrence recurrence = Recurrence::kWkv;
  std::int64_t B = 1, T = 1, H = 1, K = 64, V = 64;
  std::vector<std::int64_t> lengths = {};  // packed sequences, with B = 1 and the sum as T
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
  static void fields(Self& s, const Visit& visit) {
    visit("recurrence", s.recurrence), visit("B", s.B), visit("T", s.T), visit("H", s.H);
    visit("K", s.K), visit("V", s.V);
  }
  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("lengths", s.lengths), visit("decay", s.decay, kDecayWords);
    visit("fixed_log_w", s.fixed_log_w, -kLargestMagnitude, 0),
        visit("decay_per_head", s.decay_per_head);
    visit("initial_state", s.initial_state), visit("final_state", s.final_state);
    visit("reverse", s.reverse), visit("scale", s.scale),
        visit("magnitude", s.magnitude, 0, kLargestMagnitude);
    visit("seed", s.seed);
  }

  // Each sequence has its own state.
  std::int64_t sequences() const {
    return lengths.empty() ? B : static_cast<std::int64_t>(lengths.size());
  }
};

// "B2_T37_H3_K64_V100_mild_reverse", "gla_B1_T22_H3_K64_V64_packed_5_0_17_mild"
std::string name_of(const WkvCase& c);

// The case with these packed sequences instead of batches.
WkvCase packed(WkvCase c, std::vector<std::int64_t> lengths);

template <typename Number>
struct BasicWkvOutputs {
  std::vector<Number> o;            // (B, T, H, V)
  std::vector<Number> final_state;  // (sequences, H, K, V), or empty

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("o", s.o), visit("final_state", s.final_state);
  }
};

using WkvOutputs = BasicWkvOutputs<float>;

// The gradients of sum(o * d_o) + sum(final_state * d_final_state).
template <typename Number>
struct BasicWkvGradients {
  std::vector<Number> dq, dk, dv;       // (B, T, H, K), (B, T, H, K), (B, T, H, V)
  std::vector<Number> d_log_w;          // (B, T, H, K) or (H, K)
  std::vector<Number> du;               // (H, K); empty for GLA
  std::vector<Number> d_initial_state;  // (sequences, H, K, V), or empty

  bool operator==(const BasicWkvGradients&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("dq", s.dq), visit("dk", s.dk), visit("dv", s.dv), visit("d_log_w", s.d_log_w);
    visit("du", s.du), visit("d_initial_state", s.d_initial_state);
  }
};

using WkvGradients = BasicWkvGradients<float>;

// The case selects WKV or GLA.
struct WkvInputs {
  using Op = Wkv;
  using Case = WkvCase;
  using Host = WkvArgs;
  static const Operator& of(const WkvCase& c);
};

// The forward inputs and gradients of the outputs. d_initial_state exists if initial_state does.
struct WkvGradInputs {
  using Op = WkvBackward;
  using Case = WkvCase;
  using Host = WkvGradArgs;
  static const Operator& of(const WkvCase& c);
};

using WkvProblem = ProblemOf<WkvInputs>;
using WkvGradProblem = ProblemOf<WkvGradInputs>;

// Forward arguments without pointers, and whether the case has `array` in either pass.
WkvArgs sizes_of(const WkvCase& c);
bool has_array(const WkvCase& c, const std::string& array);

void draw_wkv(Problem& problem);
void draw_wkv_gradients(Problem& problem);

WkvProblem make_problem(const WkvCase& c);
WkvGradProblem make_grad_problem(const WkvCase& c);

// Factors and cases of the tests. A Support names sizes T, K and V. It may refuse "states",
// "reverse", "packed sequences" and "K != V", and limit K, V, T and "B * H".
std::vector<std::int64_t> wkv_key_rows(const Support& support);
WkvCase ragged_wkv_case(const Support& support, Recurrence recurrence);
Design<WkvCase> wkv_design(const Support& support);
// A case on which no two mistakes give the same result, with the smallest sizes from 32 on.
WkvCase plain_wkv_case(const Support& support, Recurrence recurrence = Recurrence::kWkv);

// GLA has no bonus.
inline bool is_gla(const WkvArgs& args) {
  return args.u == nullptr;
}

// The range of a sequence in the B * T steps.
struct WkvSequence {
  std::int64_t first, length;
};

inline std::int64_t sequence_count(const WkvArgs& args) {
  return args.cu_seqlens == nullptr ? args.B : args.sequences;
}
inline WkvSequence sequence(const WkvArgs& args, std::int64_t n) {
  if (args.cu_seqlens == nullptr) return {n * args.T, args.T};
  return {args.cu_seqlens[n], args.cu_seqlens[n + 1] - args.cu_seqlens[n]};
}

// Zeros in the sizes of all gradients.
template <typename Number>
BasicWkvGradients<Number> zero_gradients(const WkvArgs& a) {
  const auto zeros = [](std::int64_t count) { return std::vector<Number>(count); };
  const std::int64_t steps = a.B * a.T * a.H, states = sequence_count(a) * a.H * a.K * a.V;
  return {zeros(steps * a.K),
          zeros(steps * a.K),
          zeros(steps * a.V),
          zeros((a.log_w_stride_T == 0 ? a.H : steps) * a.K),
          zeros(is_gla(a) ? 0 : a.H * a.K),
          zeros(a.initial_state == nullptr ? 0 : states)};
}

}  // namespace ladder
