#include <gtest/gtest.h>

#include "common/operators/compare.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/suite.hpp"

namespace {

using ladder::LinearAttentionCase;
using ladder::Precision;

const bool registered = ladder::testing::register_linear_attention_suite(
    "linear_attention_chunkwise",
    {.bf16 = true,
     .nan_tile = 64,
     .lengths = {0, 1, 17, 18, 20, 64, 130, 200},
     .K_sizes = {4, 64, 100},
     .V_sizes = {4, 1, 3, 64, 100},
     .also = {{"B1_Tq1_Tk130_H2_K64_V4_causal_elu_key_lengths_bf16", 70},
              {"B2_Tq17_Tk17_H3_K64_V4_causal_elu_normalized_eps_key_lengths_bf16", 56},
              {"B2_Tq1_Tk64_H3_K64_V100_causal_elu_huge_bf16", 2},
              {"B2_Tq64_Tk1_H3_K4_V100_causal", 43},
              {"B2_Tq64_Tk1_H3_K4_V64_full_key_lengths_tiny", 576}}});

void expect_right(const LinearAttentionCase& c) {
  const auto implementation = ladder::find_implementation("linear_attention_chunkwise");
  if (ladder::testing::device_is_missing(implementation)) return;
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Few heads and a long sequence: time is cut into segments, each of which begins with what those before it have summed, in each of
// two column tiles.
TEST(linear_attention_chunkwise, MatchesReferenceWhereTimeIsCut) {
  for (const bool causal : {true, false}) {
    LinearAttentionCase c{.B = 2, .T_q = 530, .T_k = 600, .H = 1, .K = 20, .V = 100};
    c.precision = Precision::kBf16;
    c.causal = causal;
    c.key_lengths = true;
    expect_right(c);
    c = {.B = 1, .T_q = 300, .T_k = 270, .H = 1, .K = 32, .V = 100};
    c.causal = causal;
    c.feature_map = ladder::FeatureMap::kIdentity;
    c.normalize = false;
    expect_right(c);
  }
}

// The suite's cases have at most 100 rows.
TEST(linear_attention_chunkwise, MatchesReferenceWithWideStates) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    LinearAttentionCase c{.B = 1, .T_q = 40, .T_k = 40, .H = 2, .K = 256, .V = 72};
    c.precision = precision;
    expect_right(c);
    c.feature_map = ladder::FeatureMap::kIdentity;
    c.normalize = false;
    expect_right(c);
  }
}

}  // namespace
