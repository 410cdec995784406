#include "common/operators/misconceptions.hpp"

#include <algorithm>
#include <cmath>

#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/linear_attention/variants.hpp"

namespace ladder::reference {
namespace {

std::vector<double> with_bf16_state(const LinearAttentionProblem& problem) {
  const LinearAttentionCase& c = problem.attention_case;
  const auto phi = [&](double x) {
    return c.feature_map == FeatureMap::kIdentity ? x : x > 0 ? x + 1 : std::exp(x);
  };
  std::vector<double> o(c.B * c.T_q * c.H * c.V, 0.0);
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      const std::int64_t keys = problem.key_lengths.empty() ? c.T_k : problem.key_lengths.data[b];
      std::vector<double> state(c.K * c.V, 0.0), key_sum(c.K, 0.0);
      std::int64_t s = 0;
      for (std::int64_t l = 0; l < c.T_q; ++l) {
        for (; s < (c.causal ? std::min(l + 1, keys) : keys); ++s) {
          const std::int64_t token = (b * c.T_k + s) * c.H + h;
          for (std::int64_t j = 0; j < c.K; ++j) {
            const double k = phi(problem.k.data[token * c.K + j]);
            key_sum[j] += k;
            for (std::int64_t i = 0; i < c.V; ++i) {
              double& x = state[j * c.V + i];
              x = bf16(x + k * problem.v.data[token * c.V + i]);
            }
          }
        }
        const std::int64_t token = (b * c.T_q + l) * c.H + h;
        double normaliser = c.normalize ? c.eps : 1;
        for (std::int64_t j = 0; j < c.K; ++j) {
          const double q = phi(problem.q.data[token * c.K + j]);
          if (c.normalize) normaliser += q * key_sum[j];
          for (std::int64_t i = 0; i < c.V; ++i)
            o[token * c.V + i] += q * state[j * c.V + i];
        }
        for (std::int64_t i = 0; i < c.V; ++i)
          o[token * c.V + i] /= normaliser;
      }
    }
  }
  return o;
}

}  // namespace

Misconceptions<std::vector<double>> misconceptions(const LinearAttentionProblem& problem,
                                                   const std::vector<double>&,
                                                   Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.attention_case;
  Misconceptions<std::vector<double>> list;
  const auto add = [&](const std::string& what,
                       const std::function<void(LinearAttentionProblem&)>& change) {
    list.push_back({"equals the result " + what, [&problem, change] {
                      LinearAttentionProblem changed = problem;
                      change(changed);
                      return linear_attention_recurrence(changed);
                    }});
  };
  for (const auto& variant : linear_attention_variants(c)) {
    list.push_back({"equals the result " + variant.words, [&problem, change = variant.change] {
                      LinearAttentionSwitches switches;
                      change(switches);
                      return linear_attention_loop(problem, switches);
                    }});
  }
  if (c.precision == Precision::kFp32) {
    add("of operands rounded to TF32", [](auto& p) { to_tf32({&p.q, &p.k, &p.v}); });
    list.back().slight = "tf32";
  }
  if (arithmetic == Arithmetic::kFp32) {
    list.push_back({"equals the result of a state rounded to bf16 in every step",
                    [&problem] { return with_bf16_state(problem); }});
    list.back().slight = "bf16 state";
  }
  return list;
}

}  // namespace ladder::reference
