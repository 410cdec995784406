// On the plain case each variant gives something of its own, and neither a right result nor zeros are called by a name.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <limits>

#include "common/operators/attention/gradient_variants.hpp"
#include "common/operators/attention/variants.hpp"
#include "common/operators/compare.hpp"
#include "common/operators/linear_attention/variants.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/planted.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/gradient_variants.hpp"
#include "common/operators/wkv/variants.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::testing {
namespace {

// The variants' results in the array that they change: o, or lse where o is right.
struct Answers {
  std::vector<std::string> words;
  std::vector<std::vector<double>> o, second;

  void add(const std::string& name, std::vector<double> first, std::vector<double> other = {}) {
    words.push_back(name);
    o.push_back(std::move(first));
    second.push_back(std::move(other));
  }

  // The first is the truth.
  void expect_distinct(double rounding) const {
    for (std::size_t a = 0; a < words.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool same = equal(o[a], o[b], rounding) && equal(second[a], second[b], 0);
        EXPECT_FALSE(same) << words[b] << "  ==  " << words[a];
      }
    }
  }

 private:
  static bool equal(const std::vector<double>& a, const std::vector<double>& b, double rounding) {
    if (a.empty() && b.empty()) return true;
    const std::vector<float> result(a.begin(), a.end());
    return reference::equals_answer(result, b, 1, rounding);
  }
};

std::vector<float> zeros(std::size_t count) {
  return std::vector<float>(count, 0.0f);
}

constexpr auto kNotAskedFor = reference::PlainLoop::kNotAskedFor;
constexpr auto kTwo = reference::Search::kTwo;

void expect_unnamed(const std::string& message) {
  EXPECT_NE(message.find("every element is zero"), std::string::npos) << message;
  EXPECT_EQ(message.find("equals"), std::string::npos) << message;
}

// The plain cases of all implementations have these steps.
constexpr std::int64_t kFewSteps = 18, kSomeChunks = 34;

TEST(Variants, OfWkvAndGlaAreDistinctOnThePlainCase) {
  for (const auto& [recurrence, steps] : {std::pair{Recurrence::kWkv, kFewSteps},
                                          {Recurrence::kGla, kFewSteps},
                                          {Recurrence::kGla, kSomeChunks}}) {
    const WkvCase c = plain_wkv_case({.plain_steps = steps}, recurrence);
    const WkvProblem problem = make_problem(c);
    const reference::WkvSwitches right = reference::right_switches(recurrence);
    Answers answers;
    answers.add("the truth", reference::wkv_recurrence(problem).o);
    const auto variants = reference::wkv_variants(c);
    for (const auto& variant : variants) {
      reference::WkvSwitches switches = right;
      variant.change(switches);
      answers.add(variant.words, reference::wkv_loop(problem, switches).o);
    }
    EXPECT_GE(variants.size(), 50u);
    answers.expect_distinct(0);
  }
}

TEST(Variants, OfLinearAttentionAreDistinctOnThePlainCase) {
  for (const auto& [plain, steps] :
       {std::pair{false, kFewSteps - 1}, {true, kFewSteps - 1}, {false, kSomeChunks}}) {
    const LinearAttentionCase c =
        plain_linear_attention_case({.causal_dot_product_only = plain, .plain_steps = steps});
    const LinearAttentionProblem problem = make_problem(c);
    Answers answers;
    answers.add("the truth", reference::linear_attention_loop(problem, {}));
    for (const auto& variant : reference::linear_attention_variants(c)) {
      reference::LinearAttentionSwitches switches;
      variant.change(switches);
      answers.add(variant.words, reference::linear_attention_loop(problem, switches));
    }
    answers.expect_distinct(0);
  }
}

TEST(Variants, OfAttentionAreDistinctOnThePlainCase) {
  for (const std::int64_t keys : {17, 50, 70}) {
    SCOPED_TRACE(keys);
    const AttentionCase c = plain_attention_case({.plain_keys = keys});
    const AttentionProblem problem = make_problem(c);
    Answers answers;
    const auto truth = reference::attention_closed_sum(problem);
    answers.add("the truth", truth.o, truth.lse);
    for (const auto& variant : reference::attention_variants(c)) {
      reference::AttentionSwitches switches;
      variant.change(switches);
      const auto answer = reference::attention_loop(problem, switches);
      answers.add(variant.words, answer.o, answer.lse);
    }
    answers.expect_distinct(0);
  }
}

// The gradients' answers, one behind the other.
template <typename Gradients>
std::vector<double> joined(const Gradients& gradients) {
  std::vector<double> all;
  Gradients::arrays(gradients, [&](const char*, const std::vector<double>& values) {
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

TEST(Variants, OfGradientsAreDistinctOnThePlainCase) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvGradProblem problem = make_grad_problem(plain_wkv_case({}, recurrence));
    Answers answers;
    answers.add("the truth", joined(reference::wkv_gradients(problem)));
    for (const auto& variant : reference::wkv_gradient_variants(problem.forward.wkv_case)) {
      reference::WkvGradSwitches switches;
      variant.change(switches);
      answers.add(variant.words, joined(reference::wkv_gradient_loop(problem, switches)));
    }
    answers.expect_distinct(0);
  }
  const AttentionGradProblem problem =
      reference::make_attention_grad_problem(make_problem(plain_attention_case({})));
  Answers answers;
  answers.add("the truth", joined(reference::attention_gradients(problem)));
  for (const auto& variant :
       reference::attention_gradient_variants(problem.forward.attention_case)) {
    reference::AttentionGradSwitches switches;
    variant.change(switches);
    answers.add(variant.words, joined(reference::attention_gradient_loop(problem, switches)));
  }
  answers.expect_distinct(0);
}

// With no switch changed the loops are right, whatever the case.
TEST(Variants, LoopsAreRight) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (WkvCase c : wkv_cases({}, recurrence)) {
      if (c.T > 20) continue;
      const WkvGradProblem gradients = make_grad_problem(c);
      EXPECT_TRUE(
          is_right(gradients, stored(gradients, reference::wkv_gradient_loop(gradients, {}))))
          << name_of(c);
      const WkvProblem problem = make_problem(c);
      EXPECT_TRUE(is_right(
          problem,
          stored(problem, reference::wkv_loop(problem, reference::right_switches(recurrence)))))
          << name_of(c);
    }
  }
  for (const LinearAttentionCase& c : linear_attention_cases({})) {
    if (c.T_q > 20 || c.T_k > 20) continue;
    const LinearAttentionProblem problem = make_problem(c);
    EXPECT_TRUE(is_right(problem, stored(problem, reference::linear_attention_loop(problem, {}))))
        << name_of(c);
  }
  for (const AttentionCase& c : attention_cases({})) {
    if (c.T_q > 63 || c.T_k > 63) continue;
    const AttentionProblem problem = make_problem(c);
    const AttentionGradProblem gradients = reference::make_attention_grad_problem(problem);
    EXPECT_TRUE(
        is_right(gradients, stored(gradients, reference::attention_gradient_loop(gradients, {}))))
        << name_of(c);
    EXPECT_TRUE(is_right(problem, stored(problem, reference::attention_loop(problem, {}))))
        << name_of(c);
  }
}

// The sentence for a result with these words' changes.
template <typename Variants, typename Switches, typename Problem, typename Loop>
std::string said_of(const Variants& variants, Switches switches, const Problem& problem,
                    const Loop& loop, const std::vector<std::string>& words) {
  for (const std::string& each : words) {
    bool found = false;
    for (const auto& variant : variants) {
      if (variant.words != each) continue;
      variant.change(switches);
      found = true;
    }
    EXPECT_TRUE(found) << each;
  }
  return reference::judge(problem,
                          stored(problem, loop(problem, switches, reference::Look::kThorough)),
                          Arithmetic::kFp32, kNotAskedFor, kTwo)
      .message;
}

TEST(Variants, TwoOfThemAreNamedTogether) {
  const WkvCase c = plain_wkv_case({});
  const WkvProblem problem = make_problem(c);
  const auto begin = std::chrono::steady_clock::now();
  const std::string said =
      said_of(reference::wkv_variants(c), reference::right_switches(c.recurrence), problem,
              reference::wkv_loop,
              {"with the scale forgotten", "with the state of one head running into the next"});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_NE(said.find("It equals the result with the scale forgotten, and with the state of one "
                      "head running into the next.\n"),
            std::string::npos)
      << said;
  std::cout << "two of WKV's variants: " << taken.count() << " s\n";
}

// What no two variants give is searched for among all of them, and takes no longer than a learner waits.
TEST(Variants, WhatNoTwoOfThemGiveHasNoName) {
  const WkvProblem problem = make_problem(plain_wkv_case({}));
  auto wrong = stored(problem, reference::wkv_recurrence(problem));
  for (float& x : wrong.o)
    x = x * x;
  const auto begin = std::chrono::steady_clock::now();
  const std::string said =
      reference::judge(problem, wrong, Arithmetic::kFp32, kNotAskedFor, kTwo).message;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(said.find("equals"), std::string::npos) << said;
  std::cout << "no two of WKV's variants: " << taken.count() << " s\n";
}

TEST(Variants, OnesOwnBonusIsCalledThat) {
  const WkvCase c = plain_wkv_case({});
  WkvProblem problem = make_problem(c), other = problem;
  for (float& u : other.u.data)
    u = 3.0f - u * u;
  const auto wrong = stored(problem, reference::wkv_recurrence(other));
  const std::string said =
      reference::judge(problem, wrong, Arithmetic::kFp32, kNotAskedFor, kTwo).message;
  EXPECT_NE(said.find("The bonus alone is wrong"), std::string::npos) << said;
}

TEST(Variants, AFactorIsSaid) {
  const WkvProblem problem = make_problem(plain_wkv_case({}));
  auto wrong = stored(problem, reference::wkv_recurrence(problem));
  for (float& x : wrong.o)
    x /= 32;
  const std::string said =
      reference::judge(problem, wrong, Arithmetic::kFp32, kNotAskedFor, kTwo).message;
  EXPECT_NE(said.find("Each element is 0.0312 times what it should be.\n"), std::string::npos)
      << said;
}

// `of` with zeros in the place of all numbers.
template <typename Outputs>
Outputs zeros_of(Outputs of) {
  Outputs::arrays(of,
                  [](const char*, std::vector<float>& values) { values = zeros(values.size()); });
  return of;
}

TEST(Variants, ZerosAndRightResultsHaveNoName) {
  const auto expect_no_name = [](const auto& problem, const auto& right) {
    EXPECT_EQ(reference::judge(problem, right, Arithmetic::kFp32, kNotAskedFor, kTwo).message, "");
    expect_unnamed(
        reference::judge(problem, zeros_of(right), Arithmetic::kFp32, kNotAskedFor, kTwo).message);
  };
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvCase c = plain_wkv_case({}, recurrence);
    const WkvProblem wkv = make_problem(c);
    expect_no_name(wkv, stored(wkv, reference::wkv_recurrence(wkv)));
    const WkvGradProblem gradients = make_grad_problem(c);
    expect_no_name(gradients, stored(gradients, reference::wkv_gradients(gradients)));
  }
  const AttentionGradProblem of_attention_gradients =
      reference::make_attention_grad_problem(make_problem(plain_attention_case({})));
  expect_no_name(
      of_attention_gradients,
      stored(of_attention_gradients, reference::attention_gradients(of_attention_gradients)));
  const LinearAttentionProblem linear = make_problem(plain_linear_attention_case({}));
  const auto of_linear = reference::linear_attention_plain(linear, Arithmetic::kFp32);
  EXPECT_EQ(reference::judge(linear, of_linear, Arithmetic::kFp32, kNotAskedFor, kTwo).message, "");
  expect_unnamed(
      reference::judge(linear, zeros(of_linear.size()), Arithmetic::kFp32, kNotAskedFor, kTwo)
          .message);
  const AttentionProblem attention = make_problem(plain_attention_case({}));
  const auto of_attention = reference::attention_plain(attention, Arithmetic::kFp32);
  EXPECT_EQ(
      reference::judge(attention, of_attention, Arithmetic::kFp32, kNotAskedFor, kTwo).message, "");
  expect_unnamed(reference::judge(attention,
                                  AttentionOutputs{zeros(of_attention.o.size()), of_attention.lse},
                                  Arithmetic::kFp32, kNotAskedFor, kTwo)
                     .message);
}

}  // namespace
}  // namespace ladder::testing
