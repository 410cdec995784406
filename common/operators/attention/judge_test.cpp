// The tester of softmax attention is tested: wrong answers that must be refused, with the right diagnosis.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/plain.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/compare.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"

namespace ladder::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const AttentionCase kFull{.B = 2, .T_q = 19, .T_k = 70, .H_q = 4, .H_kv = 2, .D = 16};

AttentionCase with(AttentionCase c, const std::function<void(AttentionCase&)>& change) {
  change(c);
  return c;
}

const AttentionCase kCausal = with(kFull, [](AttentionCase& c) { c.causal = true; });

TEST(Float16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE((bits & 0x7c00u) == 0x7c00u && (bits & 0x3ffu) != 0);
      EXPECT_TRUE(std::isnan(to_float(to_float16(wide))));
      continue;
    }
    ASSERT_EQ(to_float16(wide).bits, bits) << wide;
    // Its size by the definition.
    const int exponent = static_cast<int>(bits >> 10 & 31),
              mantissa = static_cast<int>(bits & 1023);
    const double size = exponent == 31  ? static_cast<double>(kInfinity)
                        : exponent == 0 ? std::ldexp(mantissa, -24)
                                        : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(wide, bits < 0x8000u ? size : -size) << bits;
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const float low = to_float(float16{static_cast<std::uint16_t>(bits)});
    const float high =
        bits == 0x7bffu ? 65536.0f : to_float(float16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const auto rounded_bits = [&](float x) { return to_float16(sign ? -x : x).bits - sign; };
      ASSERT_EQ(rounded_bits(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
      ASSERT_EQ(rounded_bits(std::nextafter(middle, 0.0f)), bits) << middle;
      ASSERT_EQ(rounded_bits(std::nextafter(middle, kInfinity)), bits + 1) << middle;
    }
  }
  EXPECT_EQ(to_float16(std::numeric_limits<float>::max()).bits, 0x7c00u);
}

TEST(Fp16, IsForSoftmaxAttentionOnly) {
  EXPECT_THROW(make_problem(WkvCase{.precision = Precision::kFp16}), std::invalid_argument);
  EXPECT_THROW(make_problem(LinearAttentionCase{.precision = Precision::kFp16}),
               std::invalid_argument);
  EXPECT_THROW(make_problem(AttentionCase{.precision = Precision::kBf16Fp32Decay}),
               std::invalid_argument);
  EXPECT_THROW(with_storage<Wkv>("fp16", []<typename>() {}), std::invalid_argument);
  EXPECT_THROW(with_storage<LinearAttention>("fp16", []<typename>() {}), std::invalid_argument);
}

Implementation plain(const Wrong& wrong) {
  Implementation plain{.name = "plain"};
  const auto forward = [=](const auto& a) { plain_attention(a, wrong); };
  plain.launchers.set<Attention, AttentionArgs>(forward);
  plain.launchers.set<Attention, AttentionBf16Args>(forward);
  plain.launchers.set<Attention, AttentionFp16Args>(forward);
  const auto backward = [=](const auto& a) { plain_attention_backward(a, wrong); };
  plain.launchers.set<AttentionBackward, AttentionGradArgs>(backward);
  plain.launchers.set<AttentionBackward, AttentionGradBf16Args>(backward);
  plain.launchers.set<AttentionBackward, AttentionGradFp16Args>(backward);
  return plain;
}

template <typename Problem, typename Outputs>
std::string verdict(const Problem& problem, const Outputs& outputs) {
  const auto result = is_right(problem, outputs);
  return result ? "right" : result.message();
}

std::string verdict(const AttentionCase& c, const Wrong& wrong) {
  const AttentionProblem problem = make_problem(c);
  return verdict(problem, run(plain(wrong), problem));
}

std::string backward_verdict(const AttentionCase& c, const Wrong& wrong) {
  const AttentionGradProblem problem = reference::make_attention_grad_problem(make_problem(c));
  return verdict(problem, run_backward(plain(wrong), problem));
}

void expect_in(const std::string& words, const std::string& message) {
  EXPECT_NE(message.find("WRONG RESULT"), std::string::npos) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

// In every precision.
void expect_diagnosis(const std::string& words, AttentionCase c, const Wrong& wrong) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    c.precision = precision;
    expect_in(words, verdict(c, wrong));
  }
}
void expect_backward_diagnosis(const std::string& words, AttentionCase c, const Wrong& wrong) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    c.precision = precision;
    expect_in(words, backward_verdict(c, wrong));
  }
}

TEST(AttentionJudge, AcceptsTheRightAnswer) {
  EXPECT_EQ(verdict(kFull, {}), "right");
  EXPECT_EQ(verdict(kCausal, {}), "right");
  EXPECT_EQ(backward_verdict(kFull, {}), "right");
  EXPECT_EQ(backward_verdict(kCausal, {}), "right");
}

void expect_refused(const std::string& words, const std::function<void(AttentionOutputs&)>& spoil) {
  const AttentionProblem problem =
      make_problem(with(kCausal, [](AttentionCase& c) { c.T_k = 9; }));  // ten see no key
  AttentionOutputs outputs = run(plain({}), problem);
  ASSERT_EQ(verdict(problem, outputs), "right");
  spoil(outputs);
  expect_in(words, verdict(problem, outputs));
}

TEST(AttentionJudge, RefusesWhatIsNotWritten) {
  expect_refused("never written", [](auto& x) { x.o.back() = kNan; });
  expect_refused("never written", [](auto& x) { x.lse.back() = kNan; });
  expect_refused("WRONG RESULT in lse", [](auto& x) { x.lse.back() = kInfinity; });
  expect_refused("every element is zero", [](auto& x) { x.o.assign(x.o.size(), 0.0f); });
}

TEST(AttentionJudge, RefusesSmallErrors) {
  expect_refused("in o", [](auto& x) { x.o.back() *= 1.001f; });
  expect_refused("in lse", [](auto& x) { x.lse.back() += 3e-5f; });
  expect_refused("in lse", [](auto& x) { x.lse.back() = -kInfinity; });
}

TEST(AttentionJudge, WantsExactlyNothingWithoutKeys) {
  expect_refused("sees no key", [](auto& x) { x.o[0] = 1e-20f; });
  expect_refused("sees no key", [](auto& x) { x.o[0] = kNan; });
  expect_refused("lse(b=0, h=0, t=0) is -1e+30; a query that sees no key",
                 [](auto& x) { x.lse[0] = -1e30f; });
  expect_refused("sees no key", [](auto& x) { x.lse[0] = kNan; });
}

TEST(AttentionJudge, WantsExactlyNoGradientsWhereNothingIsSeen) {
  const AttentionGradProblem problem = reference::make_attention_grad_problem(make_problem(
      AttentionCase{.B = 2, .T_q = 3, .T_k = 4, .H_q = 2, .H_kv = 2, .D = 8, .key_lengths = true}));
  const AttentionGradients right = run_backward(plain({}), problem);
  ASSERT_EQ(verdict(problem, right), "right");
  for (auto array : {&AttentionGradients::dq, &AttentionGradients::dk, &AttentionGradients::dv}) {
    AttentionGradients wrong = right;
    (wrong.*array)[0] = 1e-20f;
    expect_in("must be 0, exactly", verdict(problem, wrong));
  }
}

TEST(AttentionJudge, AllowsTheRoundingOfOperandsWhereItIsAnnounced) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const AttentionProblem problem =
        make_problem({.T_q = 20, .T_k = 300, .H_q = 2, .H_kv = 2, .D = 64, .precision = precision});
    const auto outputs = run(plain({.operands_rounded = true}), problem);
    EXPECT_TRUE(is_right(problem, outputs, Arithmetic::kBf16Operands));
    const AttentionGradProblem gradients = reference::make_attention_grad_problem(problem);
    EXPECT_TRUE(is_right(gradients, run_backward(plain({.operands_rounded = true}), gradients),
                         Arithmetic::kBf16Operands));
  }
}

TEST(AttentionDiagnosis, Masks) {
  expect_diagnosis("without the causal mask", kCausal, {.no_causal_mask = true});
  expect_diagnosis("with the first query aligned with the first key", kCausal,
                   {.first_with_first = true});
  const AttentionCase lengths = with(kFull, [](AttentionCase& c) { c.key_lengths = true; });
  expect_diagnosis("the key lengths ignored", lengths, {.no_key_lengths = true});
}

TEST(AttentionDiagnosis, LastTileUnmasked) {
  for (const std::int64_t tile : {16, 32, 64, 128}) {
    expect_diagnosis("keys of zeros behind the last one, in tiles of " + std::to_string(tile),
                     with(kFull, [](AttentionCase& c) { c.T_k = 129; }),
                     {.last_tile_unmasked = true, .key_tile = tile});
  }
}

TEST(AttentionDiagnosis, MaskedAfterTheExponent) {
  expect_diagnosis("masked keys counted in the sum, in tiles of 32", kCausal,
                   {.masked_after_exp = true});
}

TEST(AttentionDiagnosis, Rescaling) {
  expect_diagnosis("without rescaling o when the maximum grows, in tiles of 32", kFull,
                   {.o_not_rescaled = true});
  expect_diagnosis("without rescaling the sum when the maximum grows, in tiles of 16", kFull,
                   {.sum_not_rescaled = true, .key_tile = 16});
  expect_diagnosis("without rescaling o and the sum when the maximum grows, in tiles of 1", kCausal,
                   {.o_not_rescaled = true, .sum_not_rescaled = true, .key_tile = 1});
}

TEST(AttentionDiagnosis, MaximumNotCarried) {
  const AttentionCase huge = with(kFull, [](AttentionCase& c) { c.magnitude = 100.0f; });
  EXPECT_EQ(verdict(kFull, {.maximum_not_carried = true}), "right");  // it only overflows
  expect_diagnosis("the maximum not carried from tile to tile, in tiles of 32", huge,
                   {.maximum_not_carried = true});
  expect_diagnosis("the maximum not carried from tile to tile and without rescaling o and the sum",
                   kFull,
                   {.maximum_not_carried = true, .o_not_rescaled = true, .sum_not_rescaled = true});
}

TEST(AttentionDiagnosis, Others) {
  expect_diagnosis("the scale forgotten", kFull, {.no_scale = true});
  expect_diagnosis("h % H_kv", kFull, {.heads_modulo = true});
  expect_diagnosis("without the division by the sum", kFull, {.not_divided = true});
  expect_diagnosis("lse in base 2", kCausal, {.lse_in_base_2 = true});
  expect_diagnosis("lse without the maximum", kCausal, {.lse_without_maximum = true});
}

TEST(AttentionDiagnosis, Gradients) {
  expect_backward_diagnosis("without the causal mask", kCausal, {.no_causal_mask = true});
  expect_backward_diagnosis("the first query aligned with the first key", kCausal,
                            {.first_with_first = true});
  expect_backward_diagnosis("delta forgotten", kFull, {.delta_forgotten = true});
  expect_backward_diagnosis("WRONG RESULT in dk", kFull, {.dk_unscaled = true});
  expect_backward_diagnosis("the gradient without the scale", kFull, {.dk_unscaled = true});
}

TEST(AttentionOnDevice, NoticesWritesOverTheForwardPass) {
  const AttentionGradProblem problem = reference::make_attention_grad_problem(make_problem(kFull));
  const Implementation over_o{.name = "over_o",
                              .launchers = launchers<AttentionBackward>(
                                  [](const AttentionGradArgs& a) { a.forward.o[0] += 1.0f; })};
  const Implementation over_lse{.name = "over_lse",
                                .launchers = launchers<AttentionBackward>(
                                    [](const AttentionGradArgs& a) { a.forward.lse[3] += 1.0f; })};
  EXPECT_THROW(run_backward(over_o, problem), WroteElsewhere);
  EXPECT_THROW(run_backward(over_lse, problem), WroteElsewhere);
}

}  // namespace
}  // namespace ladder::testing
