#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::LinearAttentionCase;
using ladder::Precision;

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunkwise",
    {.storages = {"fp32", "bf16"},
     .sizes = {{"T", {0, 1, 17, 18, 20, 64, 130, 200}},
               {"K", {4, 64, 100}},
               {"V", {4, 1, 3, 64, 100}}},
     .nan_tile = 64,
     .also = {{{{"B", 1}, {"T_q", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 4}},
               {{"normalize", "false"}, {"key_lengths", "true"}, {"seed", "70"}},
               "bf16"},
              {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 64}, {"V", 4}},
               {{"eps", "8"}, {"key_lengths", "true"}, {"seed", "56"}},
               "bf16"},
              {{{"B", 2}, {"T_q", 1}, {"T", 64}, {"H", 3}, {"K", 64}, {"V", 100}},
               {{"normalize", "false"}, {"magnitude", "1e8"}, {"seed", "2"}},
               "bf16"},
              {{{"B", 2}, {"T_q", 64}, {"T", 1}, {"H", 3}, {"K", 4}, {"V", 100}},
               {{"feature_map", "identity"}, {"normalize", "false"}, {"seed", "43"}}},
              {{{"B", 2}, {"T_q", 64}, {"T", 1}, {"H", 3}, {"K", 4}, {"V", 64}},
               {{"causal", "false"},
                {"feature_map", "identity"},
                {"normalize", "false"},
                {"key_lengths", "true"},
                {"magnitude", "1e-8"},
                {"seed", "576"}}}},
     // Chunks of 16 to 64 steps; segments of four chunks and more.
     .borders = {{.size = "K", .at = {64, 128}},
                 {.size = "V", .at = {64, 128}},
                 {.size = "T", .at = {32, 64, 128}},
                 {.size = "T", .at = {255, 512}, .others = {{"H", 1}}}}});

void expect_right(const LinearAttentionCase& c) {
  const auto implementation = ladder::find_implementation("linear_attention_chunkwise");
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Few heads and a long sequence: time is cut into segments, each of which begins with what those before it have summed, in each of
// two column tiles.
KERNEL_TEST(linear_attention_chunkwise, MatchesReferenceWhereTimeIsCut) {
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
KERNEL_TEST(linear_attention_chunkwise, MatchesReferenceWithWideStates) {
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
