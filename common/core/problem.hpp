// Problems: a shape with options, and inputs drawn for it. The same case gives the same inputs on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/linear_attention.hpp"
#include "common/core/tensor.hpp"
#include "common/core/wkv.hpp"

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

// What tensors are stored as. Arithmetic and states are fp32.
enum class Precision {
  kFp32,
  kBf16,           // q, k, v, log_w, u, o, and their gradients but du
  kBf16Fp32Decay,  // the same; log_w and its gradient in fp32
};

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

  // Everything but the pointers.
  template <typename Element, typename LogW>
  BasicWkvArgs<Element, LogW> sizes() const {
    const WkvCase& c = wkv_case;
    BasicWkvArgs<Element, LogW> args;
    args.B = c.B;
    args.T = c.T;
    args.H = c.H;
    args.K = c.K;
    args.V = c.V;
    args.log_w_stride_B = c.decay_per_head ? 0 : c.T * c.H * c.K;
    args.log_w_stride_T = c.decay_per_head ? 0 : c.H * c.K;
    args.scale = c.scale;
    args.reverse = c.reverse;
    args.sequences = static_cast<std::int64_t>(c.lengths.size());
    return args;
  }
  // Arguments that point at these host arrays; the outputs are for the caller to set.
  WkvArgs args() const;
};

WkvProblem make_problem(const WkvCase& c);

// The gradients of sum(o * d_o) + sum(final_state * d_final_state).
struct WkvGradProblem {
  WkvProblem forward;
  Tensor<float> d_o;            // (B, T, H, V)
  Tensor<float> d_final_state;  // (sequences, H, K, V); empty where the case has no final state
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
};

using WkvGradients = BasicWkvGradients<float>;

struct LinearAttentionCase {
  std::int64_t B = 1, T_q = 1, T_k = 1, H = 1, K = 64, V = 64;
  bool causal = true;
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  bool normalize = true;
  bool key_lengths = false;  // drawn from 0..T_k, the first one 0 where B > 1
  float magnitude = 1.0f;
  Precision precision = Precision::kFp32;  // or kBf16
  std::uint32_t seed = 1;
};

std::string name_of(const LinearAttentionCase& c);

struct LinearAttentionProblem {
  LinearAttentionCase attention_case;
  Tensor<float> q, k, v;
  Tensor<std::int64_t> key_lengths;  // empty: none

  // Everything but the pointers.
  template <typename Element>
  BasicLinearAttentionArgs<Element> sizes() const {
    const LinearAttentionCase& c = attention_case;
    BasicLinearAttentionArgs<Element> args;
    args.B = c.B;
    args.T_q = c.T_q;
    args.T_k = c.T_k;
    args.H = c.H;
    args.K = c.K;
    args.V = c.V;
    args.causal = c.causal;
    args.feature_map = c.feature_map;
    args.normalize = c.normalize;
    return args;
  }
  // Arguments that point at these host arrays; the output is for the caller to set.
  LinearAttentionArgs args() const;
};

LinearAttentionProblem make_problem(const LinearAttentionCase& c);

}  // namespace ladder
