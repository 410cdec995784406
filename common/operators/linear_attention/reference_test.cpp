// Compares the recurrence of linear attention with the closed sum.
#include <gtest/gtest.h>

#include <cmath>

#include "common/operators/linear_attention/truth.hpp"
#include "common/testing/self_test.hpp"

namespace ladder {
namespace {

using testing::expect_close;

TEST(LinearAttention, RecurrenceEqualsClosedSum) {
  for (bool causal : {false, true}) {
    for (bool normalize : {false, true}) {
      for (FeatureMap map : {FeatureMap::kIdentity, FeatureMap::kEluPlusOne}) {
        if (normalize && map == FeatureMap::kIdentity) continue;
        for (bool lengths : {false, true}) {
          for (auto [T_q, T_k] : {std::pair{13, 13}, {13, 8}, {8, 13}, {1, 4}, {3, 0}, {0, 3}}) {
            LinearAttentionCase c{.B = 3, .T_q = T_q, .T_k = T_k, .H = 2, .K = 5, .V = 7};
            c.causal = causal;
            c.feature_map = map;
            c.normalize = normalize;
            c.key_lengths = lengths;
            SCOPED_TRACE(name_of(c));
            const LinearAttentionProblem problem = make_problem(c);
            expect_close(linear_attention_recurrence(problem),
                         linear_attention_closed_sum(problem));
          }
        }
      }
    }
  }
}

TEST(LinearAttention, OneKeyGivesItsValue) {
  const LinearAttentionProblem problem =
      make_problem(LinearAttentionCase{.B = 1, .T_q = 4, .T_k = 1, .H = 1, .K = 3, .V = 2});
  const auto o = linear_attention_recurrence(problem);
  for (int l = 0; l < 4; ++l) {
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(o[l * 2 + i], problem["v"][i], 1e-5);
  }
}

}  // namespace
}  // namespace ladder
