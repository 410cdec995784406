#include "common/operators/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "common/operators/compare.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/named_words.hpp"
#include "common/operators/plain_case.hpp"
#include "common/operators/sequence_suite.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

LinearAttentionCase ragged_case(const LinearAttentionSupport& support) {
  const bool plain = support.causal_dot_product_only;
  return {.B = 2,
          .T_q = 37,
          .T_k = 37,
          .H = 3,
          .K = preferred(support.K_sizes, 64),
          .V = preferred(support.V_sizes, 100),
          .feature_map = plain ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne,
          .normalize = !plain,
          .precision = support.fp32 ? Precision::kFp32 : Precision::kBf16};
}

std::vector<Precision> precisions(const LinearAttentionSupport& support) {
  std::vector<Precision> result;
  if (support.fp32) result.push_back(Precision::kFp32);
  if (support.bf16) result.push_back(Precision::kBf16);
  return result;
}

Design<LinearAttentionCase> linear_attention_design(const LinearAttentionSupport& support) {
  using Case = LinearAttentionCase;
  const bool plain = support.causal_dot_product_only;
  Design<Case> design;
  design.factor("T_q", support.lengths, &Case::T_q);
  if (!plain) design.factor("T_k", support.lengths, &Case::T_k);
  design.factor("K", support.K_sizes, &Case::K);
  design.factor("V", support.V_sizes, &Case::V);
  design.factor("magnitude", std::vector<float>{1.0f, 1e8f, 1e-8f}, &Case::magnitude);
  design.factor("precision", precisions(support), &Case::precision);
  if (plain) return design;
  const std::vector<bool> both = {false, true};
  const float usual_eps = Case{}.eps, large_eps = 8.0f;  // as large as a normaliser of few keys
  const std::vector<FeatureMap> maps = {FeatureMap::kIdentity, FeatureMap::kEluPlusOne};
  design.factor("causal", std::vector<bool>{true, false}, &Case::causal);
  design.factor("normalize", both, &Case::normalize);
  design.factor("feature_map", maps, &Case::feature_map);
  design.factor("eps", std::vector<float>{usual_eps, large_eps}, &Case::eps);
  design.factor("key_lengths", both, &Case::key_lengths);
  design.exclude("normalize", true, "feature_map", FeatureMap::kIdentity,
                 "a normaliser of terms of both signs may be 0");
  design.exclude("normalize", false, "eps", large_eps, "eps belongs to the normaliser");
  design.exclude("feature_map", FeatureMap::kIdentity, "eps", large_eps,
                 "without elu + 1 there is no normaliser here");
  return design;
}

// Few heads, rows of whole 16-byte words.
LinearAttentionCase isolation_case(const LinearAttentionSupport& support) {
  LinearAttentionCase c = ragged_case(support);
  c.H = 2;
  c.T_q = c.T_k = 122;
  c.K = preferred(support.K_sizes, 64);
  c.V = preferred(support.V_sizes, 64);
  return c;
}

// One batch per length; what lies behind is not a number.
LinearAttentionProblem with_key_lengths(LinearAttentionCase c,
                                        const std::vector<std::int64_t>& lengths) {
  c.B = static_cast<std::int64_t>(lengths.size());
  c.key_lengths = true;
  LinearAttentionProblem problem = make_problem(c);
  problem.key_lengths.data = lengths;
  for (std::int64_t b = 0; b < c.B; ++b) {
    const std::int64_t first = b * c.T_k + lengths[b], behind = c.T_k - lengths[b];
    std::fill_n(problem.k.data.begin() + first * c.H * c.K, behind * c.H * c.K, kNan);
    std::fill_n(problem.v.data.begin() + first * c.H * c.V, behind * c.H * c.V, kNan);
  }
  return problem;
}

// Key 119 of one batch and head reaches its query and the later ones, and those before it in its tile; in the full form all.
void expect_isolation(const Implementation& i, const LinearAttentionSupport& support,
                      const LinearAttentionCase& c) {
  constexpr std::int64_t b = 1, t = 119, h = 1;
  const LinearAttentionProblem clean = make_problem(c);
  const std::vector<float> before = run(i, clean);
  for (const float value : {kNan, INFINITY}) {
    SCOPED_TRACE(value);
    LinearAttentionProblem spoilt = clean;
    const std::int64_t row = (b * c.T_k + t) * c.H + h;
    std::fill_n(spoilt.k.data.begin() + row * c.K, c.K, value);
    std::fill_n(spoilt.v.data.begin() + row * c.V, c.V, value);
    expect_reach("o", before, run(i, spoilt), support.repeatable, [&](std::int64_t element) {
      const std::int64_t token = element / c.V / c.H, query = token % c.T_q;
      if (token / c.T_q != b || element / c.V % c.H != h) return Reach::kMustNot;
      if (!c.causal || query >= t) return Reach::kMust;
      return query >= t / support.nan_tile * support.nan_tile ? Reach::kMay : Reach::kMustNot;
    });
  }
}

// What the lists do not tell.
template <typename Args>
std::vector<BadInput<Args>> bad_linear_attention_inputs(const LinearAttentionSupport& support,
                                                        DeviceKind where) {
  std::vector<BadInput<Args>> bad = {{"eps", [](Args& a) { a.eps = -1.0f; }}};
  const auto beyond = [&](const char* argument, std::int64_t Args::*size, std::int64_t most) {
    if (most != 0) bad.push_back({argument, [=](Args& a) { a.*size = most + 1; }});
  };
  const std::int64_t step = support.multiple;
  beyond("K", &Args::K, support.most_K == 0 ? 0 : support.most_K + step - 1);
  beyond("V", &Args::V, support.most_V == 0 ? 0 : support.most_V + step - 1);
  if (step > 1) {
    bad.push_back({"K", [=](Args& a) { a.K = step + 1; }});
    bad.push_back({"V", [=](Args& a) { a.V = step + 1; }});
  }
  beyond("B", &Args::B, support.most_B);
  beyond("H", &Args::H, support.most_H);
  static const std::int64_t too_long[] = {1000, 1000};
  if (support.causal_dot_product_only) {
    bad.push_back({"causal", [](Args& a) { a.causal = false; }});
    bad.push_back({"normalize", [](Args& a) { a.normalize = true; }});
    bad.push_back({"feature_map", [](Args& a) { a.feature_map = FeatureMap::kEluPlusOne; }});
    bad.push_back({"T_k", [](Args& a) { a.T_k = 2; }});
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  } else if (where == DeviceKind::kCpu) {  // a launcher does not read what is on a GPU
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  }
  return bad;
}

}  // namespace

LinearAttentionCase plain_linear_attention_case(const LinearAttentionSupport& support) {
  LinearAttentionCase c = ragged_case(support);
  c.T_q = support.plain_steps;
  c.T_k = support.causal_dot_product_only ? c.T_q : c.T_q + 1;
  c.eps = support.causal_dot_product_only ? c.eps : 8.0f;  // as large as a normaliser of few keys
  std::tie(c.K, c.V) = plain_sizes(support.K_sizes, support.V_sizes, c.T_k);
  return c;
}

std::vector<LinearAttentionCase> linear_attention_cases(const LinearAttentionSupport& support) {
  return with_named(linear_attention_design(support).cases(
                        ragged_case(support),
                        [&](LinearAttentionCase& c) {
                          if (support.causal_dot_product_only) c.T_k = c.T_q;
                          std::tie(c.B, c.H) = batch_and_heads(std::max(c.T_q, c.T_k));
                        },
                        wanted_draw()),
                    support.also, linear_attention_case);
}

bool register_linear_attention_suite(const std::string& implementation,
                                     const LinearAttentionSupport& support) {
  const std::vector<LinearAttentionCase> cases = linear_attention_cases(support);
  add_plain_case<LinearAttention>(implementation, "", plain_linear_attention_case(support));
  add_cases(implementation, "", linear_attention_design(support), cases,
            [](const Implementation& i, const LinearAttentionCase& c) {
              expect_right<LinearAttention>(i, make_problem(c));
            });
  add(
      implementation, "MatchesReferenceInNarrowRows",
      [support](const Implementation& i) {
        for (const Precision precision : precisions(support)) {
          for (const std::int64_t V : kNarrow) {
            if (V % support.multiple != 0) continue;
            LinearAttentionCase c = ragged_case(support);
            c.H = 2;
            c.T_q = c.T_k = 18;
            c.V = V;
            c.precision = precision;
            expect_right<LinearAttention>(i, make_problem(c));
            if (support.causal_dot_product_only) continue;
            c.T_k = 1;
            expect_right<LinearAttention>(i, make_problem(c));
          }
        }
      },
      0);
  add(implementation, "RefusesBadInput", [support](const Implementation& i) {
    LinearAttentionCase c = ragged_case(support);
    c.key_lengths = !support.causal_dot_product_only;
    expect_bad_input_refused<LinearAttention>(i, make_problem(c), [&]<typename Args>() {
      return bad_linear_attention_inputs<Args>(support, i.device);
    });
  });
  add(
      implementation, "TakesNoStepsAndNullTensors",
      [support](const Implementation& i) {
        LinearAttentionCase c = ragged_case(support);
        c.T_q = c.T_k = 0;
        with_storage<LinearAttention>(storage_of(c), [&]<typename Args>() {
          Args args;
          copy_fields(sizes_of(c), args);
          EXPECT_NO_THROW(launch<LinearAttention>(i, args));
          device(i.device).synchronize();
        });
      },
      0);
  const std::vector<Precision> stored_as = precisions(support);
  for (std::size_t n = 0; n < stored_as.size(); ++n) {
    add(
        implementation, std::string("TakesOrRefusesAnyAlignment") + test_word(stored_as[n]),
        [=](const Implementation& i) {
          LinearAttentionCase c = isolation_case(support);
          c.T_q = c.T_k = 17;
          c.precision = stored_as[n];
          c.key_lengths = !support.causal_dot_product_only;
          expect_right_or_refused_when_shifted(arrays_of<LinearAttention>(c), [&] {
            expect_right<LinearAttention>(i, make_problem(c));
          });
        },
        n);
  }
  for (const bool causal : {true, false}) {
    if (!causal && support.causal_dot_product_only) continue;
    add(
        implementation, std::string("KeepsNanToItself") + (causal ? "" : "InTheFullForm"),
        [=](const Implementation& i) {
          LinearAttentionCase c = isolation_case(support);
          c.causal = causal;
          expect_isolation(i, support, c);
        },
        causal);
  }
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [support](const Implementation& i) {
      LinearAttentionCase c = ragged_case(support);
      c.T_q = c.T_k = 65;
      const LinearAttentionProblem problem = make_problem(c);
      EXPECT_EQ(run(i, problem), run(i, problem));
    });
  }
  if (support.causal_dot_product_only) return true;
  add(implementation, "TakesKeyLengths", [support](const Implementation& i) {
    for (const bool causal : {true, false}) {
      LinearAttentionCase c = ragged_case(support);
      c.H = 2;
      c.T_q = c.T_k = 70;
      c.causal = causal;
      expect_right<LinearAttention>(i, with_key_lengths(c, {0, 1, 64, 70}));
    }
  });
  // A launcher cannot read lengths that lie on a GPU; the kernel must not follow a bad one into the next batch.
  add(
      implementation, "TakesBadKeyLengthsForTheNearestGoodOnes",
      [support](const Implementation& i) {
        for (const bool causal : {true, false}) {
          LinearAttentionCase c = ragged_case(support);
          c.H = 2;
          c.T_q = c.T_k = 40;
          c.causal = causal;
          const LinearAttentionProblem good = with_key_lengths(c, {0, 40, 0, 40});
          LinearAttentionProblem bad = good;
          bad.key_lengths.data = {-3, 41, std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()};
          if (i.device == DeviceKind::kCpu) {
            EXPECT_THROW(run(i, bad), std::invalid_argument);
          } else {
            EXPECT_TRUE(is_right(good, run(i, bad), arithmetic_of(i, c.precision)));
          }
        }
      },
      1);
  return true;
}

LinearAttentionCase linear_attention_case(const NamedCase& named) {
  Words words(named.name);
  LinearAttentionCase c;
  c.B = words.size("B");
  c.T_q = words.size("Tq");
  c.T_k = words.size("Tk");
  c.H = words.size("H");
  c.K = words.size("K");
  c.V = words.size("V");
  c.causal = words.next("causal");
  if (!c.causal) words.next("full");
  c.feature_map = words.next("elu") ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
  c.normalize = words.next("normalized");
  if (words.next("eps")) c.eps = 8.0f;
  c.key_lengths = words.next("key_lengths");
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

}  // namespace ladder::testing
