// Tests of linear attention's judge. It must accept right results, even of short rows, and refuse
// wrong ones with the right diagnosis. Variants give distinct results on the plain case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

// (phi(q) phi(k)^T . M) v in fp32, as a sum over keys of score times value.
std::vector<float> quadratic(const LinearAttentionProblem& problem, Precision operands) {
  const LinearAttentionCase& c = problem.drawn_case();
  const auto phi = [&](float x) {
    return c.feature_map == FeatureMap::kIdentity ? x : x > 0 ? x + 1 : std::exp(x);
  };
  std::vector<float> o(c.B * c.T_q * c.H * c.V);
  for (std::int64_t row = 0; row < c.B * c.T_q * c.H; ++row) {
    const std::int64_t b = row / c.H / c.T_q, l = row / c.H % c.T_q, h = row % c.H;
    float normaliser = 0;
    for (std::int64_t s = 0; s < (c.causal ? std::min(l + 1, c.T_k) : c.T_k); ++s) {
      const std::int64_t key = (b * c.T_k + s) * c.H + h;
      float score = 0;
      for (std::int64_t j = 0; j < c.K; ++j) {
        score += rounded(phi(problem["q"][row * c.K + j]), operands) *
                 rounded(phi(problem["k"][key * c.K + j]), operands);
      }
      normaliser += score;
      for (std::int64_t i = 0; i < c.V; ++i)
        o[row * c.V + i] += rounded(score, operands) * problem["v"][key * c.V + i];
    }
    for (std::int64_t i = 0; i < c.V; ++i) {
      if (c.normalize) o[row * c.V + i] /= normaliser + c.eps;
      o[row * c.V + i] = rounded(o[row * c.V + i], c.precision);
    }
  }
  return o;
}

// Sums over 1 to 4 elements of V or over few keys often cancel.
TEST(Judge, RefusesNoRightResultOfShortRows) {
  for (const std::int64_t V : {1, 2, 3, 4, 64}) {
    for (const auto& [T_q, T_k] :
         {std::pair<std::int64_t, std::int64_t>{33, 33}, {70, 1}, {1, 5}}) {
      for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        LinearAttentionCase c{.B = 1, .T_q = T_q, .T_k = T_k, .H = 2, .K = 4, .V = V};
        c.K = seed % 2 == 0 ? 4 : 65;
        c.normalize = seed % 3 == 0;
        c.feature_map = seed % 3 < 2 ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
        c.seed = seed;
        const LinearAttentionProblem problem = make_problem(c);
        EXPECT_TRUE(is_right(problem, quadratic(problem, Precision::kFp32))) << name_of(c);
        c.precision = Precision::kBf16;
        const LinearAttentionProblem of_bf16 = make_problem(c);
        EXPECT_TRUE(
            is_right(of_bf16, quadratic(of_bf16, Precision::kBf16), Arithmetic::kBf16Operands))
            << name_of(c);
      }
    }
  }
}

// If only a tenth of one of 65 key rows is missing, some misconceptions give almost the truth.
TEST(Judge, DiagnosesNothingThatIsAlmostRight) {
  LinearAttentionCase c{.B = 1, .T_q = 48, .T_k = 48, .H = 8, .K = 65, .V = 3};
  c.precision = Precision::kBf16;
  const LinearAttentionProblem problem = make_problem(c);
  std::vector<float> almost = right_answer(problem);
  const std::size_t largest = std::max_element(almost.begin(), almost.end()) - almost.begin();
  almost[largest] *= 1.06f;  // above an element's limit, but small for the whole
  const std::string message = verdict(problem, almost, Arithmetic::kBf16Operands);
  EXPECT_NE(message.find("WRONG RESULT"), std::string::npos) << message;
  EXPECT_EQ(message.find("equals"), std::string::npos) << message;
}

TEST(Diagnosis, LinearAttentionMisconceptions) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 8, .V = 8};
  c.key_lengths = true;
  const LinearAttentionProblem problem = make_problem(c);
  EXPECT_EQ(verdict(problem, right_answer(problem)), "right");
  const auto expect = [&](const std::string& words, void (*change)(LinearAttentionProblem&)) {
    LinearAttentionProblem changed = problem;
    change(changed);
    expect_words(words, verdict(problem, right_answer(changed)));
  };
  expect("without the causal mask", [](auto& p) { p.drawn_case().causal = false; });
  expect("normaliser forgotten", [](auto& p) { p.drawn_case().normalize = false; });
  expect("key lengths ignored", [](auto& p) {
    p.template array<std::int64_t>("key_lengths").clear();
    p.drawn_case().key_lengths = false;
  });
}

TEST(Diagnosis, StripsOfKeyRows) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 22, .V = 8};
  c.feature_map = FeatureMap::kIdentity;
  c.normalize = false;
  const LinearAttentionProblem problem = make_problem(c);
  const auto part_of = [&](LinearAttentionProblem rows, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = 0; i < std::ssize(rows["q"]); ++i) {
      if (i % c.K < first || i % c.K >= end) rows["q"][i] = 0.0f;
    }
    return right_answer(rows);
  };
  expect_words("o takes nothing from q, k of key rows 16 to 21; from all others",
               said_of_kernel(problem, [&](const LinearAttentionProblem& given) {
                 return part_of(given, 0, 16);
               }));

  // The strip that is stored last wins, here a different one per element.
  const std::vector<float> strips[] = {part_of(problem, 0, 8), part_of(problem, 8, 16),
                                       part_of(problem, 16, 22)};
  std::vector<float> o = strips[2];
  for (std::size_t i = 0; i < o.size(); ++i)
    o[i] = strips[i % 3][i];
  expect_words("the parts overwrite each other", verdict(problem, o));
  for (float wrong : {o[7] + 1.0f, INFINITY}) {
    o[7] = wrong;
    EXPECT_EQ(verdict(problem, o).find("the parts overwrite each other"), std::string::npos);
  }
}

TEST(LinearAttentionInBf16, IsRightAsAPlainLoopComputesIt) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 16, .V = 8};
  c.precision = Precision::kBf16;
  const LinearAttentionProblem problem = make_problem(c);
  constexpr Arithmetic kOperands = Arithmetic::kBf16Operands;
  EXPECT_TRUE(is_right(problem, problem.op().plain(problem, kOperands), kOperands));
  LinearAttentionProblem changed = problem;
  changed.drawn_case().normalize = false;
  expect_words("normaliser forgotten",
               verdict(problem, changed.op().plain(changed, Arithmetic::kFp32), kOperands));
}

TEST(Judge, RefusesABiasOfLinearAttentionIn16Bits) {
  LinearAttentionCase c{.B = 2, .T_q = 37, .T_k = 37, .H = 3, .K = 16, .V = 16};
  c.precision = Precision::kBf16;
  expect_bias_refused(make_problem(c), Arithmetic::kFp32);
  c.T_q = c.T_k = 400;
  c.causal = false;  // in the causal form the few first rows are the largest by far
  expect_bias_refused(make_problem(c), Arithmetic::kBf16Operands);
}

TEST(Diagnosis, SpeaksOfEmptySizesOfLinearAttentionToo) {
  for (const bool causal : {true, false}) {
    for (const auto& [T_q, T_k] : {std::pair{3, 0}, {0, 3}, {0, 0}, {1, 1}}) {
      if (causal && T_q != T_k) continue;
      LinearAttentionCase c{.B = 2, .T_q = T_q, .T_k = T_k, .H = 3, .K = 8, .V = 16};
      c.causal = causal;
      expect_words_for_empty(make_problem(c));
    }
  }
}

TEST(JudgeIsSharp, ForLinearAttention) {
  expect_sharp_judge<LinearAttention>([](SmallDraw& draw) {
    LinearAttentionCase c{.T_q = draw.length(), .T_k = draw.length(), .H = 2};
    c.K = draw.size();
    c.V = draw.width();
    c.causal = draw.coin();
    c.feature_map = draw.coin() ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
    c.normalize = c.feature_map == FeatureMap::kEluPlusOne && draw.coin();
    c.precision = draw.coin() ? Precision::kFp32 : Precision::kBf16;
    c.seed = draw.seed();
    return c;
  });
}

TEST(Variants, OfLinearAttentionAreDistinctOnThePlainCase) {
  for (const std::int64_t steps : {17, 34})
    expect_distinct_variants(make_problem(plain_linear_attention_case({.plain_steps = steps})));
  expect_distinct_variants(
      make_problem(plain_linear_attention_case({.refuses = {kAllButTheCausalProduct}})));
}

TEST(Probe, SaysNothingOfRightLinearAttention) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    LinearAttentionCase c = plain_linear_attention_case({});
    c.precision = precision;
    expect_nothing_probed(make_problem(c));
  }
}

TEST(Variants, LoopsOfLinearAttentionAreRight) {
  for (const LinearAttentionCase& c : linear_attention_cases({})) {
    if (c.T_q <= 20 && c.T_k <= 20) expect_right_loop(make_problem(c));
  }
}

TEST(Variants, ZerosAndRightResultsOfLinearAttentionHaveNoName) {
  expect_no_name(make_problem(plain_linear_attention_case({})));
}

TEST(Fp16, IsOneOfThreeStoragesOfLinearAttention) {
  const LinearAttentionCase c{.precision = Precision::kFp16};
  EXPECT_EQ(storage_of(make_problem(c).drawn_case()), "fp16");
  EXPECT_THROW(make_problem(LinearAttentionCase{.precision = Precision::kBf16Fp32Decay}),
               std::invalid_argument);
}

}  // namespace
}  // namespace ladder::testing
