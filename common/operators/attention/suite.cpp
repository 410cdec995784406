#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/compare.hpp"
#include "common/operators/named_words.hpp"
#include "common/operators/plain_case.hpp"
#include "common/operators/sequence_suite.hpp"
#include "common/operators/suite.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

using Heads = std::pair<std::int64_t, std::int64_t>;  // H_q, H_kv

std::vector<Heads> heads(const AttentionSupport& support) {
  if (support.grouped) return {{2, 2}, {2, 1}, {4, 2}};
  return {{2, 2}, {3, 3}};
}

std::vector<Precision> precisions(const AttentionSupport& support) {
  std::vector<Precision> result;
  if (support.fp32) result.push_back(Precision::kFp32);
  if (support.bf16) result.push_back(Precision::kBf16);
  if (support.fp16) result.push_back(Precision::kFp16);
  return result;
}

std::vector<bool> masks(const AttentionSupport& support) {
  if (support.causal) return {false, true};
  return {false};
}

// Sizes that are unlike each other and no powers of two, as far as they are supported.
AttentionCase ragged_case(const AttentionSupport& support) {
  const std::int64_t H_kv = support.grouped ? 1 : 3;
  const bool has_64 = std::count(support.D_sizes.begin(), support.D_sizes.end(), 64) > 0;
  return {.B = 2,
          .T_q = std::min<std::int64_t>(37, support.most_queries),
          .T_k = 50,
          .H_q = 3,
          .H_kv = H_kv,
          .D = has_64 ? 64 : support.D_sizes.front(),
          .precision = precisions(support).front()};
}

// For what runs several times.
AttentionCase few_heads(const AttentionSupport& support, std::int64_t T_q, std::int64_t T_k) {
  AttentionCase c = ragged_case(support);
  c.B = 1;
  c.T_q = std::min(T_q, support.most_queries);
  c.T_k = T_k;
  c.H_q = 2;
  c.H_kv = support.grouped ? 1 : 2;
  return c;
}

// Two key heads, and where that is supported two query heads for each.
AttentionCase grouped_heads(const AttentionSupport& support, std::int64_t T_q, std::int64_t T_k) {
  AttentionCase c = few_heads(support, T_q, T_k);
  c.H_q = support.grouped ? 4 : 2;
  c.H_kv = 2;
  return c;
}

Design<AttentionCase> attention_design(const AttentionSupport& support) {
  using Case = AttentionCase;
  using Pair = std::pair<std::int64_t, std::int64_t>;
  Design<Case> design;
  std::vector<Pair> lengths;
  for (const Case::Lengths& each : support.lengths)
    lengths.push_back({std::min(each.queries, support.most_queries), each.keys});
  design.factor(
      "T_qxT_k", lengths, [](Case& c, const Pair& length) { std::tie(c.T_q, c.T_k) = length; },
      [](const Case& c) {
        return Pair{c.T_q, c.T_k};
      });
  design.factor("D", support.D_sizes, &Case::D);
  design.factor(
      "H_qxH_kv", heads(support),
      [](Case& c, const Heads& each) { std::tie(c.H_q, c.H_kv) = each; },
      [](const Case& c) {
        return Heads{c.H_q, c.H_kv};
      });
  design.factor("causal", masks(support), &Case::causal);
  design.factor("scale", std::vector<float>{0.0f, 0.5f}, &Case::scale);
  design.factor("precision", precisions(support), &Case::precision);
  return design;
}

// Where something that is no number stands: in the query, key and value of one head, in the second sequence or batch.
constexpr std::int64_t kSpoiltSequence = 1, kSpoiltHead = 1;

// Key head 1 of the second sequence, its row `key`, and with it the first query head of its group, row `query`.
void spoil(AttentionProblem& problem, std::int64_t query, std::int64_t key, float value) {
  const AttentionCase& c = problem.attention_case;
  const AttentionProblem::Sequence s = problem.sequence(kSpoiltSequence);
  const std::int64_t q_row = (s.first_query + query) * c.H_q + kSpoiltHead * (c.H_q / c.H_kv);
  const std::int64_t k_row = (s.first_key + key) * c.H_kv + kSpoiltHead;
  std::fill_n(problem.q.data.begin() + q_row * c.D, c.D, value);
  std::fill_n(problem.k.data.begin() + k_row * c.D, c.D, value);
  std::fill_n(problem.v.data.begin() + k_row * c.D, c.D, value);
}

// What a key that is no number reaches of query `row` (of B * T_q) and query head h.
Reach reach_of_query(const AttentionProblem& problem, std::int64_t row, std::int64_t h,
                     std::int64_t query, std::int64_t key, std::int64_t tile) {
  const AttentionCase& c = problem.attention_case;
  const AttentionProblem::Sequence s = problem.sequence(kSpoiltSequence);
  const std::int64_t l = row - s.first_query, group = c.H_q / c.H_kv;
  if (h / group != kSpoiltHead || l < 0 || l >= s.queries) return Reach::kMustNot;
  const std::int64_t seen = problem.keys_seen(s, l);
  if (seen > key) return Reach::kMust;
  if (l == query && h == kSpoiltHead * group) return Reach::kMay;
  return seen > key / tile * tile ? Reach::kMay : Reach::kMustNot;
}

// One key and one query: in the causal form the queries before see neither.
void expect_isolation(const Implementation& i, const AttentionSupport& support,
                      const AttentionCase& c) {
  const AttentionProblem clean = make_problem(c);
  const AttentionOutputs before = run(i, clean);
  const AttentionProblem::Sequence s = clean.sequence(kSpoiltSequence);
  const std::int64_t key = s.keys - 3, query = s.queries - 2;
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SCOPED_TRACE(value);
    AttentionProblem spoilt = clean;
    spoil(spoilt, query, key, value);
    const AttentionOutputs after = run(i, spoilt);
    const auto reach = [&](std::int64_t row, std::int64_t h) {
      return reach_of_query(clean, row, h, query, key, support.nan_tile);
    };
    expect_reach("o", before.o, after.o, support.repeatable, [&](std::int64_t element) {
      return reach(element / c.D / c.H_q, element / c.D % c.H_q);
    });
    for (std::int64_t row = 0; row < c.B * c.T_q; ++row) {
      for (std::int64_t h = 0; h < c.H_q; ++h) {
        if (reach(row, h) != Reach::kMustNot) continue;
        const std::int64_t at = clean.lse_index(row, h);
        ASSERT_EQ(before.lse[at], after.lse[at]) << "lse of query " << row << ", head " << h;
      }
    }
  }
}

// Gradients of the sequence and the key head may be reached, no others.
void expect_isolated_gradients(const Implementation& i, const AttentionSupport& support,
                               const AttentionCase& c) {
  const AttentionGradProblem clean = reference::make_attention_grad_problem(make_problem(c));
  const AttentionGradients before = run_backward(i, clean);
  const AttentionProblem::Sequence s = clean.forward.sequence(kSpoiltSequence);
  const std::int64_t group = c.H_q / c.H_kv;
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SCOPED_TRACE(value);
    AttentionGradProblem spoilt = clean;
    spoil(spoilt.forward, s.queries - 2, s.keys - 3, value);
    const std::int64_t row =
        (s.first_query + s.queries - 2) * c.H_q + kSpoiltHead * (c.H_q / c.H_kv);
    std::fill_n(spoilt.d_o.data.begin() + row * c.D, c.D, value);
    const AttentionGradients after = run_backward(i, spoilt);
    const auto of_rows = [&](std::int64_t first, std::int64_t count, std::int64_t H,
                             std::int64_t heads_each) {
      return [=, D = c.D](std::int64_t element) {
        const std::int64_t row_of = element / D / H, h = element / D % H;
        const bool mine =
            row_of >= first && row_of < first + count && h / heads_each == kSpoiltHead;
        return mine ? Reach::kMay : Reach::kMustNot;
      };
    };
    expect_reach("dq", before.dq, after.dq, support.repeatable,
                 of_rows(s.first_query, s.queries, c.H_q, group));
    expect_reach("dk", before.dk, after.dk, support.repeatable_dk,
                 of_rows(s.first_key, s.keys, c.H_kv, 1));
    expect_reach("dv", before.dv, after.dv, support.repeatable_dv,
                 of_rows(s.first_key, s.keys, c.H_kv, 1));
    EXPECT_FALSE(
        std::all_of(after.dv.begin(), after.dv.end(), [](float x) { return std::isfinite(x); }));
  }
}

// The forward pass, or the gradients of it.
template <typename Op>
void expect(const Implementation& i, const AttentionProblem& problem) {
  if constexpr (std::is_same_v<Op, Attention>) {
    expect_right<Op>(i, problem);
  } else {
    expect_right<Op>(i, reference::make_attention_grad_problem(problem));
  }
}

// No key, one, some and all of them; what lies behind is not a number.
AttentionProblem with_key_lengths(AttentionCase c) {
  const std::int64_t lengths[] = {0, 1, c.T_k - 6, c.T_k};
  c.B = 4;
  c.key_lengths = true;
  AttentionProblem problem = make_problem(c);
  std::copy_n(lengths, 4, problem.key_lengths.data.begin());
  const std::int64_t row = c.H_kv * c.D;
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (Tensor<float>* tensor : {&problem.k, &problem.v}) {
      std::fill_n(tensor->data.begin() + (b * c.T_k + lengths[b]) * row, (c.T_k - lengths[b]) * row,
                  std::numeric_limits<float>::quiet_NaN());
    }
  }
  return problem;
}

// What the forward pass and the gradients have in common.
template <typename Op>
void register_common_tests(const std::string& implementation, const AttentionSupport& support,
                           const std::string& prefix) {
  constexpr bool kBackward = std::is_same_v<Op, AttentionBackward>;
  add_plain_case<Op>(implementation, prefix, plain_attention_case(support));
  const std::vector<AttentionCase> cases = attention_cases(support);
  add_cases(
      implementation, prefix, attention_design(support), cases,
      [](const Implementation& i, const AttentionCase& c) { expect<Op>(i, make_problem(c)); });
  // `change` the case for each mask the implementation has, and expect it right.
  const auto add_for_masks = [&](const std::string& test, const AttentionCase& c,
                                 const auto& problem_of) {
    add(implementation, prefix + test, [=](const Implementation& i) {
      for (const bool causal : masks(support)) {
        AttentionCase masked = c;
        masked.causal = causal;
        expect<Op>(i, problem_of(masked));
      }
    });
  };
  const auto as_drawn = [](const AttentionCase& c) { return make_problem(c); };
  AttentionCase empty = ragged_case(support);
  empty.B = 0;
  add_for_masks("TakesAnEmptyBatch", empty, as_drawn);
  add_for_masks("TakesOneKey", few_heads(support, 20, 1), as_drawn);
  add_for_masks("GivesZerosWithoutKeys", few_heads(support, 40, 0), as_drawn);
  if (support.causal && support.most_queries >= 100) {
    add(implementation, prefix + "MasksWholeQueriesExactly", [=](const Implementation& i) {
      for (const std::int64_t T_k : {1, 20, 66}) {
        AttentionCase c = few_heads(support, 100, T_k);
        c.causal = true;
        expect<Op>(i, make_problem(c));
      }
    });
  }
  for (const Precision precision : precisions(support)) {
    AttentionCase c = few_heads(support, 40, 130);
    c.precision = precision;
    c.magnitude = 100.0f;
    add_for_masks("SurvivesHugeScores/" + name_of(c), c, as_drawn);
  }
  if (support.packed) {
    std::vector<AttentionCase::Lengths> lengths = {{0, 5}, {5, 0},    {17, 17}, {1, 66},
                                                   {0, 0}, {130, 20}, {20, 135}};
    for (AttentionCase::Lengths& each : lengths)
      each.queries = std::min(each.queries, support.most_queries);
    add_for_masks("TakesPackedSequences", packed(grouped_heads(support, 1, 1), lengths), as_drawn);
  }
  if (support.key_lengths) {
    add_for_masks("TakesKeyLengths", grouped_heads(support, 20, 135), with_key_lengths);
  }
  const std::vector<Precision> stored_as = precisions(support);
  for (std::size_t n = 0; n < stored_as.size(); ++n) {
    AttentionCase c = grouped_heads(support, 17, 20);
    c.precision = stored_as[n];
    add(
        implementation, prefix + "TakesOrRefusesAnyAlignment" + test_word(c.precision),
        [=](const Implementation& i) {
          expect_right_or_refused_when_shifted(arrays_of<Op>(c),
                                               [&] { expect<Op>(i, make_problem(c)); });
          if (n != 0) return;
          if (support.key_lengths) {
            expect_right_or_refused_when_shifted({"key_lengths"},
                                                 [&] { expect<Op>(i, with_key_lengths(c)); });
          }
          if (support.packed) {
            expect_right_or_refused_when_shifted({"cu_seqlens_q", "cu_seqlens_k"}, [&] {
              expect<Op>(i,
                         make_problem(packed(
                             c, {{3, 5}, {std::min<std::int64_t>(20, support.most_queries), 20}})));
            });
          }
        },
        n);
  }
  AttentionCase isolated = grouped_heads(support, 20, 150);
  isolated.B = 2;
  const auto expect_isolated = kBackward ? expect_isolated_gradients : expect_isolation;
  for (const bool causal : masks(support)) {
    AttentionCase c = isolated;
    c.causal = causal;
    add(
        implementation, prefix + "KeepsNanToItself" + (causal ? "Causal" : ""),
        [=](const Implementation& i) { expect_isolated(i, support, c); }, causal);
  }
  if (support.packed) {
    AttentionCase c =
        packed(isolated, {{3, 20}, {std::min<std::int64_t>(20, support.most_queries), 40}, {9, 5}});
    add(
        implementation, prefix + "KeepsNanToItselfInPackedSequences",
        [=](const Implementation& i) { expect_isolated(i, support, c); }, 2);
  }
  add(implementation, prefix + "MatchesReferenceOnLongSequences", [=](const Implementation& i) {
    if (device(i.device).back_end() != "cuda")
      return skip("sequences of 1000 take the emulator minutes; on a GPU they are tested");
    std::size_t turn = 0;
    for (const bool causal : masks(support)) {
      for (const std::int64_t D : support.D_sizes) {
        for (const std::int64_t T_q : {1, 999}) {
          AttentionCase c = grouped_heads(support, T_q, 1000);
          c.D = D;
          c.causal = causal;
          c.precision = stored_as[turn++ % stored_as.size()];
          expect<Op>(i, make_problem(c));
        }
      }
    }
  });
}

bool has_usual_D_only(const AttentionSupport& support) {
  const std::vector<std::int64_t> usual = {32, 64, 96, 128, 256};
  return std::all_of(support.D_sizes.begin(), support.D_sizes.end(),
                     [&](std::int64_t D) { return std::count(usual.begin(), usual.end(), D) > 0; });
}

// What the lists do not tell.
template <typename Args>
std::vector<BadInput<Args>> bad_attention_inputs(const AttentionSupport& support) {
  static const std::int64_t cu_seqlens[] = {0, 3}, lengths[] = {3, 3};
  std::vector<BadInput<Args>> bad = {
      {"H_q", [](Args& a) { a.H_q = 3, a.H_kv = 2; }},
      {"scale", [](Args& a) { a.scale = 0.0f; }},
      {"scale", [](Args& a) { a.scale = std::numeric_limits<float>::infinity(); }},
  };
  const auto pack = [](Args& a) {
    a.B = 1;
    a.cu_seqlens_q = a.cu_seqlens_k = cu_seqlens;
    a.sequences = 1;
  };
  if (has_usual_D_only(support)) bad.push_back({"D", [](Args& a) { a.D = 65; }});
  const auto beyond = [&](const char* argument, std::int64_t most, const auto& set) {
    if (most != 0) bad.push_back({argument, [=](Args& a) { set(a, most + 1); }});
  };
  beyond("B", support.most_B, [](Args& a, std::int64_t size) { a.B = size; });
  beyond("H_q", support.most_H_q, [](Args& a, std::int64_t size) { a.H_q = a.H_kv = size; });
  if (!support.causal) bad.push_back({"causal", [](Args& a) { a.causal = true; }});
  if (!support.grouped) bad.push_back({"H_kv", [](Args& a) { a.H_kv = 1; }});
  if (support.most_queries < AttentionSupport{}.most_queries)
    bad.push_back({"T_q", [=](Args& a) { a.T_q = support.most_queries + 1; }});
  if (support.packed) {
    bad.push_back({"cu_seqlens_k", [=](Args& a) {
                     pack(a);
                     a.cu_seqlens_k = nullptr;
                   }});
    bad.push_back({"cu_seqlens_q", [=](Args& a) {
                     pack(a);
                     misalign(a.cu_seqlens_q);
                   }});
    bad.push_back({"sequences", [=](Args& a) {
                     pack(a);
                     a.sequences = -1;
                   }});
    bad.push_back({"B", [=](Args& a) {
                     pack(a);
                     a.B = 2;
                   }});
  } else {
    bad.push_back({"cu_seqlens", pack});
  }
  if (support.key_lengths) {
    bad.push_back({"key_lengths", [](Args& a) {
                     a.key_lengths = lengths;
                     misalign(a.key_lengths);
                   }});
    if (support.packed) {
      bad.push_back({"key_lengths", [=](Args& a) {
                       pack(a);
                       a.key_lengths = lengths;
                     }});
    }
  } else {
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = lengths; }});
  }
  return bad;
}

template <typename Args>
std::vector<BadInput<Args>> bad_gradient_inputs(const AttentionSupport& support) {
  std::vector<BadInput<Args>> bad;
  for (const auto& [argument, spoil] : bad_attention_inputs<decltype(Args::forward)>(support))
    bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
  return bad;
}

}  // namespace

AttentionCase plain_attention_case(const AttentionSupport& support) {
  AttentionCase c = ragged_case(support);
  c.T_k = support.plain_keys;
  c.T_q =
      std::min<std::int64_t>(c.T_k > 17 ? 20 : 11, support.most_queries);  // 20: two warps' rows
  c.H_q = support.grouped ? 4 : 3;
  c.H_kv = support.grouped ? 2 : 3;
  // Of fewer channels than 16 too many lie in one vector, and of fewer than keys nobody can tell what each key has added to o.
  c.D = from(c.T_k > 17 ? c.T_k + 40 : 16, support.D_sizes);
  c.causal = support.causal;
  c.magnitude = c.T_k > 17 ? 1.0f : 2.0f;  // weights that are unlike each other, none of them lost
  return c;
}

std::vector<AttentionCase> attention_cases(const AttentionSupport& support) {
  return with_named(attention_design(support).cases(
                        ragged_case(support),
                        [](AttentionCase& c) {
                          // No case may take the emulator more than about a second.
                          c.B = c.T_q < 64 && c.T_k < 64 && c.H_q <= 2 && c.D <= 64 ? 2 : 1;
                        },
                        wanted_draw()),
                    support.also, attention_case);
}

bool register_attention_suite(const std::string& implementation, const AttentionSupport& support) {
  register_common_tests<Attention>(implementation, support, "");
  add(implementation, "RefusesBadInput", [=](const Implementation& i) {
    expect_bad_input_refused<Attention>(
        i, make_problem(ragged_case(support)),
        [&]<typename Args>() { return bad_attention_inputs<Args>(support); });
  });
  if (support.repeatable) {
    add(implementation, "IsRepeatable", [=](const Implementation& i) {
      const AttentionProblem problem = make_problem(grouped_heads(support, 65, 130));
      EXPECT_EQ(run(i, problem), run(i, problem));
    });
  }
  return true;
}

bool register_attention_backward_suite(const std::string& implementation,
                                       const AttentionSupport& support) {
  register_common_tests<AttentionBackward>(implementation, support, "Backward");
  add(implementation, "BackwardRefusesBadInput", [=](const Implementation& i) {
    expect_bad_input_refused<AttentionBackward>(
        i, AttentionBackward::make_problem(ragged_case(support)),
        [&]<typename Args>() { return bad_gradient_inputs<Args>(support); });
  });
  add(implementation, "BackwardIsRepeatable", [=](const Implementation& i) {
    const AttentionGradProblem problem =
        reference::make_attention_grad_problem(make_problem(grouped_heads(support, 65, 130)));
    const AttentionGradients once = run_backward(i, problem), again = run_backward(i, problem);
    if (support.repeatable) {
      EXPECT_EQ(once.dq, again.dq);
    }
    if (support.repeatable_dk) {
      EXPECT_EQ(once.dk, again.dk);
    }
    if (support.repeatable_dv) {
      EXPECT_EQ(once.dv, again.dv);
    }
  });
  return true;
}

AttentionCase attention_case(const NamedCase& named) {
  Words words(named.name);
  AttentionCase c;
  c.B = words.size("B");
  c.T_q = words.size("Tq");
  c.T_k = words.size("Tk");
  c.H_q = words.size("Hq");
  c.H_kv = words.size("Hkv");
  c.D = words.size("D");
  c.causal = words.next("causal");
  if (!c.causal) words.next("full");
  c.key_lengths = words.next("key_lengths");
  c.scale = words.next("scaled") ? 0.5f : 0.0f;
  c.magnitude = magnitude(words);
  c.precision = precision(words);
  return checked(c, named);
}

}  // namespace ladder::testing
