// Tests of softmax attention's judge, which must refuse wrong answers with the right diagnosis.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const AttentionCase kFull{.B = 2, .T_q = 19, .T_k = 70, .H_q = 4, .H_kv = 2, .D = 16};

AttentionCase with(AttentionCase c, const std::function<void(AttentionCase&)>& change) {
  change(c);
  return c;
}

const AttentionCase kCausal = with(kFull, [](AttentionCase& c) { c.causal = true; });

TEST(Fp16, IsOneOfThreeStorages) {
  EXPECT_THROW(make_problem({.precision = Precision::kBf16Fp32Decay}), std::invalid_argument);
}

constexpr Arithmetic kFp32 = Arithmetic::kFp32;

// Stored answer and name of the first known mistake with this tile whose words begin with `words`.
std::pair<Outputs, std::string> wrong_answer(const Problem& problem, const std::string& words,
                                             std::int64_t tile) {
  const Mistakes mistakes = problem.op().mistakes(problem, {}, kFp32);
  for (const Misconception& each : mistakes.known) {
    if (each.words.starts_with(words) && each.tile == tile)
      return {problem.stored(each.answer()),
              each.words.substr(0, each.words.find('*')) + (tile > 0 ? std::to_string(tile) : "")};
  }
  throw std::invalid_argument("no misconception has the words " + words);
}

template <typename Op>
void expect_named(const std::string& words, AttentionCase c, std::int64_t tile) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    c.precision = precision;
    const typename Op::Problem problem(c);
    const auto [wrong, name] = wrong_answer(problem, words, tile);
    expect_wrong(name, problem, wrong);
  }
}
void expect_diagnosis(const std::string& words, const AttentionCase& c, std::int64_t tile = 0) {
  expect_named<Attention>("equals " + words, c, tile);
}
void expect_backward_diagnosis(const std::string& words, const AttentionCase& c,
                               std::int64_t tile = 0) {
  expect_named<AttentionBackward>("equals the gradient " + words, c, tile);
}

TEST(AttentionJudge, AcceptsTheRightAnswer) {
  for (const AttentionCase& c : {kFull, kCausal}) {
    const AttentionProblem problem = make_problem(c);
    EXPECT_EQ(verdict(problem, problem.op().plain(problem, kFp32)), "right");
    const AttentionGradProblem gradients(c);
    EXPECT_EQ(verdict(gradients, gradients.op().plain(gradients, kFp32)), "right");
  }
}

void expect_refused(const std::string& words, const std::function<void(AttentionOutputs&)>& spoil) {
  const AttentionProblem problem =
      make_problem(with(kCausal, [](AttentionCase& c) { c.T_k = 9; }));  // 10 queries see no key
  AttentionOutputs outputs = plain_answer(problem);
  ASSERT_EQ(verdict(problem, outputs), "right");
  spoil(outputs);
  expect_wrong(words, problem, outputs);
}

TEST(AttentionJudge, RefusesWhatIsNotWritten) {
  expect_refused("is NaN: 1 of", [](auto& x) { x.o.back() = kNan; });
  expect_refused("is NaN: 1 of", [](auto& x) { x.lse.back() = kNan; });
  expect_refused("never written: 1 of", [](auto& x) { x.o.back() = poison<float>(); });
  expect_refused("WRONG RESULT in lse", [](auto& x) { x.lse.back() = kInfinity; });
  expect_refused("every element is zero", [](auto& x) { x.o.assign(x.o.size(), 0.0f); });
}

TEST(AttentionJudge, RefusesSmallErrors) {
  expect_refused("in o", [](auto& x) { x.o.back() *= 1.001f; });
  expect_refused("in lse", [](auto& x) { x.lse.back() += 3e-5f; });
  expect_refused("in lse", [](auto& x) { x.lse.back() = -kInfinity; });
}

// l divides o, and lse is its logarithm. l is right if o alone is wrong, or by another factor.
TEST(AttentionJudge, SaysThatTheSumOfTheWeightsIsWrongWhereBothOutputsShowIt) {
  const AttentionProblem problem = make_problem({.T_q = 3, .T_k = 9, .H_q = 2, .H_kv = 1, .D = 8});
  const AttentionOutputs right = plain_answer(problem);
  const auto said_of = [&](float of_l, float of_o) {
    AttentionOutputs wrong = right;
    for (std::size_t l = 1; l < 3; ++l) {  // of head 1
      wrong.lse[3 + l] += std::log(of_l);
      for (std::size_t j = 0; j < 8; ++j)
        wrong.o[(l * 2 + 1) * 8 + j] /= of_o;
    }
    return verdict(problem, wrong);
  };
  const std::string words = "the sum of a query's weights, is wrong, and the sum of the values";
  const std::string said = said_of(0.6f, 0.6f);
  EXPECT_NE(said.find("l, " + words), std::string::npos) << said;
  EXPECT_NE(said.find("of batch 0, head 1, query 1 l is 0.6 times what it should be"),
            std::string::npos)
      << said;
  EXPECT_EQ(said_of(1.0f, 0.6f).find(words), std::string::npos);
  EXPECT_EQ(said_of(0.6f, 0.7f).find(words), std::string::npos);
}

TEST(AttentionJudge, WantsExactlyNothingWithoutKeys) {
  expect_refused("sees no key", [](auto& x) { x.o[0] = 1e-20f; });
  expect_refused("sees no key", [](auto& x) { x.o[0] = kNan; });
  expect_refused("lse(b=0, h=0, t=0) is -1e+30; a query that sees no key",
                 [](auto& x) { x.lse[0] = -1e30f; });
  expect_refused("sees no key", [](auto& x) { x.lse[0] = kNan; });
}

TEST(AttentionJudge, WantsExactlyNoGradientsWhereNothingIsSeen) {
  const AttentionGradProblem problem(
      {.B = 2, .T_q = 3, .T_k = 4, .H_q = 2, .H_kv = 2, .D = 8, .key_lengths = true});
  const AttentionGradients right = plain_answer(problem);
  ASSERT_EQ(verdict(problem, right), "right");
  for (auto array : {&AttentionGradients::dq, &AttentionGradients::dk, &AttentionGradients::dv}) {
    AttentionGradients wrong = right;
    (wrong.*array)[0] = 1e-20f;
    expect_wrong("must be 0, exactly", problem, wrong);
  }
}

TEST(AttentionJudge, AllowsTheRoundingOfOperandsWhereItIsAnnounced) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const AttentionProblem problem =
        make_problem({.T_q = 20, .T_k = 300, .H_q = 2, .H_kv = 2, .D = 64, .precision = precision});
    const auto rounded = Arithmetic::kBf16Operands;
    EXPECT_TRUE(is_right(problem, problem.op().plain(problem, rounded), rounded));
    const AttentionGradProblem gradients = make_grad_problem(problem);
    EXPECT_TRUE(is_right(gradients, gradients.op().plain(gradients, rounded), rounded));
  }
}

TEST(AttentionJudge, RefusesOneHeadAndOneRowIn16Bits) {
  AttentionCase c{.B = 2, .T_q = 40, .T_k = 70, .H_q = 3, .H_kv = 3, .D = 64};
  c.precision = Precision::kBf16;
  expect_one_head_refused(make_problem(c), Arithmetic::kFp32);
  EXPECT_EQ(shifted_rows_refused(make_problem(c), Arithmetic::kFp32), 1);
  expect_one_head_refused(make_problem(c), Arithmetic::kBf16Operands);
  EXPECT_GT(shifted_rows_refused(make_problem(c), Arithmetic::kBf16Operands), 0.8);
  c.T_q = c.T_k = 300;
  expect_one_head_refused(AttentionGradProblem(c), Arithmetic::kBf16Operands);
}

TEST(AttentionJudge, RefusesABiasIn16Bits) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    AttentionCase c = kFull;
    c.T_q = 100;
    c.precision = precision;
    expect_bias_refused(make_problem(c), Arithmetic::kFp32);
    expect_bias_refused(AttentionGradProblem(c), Arithmetic::kFp32);
    c.T_q = 200, c.T_k = 200, c.H_kv = 4;
    expect_bias_refused(make_problem(c), Arithmetic::kBf16Operands);
    expect_bias_refused(AttentionGradProblem(c), Arithmetic::kBf16Operands);
  }
}

// The result of a query without keys is an empty sum.
TEST(AttentionDiagnosis, SpeaksOfEmptySizesToo) {
  for (const auto& [T_q, T_k] : {std::pair{3, 0}, {0, 3}, {0, 0}, {1, 1}}) {
    AttentionCase c = kFull;
    c.T_q = T_q, c.T_k = T_k;
    expect_words_for_empty(make_problem(c));
    expect_words_for_empty(AttentionGradProblem(c));
  }
}

TEST(AttentionDiagnosis, Masks) {
  expect_diagnosis("the result without the causal mask", kCausal);
  expect_diagnosis("the result with the first query aligned with the first key", kCausal);
  const AttentionCase lengths = with(kFull, [](AttentionCase& c) { c.key_lengths = true; });
  expect_diagnosis("the result with the key lengths ignored", lengths);
  expect_diagnosis("the result without the last key", kCausal);
}

TEST(AttentionDiagnosis, Windows) {
  const AttentionCase c = with(kCausal, [](AttentionCase& c) { c.window = 30; });
  expect_diagnosis("the result with the window ignored", c);
  expect_diagnosis("the result with a window of one key less", c);
  expect_diagnosis("the result with a window of one key more", c);
  expect_diagnosis("the result with the tile of * keys missing in which the first query's", c, 64);
}

TEST(AttentionDiagnosis, Tiles) {
  const AttentionCase one_more = with(kFull, [](AttentionCase& c) { c.T_k = 129; });
  for (const std::int64_t tile : {16, 32, 64, 128}) {
    expect_diagnosis("the result with keys of zeros behind the last one", one_more, tile);
  }
  expect_diagnosis("the result with masked keys counted in the sum", kCausal, 32);
  expect_diagnosis("the result with the last partial tile of", kFull, 16);
}

TEST(AttentionDiagnosis, Rescaling) {
  expect_diagnosis("the result without rescaling o when the maximum grows", kFull, 32);
  expect_diagnosis("the result without rescaling the sum when the maximum grows", kFull, 16);
  expect_diagnosis("the result without rescaling o and the sum when the maximum grows", kCausal, 1);
}

TEST(AttentionDiagnosis, MaximumNotCarried) {
  const std::string words = "the result with the maximum not carried from tile to tile";
  const AttentionProblem problem = make_problem(kFull);
  const auto wrong = wrong_answer(problem, "equals " + words + ", in", 32).first;
  EXPECT_EQ(verdict(problem, wrong), "right");  // it can only overflow
  expect_diagnosis(words + ", in", with(kFull, [](AttentionCase& c) { c.magnitude = 100.0f; }), 32);
  expect_diagnosis(words + " and without rescaling o and the sum", kFull, 32);
}

TEST(AttentionDiagnosis, Others) {
  expect_diagnosis("the result with the scale forgotten", kFull);
  expect_diagnosis("the result with query head h at key head h % H_kv", kFull);
  expect_diagnosis("the result without the division by the sum", kFull);
  expect_diagnosis("the result with lse in base 2", kCausal);
  expect_diagnosis("the result with lse without the maximum", kCausal);
  expect_diagnosis("the result with the softcap forgotten",
                   with(kFull, [](AttentionCase& c) { c.softcap = 1; }));
  expect_diagnosis("the result with the rows of v taken to be as wide as those of k",
                   with(kFull, [](AttentionCase& c) { c.D_v = 24; }));
}

TEST(AttentionDiagnosis, Gradients) {
  expect_backward_diagnosis("without the causal mask", kCausal);
  expect_backward_diagnosis("with the first query aligned with the first key", kCausal);
  expect_backward_diagnosis("with delta forgotten", kFull);
  expect_backward_diagnosis("without the scale", kFull);
  expect_backward_diagnosis("with lse taken for a logarithm in base 2", kFull);
  expect_backward_diagnosis("with the last partial tile of", kFull, 16);
  const AttentionCase bent = with(kCausal, [](AttentionCase& c) { c.window = 30, c.softcap = 1; });
  expect_backward_diagnosis("with the window ignored", bent);
  expect_backward_diagnosis("with a window of one key more", bent);
  expect_backward_diagnosis("with the softcap forgotten", bent);
  expect_backward_diagnosis("with the derivative of the softcap forgotten", bent);
  // Only one gradient is wrong.
  const AttentionGradProblem problem(kFull);
  AttentionGradients wrong = plain_answer(problem);
  for (float& x : wrong.dk)
    x /= problem.args().forward.scale;
  expect_wrong("WRONG RESULT in dk", problem, wrong);
  expect_wrong("the gradient without the scale", problem, wrong);
}

TEST(AttentionOnDevice, NoticesWritesOverTheForwardPass) {
  const AttentionGradProblem problem(kFull);
  const auto expect_thrown = [&](void (*launch)(const AttentionGradArgs&)) {
    const Implementation over{.name = "over", .launchers = launchers<AttentionBackward>(launch)};
    EXPECT_THROW(run_backward(over, problem), WroteElsewhere);
  };
  expect_thrown([](const AttentionGradArgs& a) { a.forward.o[0] += 1.0f; });
  expect_thrown([](const AttentionGradArgs& a) { a.forward.lse[3] += 1.0f; });
}

AttentionCase random_case(SmallDraw& draw) {
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};
  AttentionCase c{.T_q = draw.length(), .T_k = draw.length(), .H_q = 2};
  c.H_kv = draw.coin() ? 1 : 2;
  c.D = draw.size();
  if (draw.coin()) c.D_v = draw.size();
  c.causal = draw.coin();
  if (c.causal && draw.coin()) c.window = draw.length() + 1;
  if (draw.coin()) c.softcap = 5;
  c.precision = draw.one_of(kPrecisions);
  c.seed = draw.seed();
  return c;
}

TEST(JudgeIsSharp, ForSoftmaxAttention) {
  expect_sharp_judge<Attention>(random_case);
}

TEST(JudgeIsSharp, ForItsGradients) {
  expect_sharp_judge<AttentionBackward>(random_case);
}

}  // namespace
}  // namespace ladder::testing
