// Linear attention: softmax replaced by a feature map, so that the sum over keys becomes a K x V state.
//
// With phi the feature map and n(b, l) the number of keys that query l may see:
//
//     num_l = sum_{s < n} (phi(q_l) . phi(k_s)) v_s        den_l = sum_{s < n} phi(q_l) . phi(k_s)
//     o_l   = num_l / (den_l + eps)     if normalize       o_l   = num_l     otherwise
//
// n = min(T_k, key_lengths[b]), and in the causal form also at most l + 1: where query and key lengths differ,
// keys are cut to the query's length or padded with keys that contribute nothing.
// Source: Katharopoulos et al., "Transformers are RNNs" (2020); `causal_dot_product` there is the causal form with the
// identity as feature map and normalize = false.
#pragma once

#include <cstdint>

namespace ladder {

enum class FeatureMap {
  kIdentity,
  kEluPlusOne,  // x > 0: x + 1, else exp(x)
};

// Arrays are contiguous and row-major.
struct LinearAttentionArgs {
  std::int64_t B = 0;    // batch, 0 or more
  std::int64_t T_q = 0;  // queries, 0 or more
  std::int64_t T_k = 0;  // keys, 0 or more
  std::int64_t H = 0;    // heads, 1 or more
  std::int64_t K = 0;    // query and key channels per head, 1 or more
  std::int64_t V = 0;    // value channels per head, 1 or more

  const float* q = nullptr;                   // (B, T_q, H, K)
  const float* k = nullptr;                   // (B, T_k, H, K)
  const float* v = nullptr;                   // (B, T_k, H, V)
  const std::int64_t* key_lengths = nullptr;  // (B), each in 0..T_k; null: T_k for every batch
  float* o = nullptr;                         // (B, T_q, H, V)

  bool causal = true;
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  bool normalize = true;
  float eps = 1e-6f;
};

// Refuses sizes and pointers that no implementation can take (std::invalid_argument that names the argument).
void validate(const LinearAttentionArgs& args);

// Two fused multiply-adds per state element and key or query: S += k v, o += q S.
double linear_attention_fma_count(const LinearAttentionArgs& args);
// Bytes when every tensor moves once.
double linear_attention_bytes(const LinearAttentionArgs& args);

}  // namespace ladder
