// Problems: a shape with options, and inputs drawn for it. The same case gives the same inputs on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/attention.hpp"
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
  kFp16,           // softmax attention only
};

// x as a tensor of this precision holds it: rounded to the nearest such number.
float rounded(float x, Precision precision);

// std::invalid_argument; for the operators that are not softmax attention.
void refuse_fp16(Precision precision);

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
  float eps = 1e-6f;
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
    args.eps = c.eps;
    return args;
  }
  // Arguments that point at these host arrays; the output is for the caller to set.
  LinearAttentionArgs args() const;
};

LinearAttentionProblem make_problem(const LinearAttentionCase& c);

struct AttentionCase {
  struct Lengths {
    std::int64_t queries, keys;
  };

  std::int64_t B = 1, T_q = 1, T_k = 1, H_q = 1, H_kv = 1, D = 64;
  std::vector<Lengths> lengths = {};  // of packed sequences; then B = 1, T_q and T_k are their sums
  bool causal = false;
  bool key_lengths = false;  // drawn from 0..T_k, the first one 0 where B > 1
  float scale = 0.0f;        // 0: default_attention_scale(D)
  float magnitude = 1.0f;    // of q and k. At 1 and the default scale q . k is about 1, at 100 1e4
  Precision precision = Precision::kFp32;  // or kBf16, kFp16
  std::uint32_t seed = 1;

  // Each has keys of its own.
  std::int64_t sequences() const {
    return lengths.empty() ? B : static_cast<std::int64_t>(lengths.size());
  }
};

// "B2_Tq37_Tk50_Hq6_Hkv2_D64_causal_bf16", "B1_Tq22_Tk9_Hq2_Hkv2_D64_packed_5x0_17x9_full"
std::string name_of(const AttentionCase& c);

// The case with these packed sequences in the place of its batches.
AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths);

struct AttentionProblem {
  AttentionCase attention_case;
  Tensor<float> q, k, v;
  Tensor<std::int64_t> key_lengths;                 // empty: none
  Tensor<std::int64_t> cu_seqlens_q, cu_seqlens_k;  // empty: each batch is one sequence

  // A sequence is this part of the B * T_q queries and of the B * T_k keys.
  struct Sequence {
    std::int64_t first_query, queries, first_key, keys;
  };
  Sequence sequence(std::int64_t n) const;
  // Its query l, counted from its first, sees so many of its first keys.
  std::int64_t keys_seen(const Sequence& sequence, std::int64_t l) const;
  // Where the lse of query `row` of the B * T_q and of query head h is.
  std::int64_t lse_index(std::int64_t row, std::int64_t h) const;

  // Everything but the pointers.
  template <typename Element>
  BasicAttentionArgs<Element> sizes() const {
    const AttentionCase& c = attention_case;
    BasicAttentionArgs<Element> args;
    args.B = c.B;
    args.T_q = c.T_q;
    args.T_k = c.T_k;
    args.H_q = c.H_q;
    args.H_kv = c.H_kv;
    args.D = c.D;
    args.sequences = static_cast<std::int64_t>(c.lengths.size());
    args.causal = c.causal;
    args.scale = c.scale == 0.0f ? default_attention_scale(c.D) : c.scale;
    return args;
  }
  // Arguments that point at these host arrays; the outputs are for the caller to set.
  AttentionArgs args() const;
};

AttentionProblem make_problem(const AttentionCase& c);

// The gradients of sum(o * d_o).
struct AttentionGradProblem {
  AttentionProblem forward;
  Tensor<float> o;    // (B, T_q, H_q, D), what the forward pass gave
  Tensor<float> lse;  // (B, H_q, T_q), likewise
  Tensor<float> d_o;  // (B, T_q, H_q, D)
};

// With d_o drawn. The forward pass's outputs come from whoever can compute them (reference::make_attention_grad_problem does); o is
// rounded to what the case stores.
AttentionGradProblem make_grad_problem(AttentionProblem forward, std::vector<float> o,
                                       std::vector<float> lse);

template <typename Number>
struct BasicAttentionGradients {
  std::vector<Number> dq;      // (B, T_q, H_q, D)
  std::vector<Number> dk, dv;  // (B, T_k, H_kv, D)

  bool operator==(const BasicAttentionGradients&) const = default;
};

using AttentionGradients = BasicAttentionGradients<float>;

}  // namespace ladder
