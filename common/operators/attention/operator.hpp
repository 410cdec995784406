// Softmax attention and its gradients as operators.
#pragma once

#include <string>

#include "common/core/on_device.hpp"
#include "common/core/shape.hpp"
#include "common/operators/attention/problem.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/sequences.hpp"

namespace ladder {

// As the shapes of the other operators are said: D is K and V, which are equal; T counts the keys.
struct AttentionSizes {
  std::int64_t B = 4, T = 4096, H = 16, K = 128, V = 128;
  std::int64_t T_q = 0;   // 0: T
  std::int64_t H_kv = 0;  // 0: H

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("T_q", s.T_q, 0), visit("H_kv", s.H_kv, 0);
  }
};

struct AttentionOperator : SequenceOperator {
  using Sizes = AttentionSizes;
  using Case = AttentionCase;

  // std::invalid_argument where K and V differ, or H is no multiple of H_kv.
  static Case make_case(const Sizes& sizes);
  static bool set_size(Shape& shape, const std::string& name, std::int64_t value);
  static void settle(Case& c, Shape& shape);
  static bool wants(const Case& c, const std::string& array);
};

struct Attention : AttentionOperator {
  static constexpr const char* kName = "attention";
  using Problem = AttentionProblem;
  using Outputs = AttentionOutputs;
  using Storages = Types<AttentionArgs, AttentionBf16Args, AttentionFp16Args>;

  static Problem make_problem(const Case& c) { return ladder::make_problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.attention_case; }
  static AttentionArgs args(const Problem& problem) { return problem.args(); }
  static AttentionArgs sizes(const Case& c) { return sizes_of(c); }
  static double fma_count(const AttentionArgs& args) { return attention_fma_count(args); }
  static double judged_fma(const Case& c);
  static Verdict judge(const Problem& problem, const Outputs& outputs, Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic);
  }
  static Verdict judge_for_report(const Problem& problem, const Outputs& outputs,
                                  Arithmetic arithmetic);
};

struct AttentionBackward : AttentionOperator {
  static constexpr const char* kName = "attention_backward";
  static constexpr bool kDrawsWithWork = true;  // the forward pass's outputs are inputs
  using Problem = AttentionGradProblem;
  using Outputs = AttentionGradients;
  using Storages = Types<AttentionGradArgs, AttentionGradBf16Args, AttentionGradFp16Args>;

  static Problem make_problem(const Case& c);
  static const Case& case_of(const Problem& problem) { return problem.forward.attention_case; }
  static AttentionGradArgs args(const Problem& problem) { return problem.args(); }
  static AttentionGradArgs sizes(const Case& c) {
    AttentionGradArgs args;
    args.forward = sizes_of(c);
    return args;
  }
  static double fma_count(const AttentionGradArgs& args) { return attention_fma_count(args); }
  static double judged_fma(const Case& c);
  static Verdict judge(const Problem& problem, const Outputs& outputs, Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic);
  }
  static Verdict judge_for_report(const Problem& problem, const Outputs& outputs,
                                  Arithmetic arithmetic);
};

// Each runs once, as run_as does.
AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem);
AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem);

}  // namespace ladder
