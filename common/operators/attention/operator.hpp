// Softmax attention and its gradients as operators.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/random.hpp"
#include "common/judge/sequences.hpp"
#include "common/operators/attention/cases.hpp"

namespace ladder {

struct AttentionOperator : SequenceOperator {
  static constexpr bool kTriedApart = true;  // edges.cpp and trials.cpp
  static constexpr bool kKnownApart = true;  // mistakes.cpp
  // std::invalid_argument where H is no multiple of H_kv.
  static AttentionCase make_case(const AttentionSizes& sizes);
  static bool set_size(Shape& shape, const std::string& name, std::int64_t value);
  static void settle(AttentionCase& c, Shape& shape);
  static bool wants(const AttentionCase& c, const std::string& array);
  static const char* axis_word(const std::string& array, const std::string& axis);
  static SupportWords words();  // what the tests look at
  // Heads are key heads.
  static void settle(const AttentionCase& c, const std::string& array, const std::string& axis,
                     std::int64_t index, Belonging& belonging);
  template <typename Problem>
  static void settle_belonging(const Problem& problem, const std::string& array,
                               const std::string& axis, std::int64_t index, Belonging& belonging) {
    settle(problem.drawn_case(), array, axis, index, belonging);
  }
  template <typename Problem>
  static void check_values(const Problem& problem) {
    const AttentionCase& c = problem.drawn_case();
    const auto numbers = [&](const char* name) -> const auto& {
      return problem.template array<std::int64_t>(name);
    };
    check_key_lengths(numbers("key_lengths"), c.T_k);
    check_ends("cu_seqlens_q", numbers("cu_seqlens_q"), c.B, c.T_q);
    check_ends("cu_seqlens_k", numbers("cu_seqlens_k"), c.B, c.T_k);
  }
  static std::vector<AttentionCase> table_cases(bool long_too);
  static std::vector<AttentionCase> random_cases(std::uint32_t seed);
};

struct Attention
    : JudgedOperator<Attention, AttentionSizes, AttentionCase, AttentionInputs, AttentionArgs,
                     AttentionArgs, AttentionBf16Args, AttentionFp16Args>,
      AttentionOperator {
  static constexpr const char* kName = "attention";
  static constexpr const char* kLinearIn[] = {"v"};
  static constexpr const char* kClimbed[] = {"bf16"};
  static std::vector<std::pair<std::string, Shape>> named_shapes();
  static constexpr bool kReportsFirst = true;
  using Outputs = AttentionOutputs;

  static AttentionArgs sizes(const Case& c) { return sizes_of(c); }
  static double fma_count(const AttentionArgs& args) { return attention_fma_count(args); }
  static double judged_fma(const Case& c);

  static std::vector<Truth> truth(const Problem& problem, Arithmetic arithmetic);
  static Outputs plain(const Problem& problem, Arithmetic arithmetic);
  static Mistakes mistakes(const Problem& problem, const std::vector<Truth>& truth,
                           Arithmetic arithmetic);
  // The check's work grows with the square of T: above so many multiply-adds, some successive queries each of the first, a middle and the
  // last batch are judged, in all heads.
  static std::optional<std::pair<Problem, Outputs>> sample(const Problem& problem,
                                                           const Outputs& outputs,
                                                           double most_judged_whole);
  static bool may_be_infinite(const std::string& output) { return output == "lse"; }

  static Problem fuzz(Random& random);
  static SupportWords support_words() { return words(); }
  static std::shared_ptr<const Plan> own_plan(const Support& support);
  template <typename Args>
  static std::vector<BadInput<Args>> bad_inputs(const Support& support, DeviceKind where);
};

struct AttentionBackward : JudgedOperator<AttentionBackward, AttentionSizes, AttentionCase,
                                          AttentionGradInputs, AttentionGradArgs, AttentionGradArgs,
                                          AttentionGradBf16Args, AttentionGradFp16Args>,
                           AttentionOperator {
  static constexpr const char* kName = "attention_backward";
  static constexpr const char* kLinearIn[] = {"d_o"};
  static constexpr const char* kDerived[] = {"o", "lse"};
  static void derive(Problem& problem) { take_forward_pass(problem); }
  static constexpr bool kDrawsWithWork = true;  // the forward pass's outputs are inputs
  using Outputs = AttentionGradients;

  static AttentionGradArgs sizes(const Case& c) { return AttentionGradInputs::sizes(c); }
  static double fma_count(const AttentionGradArgs& args) { return attention_fma_count(args); }
  static double judged_fma(const Case& c);

  static std::vector<Truth> truth(const Problem& problem, Arithmetic arithmetic);
  static Outputs plain(const Problem& problem, Arithmetic arithmetic);
  static Mistakes mistakes(const Problem& problem, const std::vector<Truth>& truth,
                           Arithmetic arithmetic);
  // Likewise some heads, with all queries and keys.
  static std::optional<std::pair<Problem, Outputs>> sample(const Problem& problem,
                                                           const Outputs& gradients,
                                                           double most_judged_whole);

  static Problem fuzz(Random& random);
  static SupportWords support_words() { return words(); }
  static std::shared_ptr<const Plan> own_plan(const Support& support);
  template <typename Args>
  static std::vector<BadInput<Args>> bad_inputs(const Support& support, DeviceKind where);
};

std::vector<AttentionCase> attention_cases(const Support& support);

// Each runs once, as run_as does.
AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem);
AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem);

// Compiled once, in operator.cpp and others.cpp.
extern template Operator& operator_of<Attention>();
extern template Operator& operator_of<AttentionBackward>();

}  // namespace ladder
