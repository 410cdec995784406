// Linear attention as an operator, and its causal form without feature map and normaliser under a name of its own.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "common/core/on_device.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/sequences.hpp"

namespace ladder {

struct LinearAttentionSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64;
  std::int64_t T_q = 0;  // 0: T, which counts the keys

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("T_q", s.T_q, 0);
  }
};

struct LinearAttention : SequenceOperator {
  static constexpr const char* kName = "linear_attention";
  using Sizes = LinearAttentionSizes;
  using Case = LinearAttentionCase;
  using Problem = LinearAttentionProblem;
  using Outputs = std::vector<float>;  // o
  using Storages = Types<LinearAttentionArgs, LinearAttentionBf16Args>;

  static Case make_case(const Sizes& s) {
    return {.B = s.B, .T_q = s.T_q > 0 ? s.T_q : s.T, .T_k = s.T, .H = s.H, .K = s.K, .V = s.V};
  }
  static Problem make_problem(const Case& c) { return ladder::make_problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.attention_case; }
  static LinearAttentionArgs args(const Problem& problem) { return problem.args(); }
  static LinearAttentionArgs sizes(const Case& c) { return sizes_of(c); }
  static bool wants(const Case& c, const std::string& array) {
    return array != "key_lengths" || c.key_lengths;
  }
  static double fma_count(const LinearAttentionArgs& args) {
    return linear_attention_fma_count(args);
  }
  static double truth_bytes(const Case& c) { return bytes_of_walk(c.K, c.V, c.B * c.H); }
  static Verdict judge(const Problem& problem, const Outputs& o, Arithmetic arithmetic) {
    return reference::judge(problem, o, arithmetic);
  }
  static Verdict judge_for_report(const Problem& problem, const Outputs& o, Arithmetic arithmetic) {
    return reference::judge(problem, o, arithmetic, reference::PlainLoop::kToo);
  }
};

// A case of linear attention, and computed by its launchers.
struct CausalDotProduct : LinearAttention {
  static constexpr const char* kName = "causal_dot_product";
  using Key = LinearAttention;

  static Case make_case(const Sizes& s) { return own(LinearAttention::make_case(s)); }
  static Case own(Case c) {
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = false;
    return c;
  }
};

// Runs once, as run_as does.
std::vector<float> run(const Implementation& implementation, const LinearAttentionProblem& problem);

}  // namespace ladder
