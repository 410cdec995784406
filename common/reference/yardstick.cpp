#include "common/reference/yardstick.hpp"

#include <algorithm>
#include <cmath>

namespace ladder::reference {

WkvOutputs wkv_plain_fp32(const WkvProblem& problem) {
  const WkvArgs a = problem.args();
  WkvOutputs out;
  out.o.resize(a.B * a.T * a.H * a.V);
  out.final_state.resize(a.B * a.H * a.K * a.V, 0.0f);
  if (!problem.initial_state.empty()) out.final_state = problem.initial_state.data;
#pragma omp parallel for
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh) {
    const std::int64_t b = bh / a.H, h = bh % a.H;
    float* state = out.final_state.data() + bh * a.K * a.V;
    for (std::int64_t n = 0; n < a.T; ++n) {
      const std::int64_t t = a.reverse ? a.T - 1 - n : n;
      const std::int64_t token = (b * a.T + t) * a.H + h;
      const float* log_w = a.log_w + b * a.log_w_stride_B + t * a.log_w_stride_T + h * a.K;
      float* o = out.o.data() + token * a.V;
      for (std::int64_t j = 0; j < a.K; ++j) {
        const float q = a.q[token * a.K + j], k = a.k[token * a.K + j];
        const float u = a.u[h * a.K + j], w = std::exp(log_w[j]);
        for (std::int64_t i = 0; i < a.V; ++i) {
          const float kv = k * a.v[token * a.V + i];
          float& s = state[j * a.V + i];
          o[i] += q * (s + u * kv);
          s = w * s + kv;
        }
      }
      for (std::int64_t i = 0; i < a.V; ++i)
        o[i] *= a.scale;
    }
  }
  if (problem.wkv_case.precision != Precision::kFp32) {
    for (float& element : out.o)
      element = to_float(to_bfloat16(element));
  }
  return out;
}

std::vector<float> linear_attention_plain_fp32(const LinearAttentionProblem& problem) {
  const LinearAttentionArgs a = problem.args();
  const auto phi = [&](float x) {
    if (a.feature_map == FeatureMap::kIdentity) return x;
    return x > 0 ? x + 1 : std::exp(x);
  };
  std::vector<float> out(a.B * a.T_q * a.H * a.V);
#pragma omp parallel for
  for (std::int64_t bh = 0; bh < a.B * a.H; ++bh) {
    const std::int64_t b = bh / a.H, h = bh % a.H;
    const std::int64_t key_count = a.key_lengths ? a.key_lengths[b] : a.T_k;
    std::vector<float> state(a.K * a.V), key_sum(a.K);
    std::int64_t s = 0;
    for (std::int64_t l = 0; l < a.T_q; ++l) {
      for (; s < (a.causal ? std::min(l + 1, key_count) : key_count); ++s) {
        const std::int64_t token = (b * a.T_k + s) * a.H + h;
        for (std::int64_t j = 0; j < a.K; ++j) {
          const float k = phi(a.k[token * a.K + j]);
          key_sum[j] += k;
          for (std::int64_t i = 0; i < a.V; ++i)
            state[j * a.V + i] += k * a.v[token * a.V + i];
        }
      }
      const std::int64_t token = (b * a.T_q + l) * a.H + h;
      float* o = out.data() + token * a.V;
      float normaliser = 0;
      for (std::int64_t j = 0; j < a.K; ++j) {
        const float q = phi(a.q[token * a.K + j]);
        normaliser += q * key_sum[j];
        for (std::int64_t i = 0; i < a.V; ++i)
          o[i] += q * state[j * a.V + i];
      }
      for (std::int64_t i = 0; a.normalize && i < a.V; ++i)
        o[i] /= normaliser + a.eps;
    }
  }
  return out;
}

}  // namespace ladder::reference
