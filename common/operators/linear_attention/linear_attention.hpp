// Linear attention. A feature map replaces softmax, and the sum over keys becomes a K x V state.
//
// With the feature map phi and n(b, l) keys visible to query l:
//
//     num_l = sum_{s < n} (phi(q_l) . phi(k_s)) v_s        den_l = sum_{s < n} phi(q_l) . phi(k_s)
//     o_l   = num_l / (den_l + eps)     if normalize       o_l   = num_l     otherwise
//
// n = min(T_k, key_lengths[b]), and in the causal form also at most l + 1. If T_q and T_k differ,
// keys are thus cut to T_q or padded with keys that contribute nothing.
// Source: Katharopoulos et al., "Transformers are RNNs" (2020), whose `causal_dot_product` is the
// causal form with the identity as feature map and normalize = false.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"

namespace ladder {

struct LinearAttention;  // defined in common/operators/linear_attention/operator.hpp

enum class FeatureMap {
  kIdentity,
  kEluPlusOne,  // x > 0: x + 1, else exp(x)
};

template <typename Element>
inline constexpr const char* kLinearAttentionStorage = "fp32";
template <>
inline constexpr const char* kLinearAttentionStorage<bfloat16> = "bf16";
template <>
inline constexpr const char* kLinearAttentionStorage<float16> = "fp16";

// Contiguous row-major arrays. q, k, v and o are stored as `Element`, while arithmetic is fp32.
template <typename Element>
struct BasicLinearAttentionArgs {
  std::int64_t B = 0;    // batch, 0 or more
  std::int64_t T_q = 0;  // queries, 0 or more
  std::int64_t T_k = 0;  // keys, 0 or more
  std::int64_t H = 0;    // heads, 1 or more
  std::int64_t K = 0;    // query and key channels per head, 1 or more
  std::int64_t V = 0;    // value channels per head, 1 or more

  const Element* q = nullptr;                 // (B, T_q, H, K)
  const Element* k = nullptr;                 // (B, T_k, H, K)
  const Element* v = nullptr;                 // (B, T_k, H, V)
  const std::int64_t* key_lengths = nullptr;  // (B), each 0 to T_k, or null for T_k
  Element* o = nullptr;                       // (B, T_q, H, V)

  bool causal = true;
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  bool normalize = true;
  float eps = 1e-6f;

  static constexpr const char* kStorage = kLinearAttentionStorage<Element>;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T_q", s.T_q, 0), visit("T_k", s.T_k, 0), visit("H", s.H, 1);
    visit("K", s.K, 1), visit("V", s.V, 1), visit("causal", s.causal);
    visit("feature_map", s.feature_map), visit("normalize", s.normalize), visit("eps", s.eps);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    // Without queries k and v are not read.
    const Presence keys = s.B == 0 || s.T_q == 0 ? Presence::kOptional : Presence::kRequired;
    visit("q", s.q, {{"b", s.B}, {"t", s.T_q}, {"h", s.H}, {"j", s.K}});
    visit("k", s.k, {{"b", s.B}, {"t", s.T_k}, {"h", s.H}, {"j", s.K}}, keys);
    visit("v", s.v, {{"b", s.B}, {"t", s.T_k}, {"h", s.H}, {"i", s.V}}, keys);
    visit("key_lengths", s.key_lengths, {{"b", s.B}}, Presence::kOptional);
    visit("o", s.o, {{"b", s.B}, {"t", s.T_q}, {"h", s.H}, {"i", s.V}});
  }
};

using LinearAttentionArgs = BasicLinearAttentionArgs<float>;
using LinearAttentionBf16Args = BasicLinearAttentionArgs<bfloat16>;
using LinearAttentionFp16Args = BasicLinearAttentionArgs<float16>;

// Rejects unsupported sizes and pointers with a std::invalid_argument that names the argument.
template <typename Element>
void validate(const BasicLinearAttentionArgs<Element>& args);

// Per state element one FMA for each key (S += k v) and one for each query (o += q S).
template <typename Element>
double linear_attention_fma_count(const BasicLinearAttentionArgs<Element>& args);

}  // namespace ladder
