#include "common/operators/linear_attention/operator.hpp"

#include "common/core/generator.hpp"

namespace ladder {
namespace {

using Case = LinearAttentionCase;

Case case_of(const LinearAttentionSizes& s) {
  return {.B = s.B, .T_q = s.T_q > 0 ? s.T_q : s.T, .T_k = s.T, .H = s.H, .K = s.K, .V = s.V};
}

bool draw_lengths(Problem& problem, const std::string& input, Generator& generator) {
  if (input != "key_lengths") return false;
  const Case& c = problem.as<Case>();
  problem.array<std::int64_t>(input) = generator.key_lengths(c.B, c.T_k);
  return true;
}

Operator linear_attention_as(const char* name) {
  return on_sequences(
      with_case<LinearAttention, LinearAttentionSizes, Case, LinearAttentionArgs,
                LinearAttentionArgs, LinearAttentionBf16Args, LinearAttentionFp16Args>({
          .name = name,
          .launchers = LinearAttention::kName,
          .case_with =
              [](const Struct& sizes) { return Struct(case_of(sizes.as<LinearAttentionSizes>())); },
          .host = [](const Struct& c) { return Struct(sizes_of(c.as<Case>())); },
          .name_of = [](const Struct& c) { return name_of(c.as<Case>()); },
          .fma_count =
              [](const Struct& host) {
                return linear_attention_fma_count(host.as<LinearAttentionArgs>());
              },
          .truth = of_any(linear_attention_truth),
          .draw_input = draw_lengths,
          .wants =
              [](const Struct& c, const std::string& array) {
                return array != "key_lengths" || c.as<Case>().key_lengths;
              },
          .check_options =
              [](const Struct& c, const Options& given) {
                require_both(given, "eps", c.as<Case>().normalize, "normalize");
              },
          .check_values =
              [](const Problem& problem) {
                check_key_lengths(problem.array<std::int64_t>("key_lengths"),
                                  problem.as<Case>().T_k);
              },
          .linear_in = {"v"},
          .truth_bytes =
              [](const Struct& value) {
                const Case& c = value.as<Case>();
                return bytes_of_walk(c.K, c.V, c.B * c.H);
              },
      }));
}

}  // namespace

template <>
Operator& operator_of<LinearAttention>() {
  static Operator op = linear_attention_as(LinearAttention::kName);
  return op;
}

template <>
Operator& operator_of<CausalDotProduct>() {
  static Operator op = [] {
    Operator made = linear_attention_as(CausalDotProduct::kName);
    made.case_with = [](const Struct& sizes) {
      return Struct(CausalDotProduct::make_case(sizes.as<LinearAttentionSizes>()));
    };
    return made;
  }();
  return op;
}

LinearAttentionCase CausalDotProduct::make_case(const LinearAttentionSizes& sizes) {
  return own(case_of(sizes));
}

const Operator& LinearAttentionInputs::of(const Case&) {
  return operator_of<LinearAttention>();
}

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  return run_as<LinearAttention>(implementation, problem);
}

namespace {

const OperatorRegistration linear_attention_registration(operator_of<LinearAttention>(), 5);
const OperatorRegistration causal_dot_product_registration(operator_of<CausalDotProduct>(), 6);

}  // namespace

}  // namespace ladder
