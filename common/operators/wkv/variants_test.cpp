// Variants give distinct results on the plain case. Right results and zeros have no diagnosis.
#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

// The plain cases of all implementations have these steps.
constexpr std::int64_t kFewSteps = 18, kSomeChunks = 34;

TEST(Variants, OfWkvAndGlaAreDistinctOnThePlainCase) {
  for (const auto& [recurrence, steps] : {std::pair{Recurrence::kWkv, kFewSteps},
                                          {Recurrence::kGla, kFewSteps},
                                          {Recurrence::kGla, kSomeChunks}}) {
    const WkvCase c = plain_wkv_case({.plain_steps = steps}, recurrence);
    EXPECT_GE(wkv_variants(c).size(), 20u);
    expect_distinct_variants(make_problem(c));
  }
}

TEST(Variants, OfWkvsGradientsAreDistinctOnThePlainCase) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla})
    expect_distinct_variants(make_grad_problem(plain_wkv_case({}, recurrence)));
}

TEST(Variants, WkvsLoopsAreRight) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const WkvCase& c : wkv_cases({}, recurrence)) {
      if (c.T > 20) continue;
      expect_right_loop(make_grad_problem(c));
      expect_right_loop(make_problem(c));
    }
  }
}

TEST(Variants, AFactorIsSaid) {
  const WkvProblem problem = make_problem(plain_wkv_case({}));
  WkvOutputs wrong = right_answer(problem);
  for (float& x : wrong.o)
    x /= 32;
  expect_words("Each element is 0.0312 times what it should be.\n", said_of(problem, wrong));
}

TEST(Variants, WkvsZerosAndRightResultsHaveNoName) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvCase c = plain_wkv_case({}, recurrence);
    expect_no_name(make_problem(c));
    expect_no_name(make_grad_problem(c));
  }
}

// Without the cases of size 0, which a shape cannot express.
TEST(FoundCases, OfWkvAndGlaAreTheCasesOfTheirDesign) {
  const Support support{.storages = {"fp32", "bf16", "bf16_fp32_decay"}};
  for (const WkvCase& c : wkv_cases(support)) {
    if (c.T == 0) continue;
    const Shape shape = {{"B", c.B}, {"T", c.T}, {"H", c.H}, {"K", c.K}, {"V", c.V}};
    const FoundCase said{shape, options_of(c, operator_of<Wkv>().usual_case().as<WkvCase>()),
                         storage_of(c)};
    const WkvCase found = found_cases<Wkv>({said}).front();
    EXPECT_EQ(name_of(found), name_of(c));
    EXPECT_EQ(make_problem(found)["q"], make_problem(c)["q"]);
    EXPECT_EQ(name_of(found_cases<Gla>({said}).front()), "gla_" + name_of(c));
  }
}

WkvCase random_case(SmallDraw& draw) {
  constexpr Decay kDecays[] = {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal,
                               Decay::kStrongToken};
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16,
                                       Precision::kBf16Fp32Decay};
  WkvCase c{.recurrence = draw.coin() ? Recurrence::kWkv : Recurrence::kGla, .H = 2};
  c.T = draw.length();
  c.K = draw.size();
  c.V = draw.width();
  c.decay = draw.one_of(kDecays);
  c.decay_per_head = draw.coin() && c.decay != Decay::kStrongToken;
  c.initial_state = c.final_state = draw.coin();
  c.precision = draw.one_of(kPrecisions);
  c.seed = draw.seed();
  return c;
}

TEST(JudgeIsSharp, ForWkvAndGla) {
  expect_sharp_judge<Wkv>(random_case);
}

TEST(JudgeIsSharp, ForTheirGradients) {
  expect_sharp_judge<WkvBackward>(random_case);
}

}  // namespace
}  // namespace ladder::testing
