#include "common/operators/yardstick.hpp"

#include <algorithm>
#include <cmath>

#include "common/operators/operands.hpp"
#include "common/operators/threads.hpp"

namespace ladder::reference {
namespace {

template <typename Operands>
std::vector<float> plain(const LinearAttentionProblem& problem) {
  const LinearAttentionArgs a = problem.args();
  const auto phi = [&](float x) {
    if (a.feature_map == FeatureMap::kIdentity) return Operands::operand(x);
    return Operands::operand(x > 0 ? x + 1 : std::exp(x));
  };
  std::vector<float> out(a.B * a.T_q * a.H * a.V);
#pragma omp parallel for if (worth_threads(linear_attention_fma_count(a)))
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
            state[j * a.V + i] += k * Operands::operand(a.v[token * a.V + i]);
        }
      }
      const std::int64_t token = (b * a.T_q + l) * a.H + h;
      float* o = out.data() + token * a.V;
      float normaliser = 0;
      for (std::int64_t j = 0; j < a.K; ++j) {
        const float q = phi(a.q[token * a.K + j]);
        normaliser += q * Operands::operand(key_sum[j]);
        for (std::int64_t i = 0; i < a.V; ++i)
          o[i] += q * Operands::operand(state[j * a.V + i]);
      }
      for (std::int64_t i = 0; a.normalize && i < a.V; ++i)
        o[i] /= normaliser + a.eps;
    }
  }
  if (problem.attention_case.precision != Precision::kFp32) store_in_bf16(out);
  return out;
}

}  // namespace

std::vector<float> linear_attention_plain(const LinearAttentionProblem& problem,
                                          Arithmetic arithmetic) {
  return with_operands(arithmetic, [&]<typename Operands>() { return plain<Operands>(problem); });
}

}  // namespace ladder::reference
