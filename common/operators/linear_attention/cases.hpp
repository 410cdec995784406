// Cases of linear attention. A case is a shape with options, and its inputs are drawn from a seed,
// so they are the same on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/precision.hpp"
#include "common/judge/design.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace ladder {

inline constexpr const char* kFeatureMapWords[] = {"identity", "elu_plus_one"};

// Sizes under the names of --shape.
struct LinearAttentionSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64;
  std::int64_t T_q = 0;  // 0: T, which is T_k

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("T_q", s.T_q, 0);
  }
};

struct LinearAttentionCase {
  std::int64_t B = 1, T_q = 1, T_k = 1, H = 1, K = 64, V = 64;
  bool causal = true;
  FeatureMap feature_map = FeatureMap::kEluPlusOne;
  bool normalize = true;
  float eps = 1e-6f;
  bool key_lengths = false;  // drawn from 0 to T_k, but the first is 0 if B > 1
  float magnitude = 1.0f;
  Precision precision = Precision::kFp32;  // or kBf16, kFp16
  std::uint32_t seed = 1;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B), visit("T_q", s.T_q), visit("T_k", s.T_k), visit("H", s.H);
    visit("K", s.K), visit("V", s.V);
  }
  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("causal", s.causal), visit("feature_map", s.feature_map, kFeatureMapWords);
    visit("normalize", s.normalize), visit("eps", s.eps, 0), visit("key_lengths", s.key_lengths);
    visit("magnitude", s.magnitude, 0, kLargestMagnitude), visit("seed", s.seed);
  }
};

// "B2_Tq37_Tk37_H3_K64_V100_causal_elu_normalized"
std::string name_of(const LinearAttentionCase& c);

// Arguments of the case, without pointers.
LinearAttentionArgs sizes_of(const LinearAttentionCase& c);

struct LinearAttentionInputs {
  using Op = LinearAttention;
  using Case = LinearAttentionCase;
  using Host = LinearAttentionArgs;
  static const Operator& of(const Case& c);
};

using LinearAttentionProblem = ProblemOf<LinearAttentionInputs>;

inline LinearAttentionProblem make_problem(const LinearAttentionCase& c) {
  return LinearAttentionProblem(c);
}

// Factors and cases of the tests. A Support that refuses "all but the causal product" allows only
// the causal form with the identity as feature map, no normaliser, T_q = T_k and no key lengths.
// Sizes are T (of queries and of keys), K and V. A Support may limit B, H, K and V.
inline constexpr const char* kAllButTheCausalProduct = "all but the causal product";

Design<LinearAttentionCase> linear_attention_design(const Support& support);
std::vector<std::int64_t> linear_attention_key_rows(const Support& support);
LinearAttentionCase ragged_linear_attention_case(const Support& support);
// A case on which no two mistakes give the same result.
LinearAttentionCase plain_linear_attention_case(const Support& support);

}  // namespace ladder
