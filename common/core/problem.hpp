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
};

// What tensors are stored as. Arithmetic and states are fp32.
enum class Precision {
  kFp32,
  kBf16,           // q, k, v, log_w, u, o
  kBf16Fp32Decay,  // q, k, v, u, o; log_w in fp32
};

struct WkvCase {
  std::int64_t B = 1, T = 1, H = 1, K = 64, V = 64;
  Decay decay = Decay::kMild;
  bool decay_per_head = false;  // RWKV-5: log_w is (H, K)
  bool initial_state = false;
  bool final_state = false;
  bool reverse = false;
  float scale = 1.0f;
  float magnitude = 1.0f;  // of q, k, v, u and the initial state
  Precision precision = Precision::kFp32;
  std::uint32_t seed = 1;
};

// "B2_T37_H3_K64_V100_mild_reverse"
std::string name_of(const WkvCase& c);

// Tensors are float on the host; where they are stored in bf16, they hold only values that bf16 has.
struct WkvProblem {
  WkvCase wkv_case;
  Tensor<float> q, k, v, log_w, u, initial_state;

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
    return args;
  }
  // Arguments that point at these host arrays; the outputs are for the caller to set.
  WkvArgs args() const;
};

WkvProblem make_problem(const WkvCase& c);

struct LinearAttentionCase {
  std::int64_t B = 1, T_q = 1, T_k = 1, H = 1, K = 64, V = 64;
  bool causal = true;
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  bool normalize = true;
  bool key_lengths = false;  // drawn from 0..T_k, the first one 0 where B > 1
  float magnitude = 1.0f;
  std::uint32_t seed = 1;
};

std::string name_of(const LinearAttentionCase& c);

struct LinearAttentionProblem {
  LinearAttentionCase attention_case;
  Tensor<float> q, k, v;
  Tensor<std::int64_t> key_lengths;  // empty: none

  LinearAttentionArgs args() const;
};

LinearAttentionProblem make_problem(const LinearAttentionCase& c);

}  // namespace ladder
