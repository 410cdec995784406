// Problems of linear attention: a shape with options, and inputs drawn for it. The same case gives the same inputs on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/tensor.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/precision.hpp"

namespace ladder {

inline constexpr const char* kFeatureMapWords[] = {"identity", "elu_plus_one"};

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

  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("causal", s.causal), visit("feature_map", s.feature_map, kFeatureMapWords);
    visit("normalize", s.normalize), visit("eps", s.eps), visit("key_lengths", s.key_lengths);
    visit("magnitude", s.magnitude), visit("seed", s.seed);
  }
};

std::string name_of(const LinearAttentionCase& c);

struct LinearAttentionProblem {
  LinearAttentionCase attention_case;
  Tensor<float> q, k, v;
  Tensor<std::int64_t> key_lengths;  // empty: none

  // Arguments that point at these host arrays; the output is for the caller to set.
  LinearAttentionArgs args() const;
};

LinearAttentionProblem make_problem(const LinearAttentionCase& c);

// Everything but the pointers.
LinearAttentionArgs sizes_of(const LinearAttentionCase& c);

}  // namespace ladder
