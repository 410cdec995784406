// Variants give distinct results on the plain case. Right results and zeros have no diagnosis.
#include <gtest/gtest.h>

#include "common/operators/attention/mistakes.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

// The usual scale is NaN in a case, which stands for 1 / sqrt(D), and cannot be given as an option.
TEST(Cases, CanBeAsOthersWithTheUsualScale) {
  const Operator& op = find_operator("attention");
  const std::shared_ptr<const Case> usual = op.make_case({}, {}, "fp32"),
                                    scaled = op.make_case({}, {{"scale", "0.5"}}, "fp32");
  const auto differences = scaled->differences(*usual);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].changed->text(), scaled->text());
  EXPECT_EQ(scaled->without({differences[0].words}, *usual)->text(), usual->text());
}

TEST(Variants, OfAttentionAreDistinctOnThePlainCase) {
  for (const std::int64_t keys : {17, 50, 70}) {
    SCOPED_TRACE(keys);
    expect_distinct_variants(make_problem(plain_attention_case({.plain_steps = keys})));
  }
}

TEST(Variants, OfAttentionWithAWindowAreDistinctOnThePlainCase) {
  for (const std::int64_t keys : {17, 70}) {
    SCOPED_TRACE(keys);
    expect_distinct_variants(
        make_problem(plain_attention_case({.options = {{"window", {"5"}}}, .plain_steps = keys})));
  }
}

TEST(Variants, OfAttentionWithWiderValuesAreDistinctOnThePlainCase) {
  AttentionCase c = plain_attention_case({});
  c.D_v = c.D + 8;
  expect_distinct_variants(make_problem(c));
}

TEST(Variants, OfAttentionsGradientsAreDistinctOnThePlainCase) {
  expect_distinct_variants(AttentionGradProblem(plain_attention_case({})));
  AttentionCase c = plain_attention_case({.options = {{"window", {"5"}}}});
  expect_distinct_variants(AttentionGradProblem(c));
  c.softcap = 1;
  expect_distinct_variants(AttentionGradProblem(c));
}

TEST(Variants, LoopsOfAttentionAreRight) {
  for (const AttentionCase& c : attention_cases({.options = {{"window", {"1", "20"}},
                                                             {"softcap", {"3"}},
                                                             {"scale", {"-0.25"}},
                                                             {"D_v", {"24", "72"}}}})) {
    if (c.T_q > 63 || c.T_k > 63) continue;
    expect_right_loop(make_problem(c));
    expect_right_loop(AttentionGradProblem(c));
  }
}

// A kernel that uses a tile's buffer before the tile has arrived.
TEST(Variants, ATileThatIsTheOneBeforeIsNamedWithItsArray) {
  using S = AttentionSwitches;
  const AttentionProblem problem = make_problem(plain_attention_case({.plain_steps = 70}));
  const auto said = [&](S::Array array, S::Stale stale) {
    const AttentionResult wrong =
        attention_loop(problem.args(), {.tile = 16, .stale = stale, .stale_array = array});
    return said_of(problem, problem.stored({wrong.o, wrong.lse}));
  };
  expect_words("It equals the result with K of the tile before in each tile of 16.\n",
               said(S::Array::kK, S::Stale::kAll));
  expect_words("It equals the result with V of the tile before in every second tile of 16.\n",
               said(S::Array::kV, S::Stale::kEverySecond));
}

TEST(Variants, ZerosAndRightResultsOfAttentionHaveNoName) {
  const AttentionCase c = plain_attention_case({});
  expect_no_name(make_problem(c));
  expect_no_name(AttentionGradProblem(c));
}

TEST(Probe, SaysNothingOfRightAttention) {
  for (const auto& [precision, causal] :
       {std::pair{Precision::kFp32, true}, {Precision::kBf16, false}, {Precision::kFp16, true}}) {
    AttentionCase c = plain_attention_case({});
    c.precision = precision;
    c.causal = causal;
    if (causal) c.D_v = c.D - 8;
    expect_nothing_probed(make_problem(c));
    expect_nothing_probed(AttentionGradProblem(c));
  }
}

// Without the cases of size 0, which a shape cannot express.
TEST(FoundCases, OfAttentionAreTheCasesOfItsDesign) {
  const auto usual = operator_of<Attention>().usual_case().as<AttentionCase>();
  for (const AttentionCase& c :
       attention_cases({.storages = {"fp32", "bf16", "fp16"}, .options = {{"D_v", {"40"}}}})) {
    if (c.T_q == 0 || c.T_k == 0) continue;
    const Shape shape = {
        {"B", c.B},     {"T", c.T_k},    {"H", c.H_q}, {"K", c.D}, {"V", c.channels_of_v()},
        {"T_q", c.T_q}, {"H_kv", c.H_kv}};
    const AttentionCase found =
        found_cases<Attention>({{shape, options_of(c, usual), storage_of(c)}}).front();
    EXPECT_EQ(name_of(found), name_of(c));
    EXPECT_EQ(make_problem(found)["q"], make_problem(c)["q"]);
  }
}

}  // namespace
}  // namespace ladder::testing
