// Tests of softmax attention and its gradients: their plans and edge cases.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "common/judge/reach.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/operators/attention/visible.hpp"

namespace ladder {
namespace {

using Case = AttentionCase;

constexpr float kNotANumber[] = {kNan, std::numeric_limits<float>::infinity()};

// Small enough to run several times.
Case few_heads(const Support& support, std::int64_t T_q, std::int64_t T_k) {
  Case c = ragged_attention_case(support);
  c.B = 1;
  c.T_q = limited_queries(support, T_q);
  c.T_k = T_k;
  c.H_q = 2;
  c.H_kv = support.has("groups") ? 1 : 2;
  return c;
}

// Two key heads, with two query heads each if groups are supported.
Case grouped_heads(const Support& support, std::int64_t T_q, std::int64_t T_k) {
  Case c = few_heads(support, T_q, T_k);
  c.H_q = support.has("groups") ? 4 : 2;
  c.H_kv = 2;
  return c;
}

Case with_mask(Case c, bool causal) {
  c.causal = causal;
  return c;
}

// Checks the forward pass or its gradients.
template <typename Op>
void expect(const Implementation& i, Report& report, const AttentionProblem& forward) {
  if constexpr (std::is_same_v<Op, Attention>) {
    expect_right(report, i, forward);
  } else {
    expect_right(report, i, make_grad_problem(forward));
  }
}

// Lengths of no, one, some and all keys. Keys and values past them are NaN.
AttentionProblem with_key_lengths(Case c) {
  c.B = 4;
  c.key_lengths = true;
  AttentionProblem problem = make_problem(c);
  const std::vector<std::int64_t> lengths = {0, 1, c.T_k - 6, c.T_k};
  problem.array<std::int64_t>("key_lengths") = lengths;
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (const auto& [name, D] : {std::pair{"k", c.D}, {"v", c.channels_of_v()}}) {
      const std::int64_t row = c.H_kv * D;
      std::fill_n(problem[name].begin() + (b * c.T_k + lengths[b]) * row,
                  (c.T_k - lengths[b]) * row, kNan);
    }
  }
  return problem;
}

// Adds `first` to the scores of the first key, and `others` to those of all other keys.
AttentionProblem with_scores(Case c, float first, float others) {
  AttentionProblem problem = make_problem(c);
  const float largest = std::max(std::abs(first), std::abs(others));
  const float scale_of_k = std::sqrt(static_cast<float>(c.D)),
              root = std::sqrt(largest * scale_of_k);
  std::vector<float>&q = problem["q"], &k = problem["k"];
  for (std::size_t row = 0; row < q.size(); row += c.D)
    q[row] = root;
  for (std::size_t row = 0; row < k.size(); row += c.D) {
    const bool is_first = static_cast<std::int64_t>(row) / (c.D * c.H_kv) % c.T_k == 0;
    k[row] = (is_first ? first : others) * scale_of_k / root;
  }
  problem.round_to_storage();
  return problem;
}

// Padding must not be weighted by exp(-lse), which overflows in fp32.
AttentionProblem with_low_scores(Case c) {
  return with_scores(c, -100.0f, -100.0f);
}

// All scores are below any constant that a maximum could begin with.
AttentionProblem with_lowest_scores(Case c) {
  return with_scores(c, -20000.0f, -20000.0f);
}

// The first key has the largest weight by far, but the others' weights add up to a twentieth of it.
AttentionProblem with_small_weights(Case c) {
  return with_scores(c, 20.0f, 10.0f);
}

// A NaN or infinity in the second sequence or batch. It fills row keys - 3 of key head 1, and row
// queries - 2 of the first query head of its group.
struct Spoilt {
  static constexpr std::int64_t kSequence = 1, kHead = 1;

  AttentionArgs a;
  AttentionSequence s = sequence_of(a, kSequence);
  std::int64_t key = s.keys - 3, query = s.queries - 2, group = a.H_q / a.H_kv;
  std::int64_t query_row = (s.first_query + query) * a.H_q + kHead * group,
               key_row = (s.first_key + key) * a.H_kv + kHead;

  // Spoils these arrays, all of them by default.
  template <typename Problem>
  void spoil(Problem& problem, float value,
             const std::vector<std::string>& arrays = {"q", "d_o", "k", "v"}) const {
    const std::int64_t D_v = a.channels_of_v();
    for (const auto& [name, row, D] : {std::tuple{"q", query_row, a.D},
                                       {"d_o", query_row, D_v},
                                       {"k", key_row, a.D},
                                       {"v", key_row, D_v}}) {
      const bool chosen = std::count(arrays.begin(), arrays.end(), name) > 0;
      if (chosen && !problem[name].empty()) std::fill_n(problem[name].begin() + row * D, D, value);
    }
  }

  // Whether the key reaches query `row` (of B * T_q) in query head h, with tiles of `tile` keys.
  Reach of_query(std::int64_t row, std::int64_t h, std::int64_t tile) const {
    const std::int64_t l = row - s.first_query;
    if (h / group != kHead || l < 0 || l >= s.queries) return Reach::kMustNot;
    const std::int64_t seen = keys_seen(a, s, l);
    if (seen > key && key >= first_key_seen(a, s, l)) return Reach::kMust;
    if (l == query && h == kHead * group) return Reach::kMay;
    return seen > key / tile * tile ? Reach::kMay : Reach::kMustNot;
  }
};

// Spoils one key and one query. In the causal form earlier queries see neither. A spoilt k alone
// must not reach them even within its tile, because a masked score has no effect.
void expect_isolation(const Implementation& i, Report& report, const Support& support,
                      const Case& c, std::size_t) {
  const AttentionProblem clean = make_problem(c);
  const AttentionOutputs before = run(i, clean);
  const Spoilt place{clean.args()};
  for (const float value : kNotANumber) {
    AttentionProblem spoilt = clean;
    place.spoil(spoilt, value);
    expect_reach(report, clean, before, run(i, spoilt), support, [&](const ElementPlace& at) {
      const Reach reach = place.of_query(at.row, at.h, support.nan_tile);
      return at.output == "lse" && reach == Reach::kMust ? Reach::kMay : reach;
    });
    AttentionProblem spoilt_key = clean;
    place.spoil(spoilt_key, value, {"k"});
    expect_reach(report, clean, before, run(i, spoilt_key), support, [&](const ElementPlace& at) {
      return std::min(place.of_query(at.row, at.h, 1), Reach::kMay);
    });
  }
}

// Only gradients of the same sequence and key head may be reached. Each test uses one value.
void expect_isolated_gradients(const Implementation& i, Report& report, const Support& support,
                               const Case& c, std::size_t turn) {
  const AttentionGradProblem clean(c);
  const AttentionGradients before = run_backward(i, clean);
  const Spoilt place{clean.args().forward};
  const auto& s = place.s;
  const auto is_within = [](std::int64_t row, std::int64_t first, std::int64_t count) {
    return row >= first && row < first + count;
  };
  AttentionGradProblem spoilt = clean;
  place.spoil(spoilt, kNotANumber[turn % std::size(kNotANumber)]);
  const AttentionGradients after = run_backward(i, spoilt);
  expect_reach(report, clean, before, after, support, [&](const ElementPlace& at) {
    const bool mine =
        at.output == "dq"
            ? is_within(at.row, s.first_query, s.queries) && at.h / place.group == Spoilt::kHead
            : is_within(at.row, s.first_key, s.keys) && at.h == Spoilt::kHead;
    return mine ? Reach::kMay : Reach::kMustNot;
  });
  if (std::all_of(after.dv.begin(), after.dv.end(), [](float x) { return std::isfinite(x); }))
    report.fails("dv is finite, with a d_o that is not");
}

void expect_same_gradients_again(const Implementation& i, Report& report, const Support& support) {
  const AttentionGradProblem problem(grouped_heads(support, 65, 130));
  const AttentionGradients once = run_backward(i, problem), again = run_backward(i, problem);
  AttentionGradients::arrays(once, [&](const std::string& name, const std::vector<float>& values) {
    AttentionGradients::arrays(again, [&](const char* other, const std::vector<float>& others) {
      if (name == other && repeats(support, name) && values != others)
        report.fails(name + " is another one the second time");
    });
  });
}

template <typename Op>
void expect_long_sequences(const Implementation& i, Report& report, const Support& support) {
  if (device(i.device).back_end() != "cuda")
    return report.skips("sequences of 1000 take the emulator minutes; on a GPU they are tested");
  std::size_t turn = 0;
  for (const bool causal : attention_masks(support)) {
    for (const std::int64_t D : attention_channels(support)) {
      for (const std::int64_t T_q : {1, 999}) {
        Case c = with_mask(grouped_heads(support, T_q, 1000), causal);
        c.D = D;
        c.precision = precision_of(support.storages[turn++ % support.storages.size()]);
        expect<Op>(i, report, make_problem(c));
      }
    }
  }
}

// More heads than one block handles, shared by two key heads if groups are supported.
template <typename Op>
void expect_right_in_many_heads(const Implementation& i, Report& report, const Support& support) {
  for (const bool causal : attention_masks(support)) {
    Case c = with_mask(few_heads(support, 5, 9), causal);
    c.B = 3;
    c.H_q = support.has("groups") ? kManyHeads + 1 : kManyHeads;
    c.H_kv = support.has("groups") ? 2 : kManyHeads;
    c.D = from(1, attention_channels(support));
    c.precision = precision_of(support.storages.back());
    expect<Op>(i, report, make_problem(c));
  }
}

template <typename Op>
void expect_right_in_many_batches(const Implementation& i, Report& report, const Support& support) {
  Case c = with_mask(few_heads(support, 5, 9), attention_masks(support).front());
  c.B = kManyBatches;
  c.D = from(1, attention_channels(support));
  c.precision = precision_of(support.storages.front());
  expect<Op>(i, report, make_problem(c));
}

// Sequences that end with a whole tile, so that the next batch begins in a new one.
template <typename Op>
void expect_right_in_whole_tiles(const Implementation& i, Report& report, const Support& support) {
  for (const std::int64_t D : attention_channels(support)) {
    const std::int64_t T = D <= 64 ? 128 : 64;
    Case c = with_mask(few_heads(support, T, T), attention_masks(support).back());
    c.B = 2;
    c.H_q = c.H_kv = 1;
    c.D = D;
    c.precision = precision_of(support.storages.front());
    expect<Op>(i, report, make_problem(c));
  }
}

// The diagonal crosses tiles of queries and keys of any size.
template <typename Op>
void expect_right_at_the_diagonal(const Implementation& i, Report& report, const Support& support) {
  const bool forward = std::is_same_v<Op, Attention>;
  for (const std::int64_t D : attention_channels(support)) {
    Case c = with_mask(few_heads(support, forward ? 130 : 70, forward ? 150 : 90), true);
    c.H_q = c.H_kv = 1;
    c.D = D;
    c.precision = precision_of(support.storages.back());
    expect<Op>(i, report, make_problem(c));
  }
}

// Windows wider than a tile, at channels that make tiles narrow, and with a D_v if supported.
template <typename Op>
void expect_right_in_a_wide_window(const Implementation& i, Report& report,
                                   const Support& support) {
  for (const std::int64_t D : attention_channels(support)) {
    if (D < 32 || D > 128) continue;
    Case c = with_mask(few_heads(support, 270, 270), true);
    c.H_q = c.H_kv = 1;
    c.D = D;
    if (has_option(support, "D_v")) c.D_v = D < 128 ? 128 : 40;
    c.precision = precision_of(support.storages.back());
    // From the last query's only hidden key to windows that begin or end with a tile.
    for (const std::int64_t window : {128, 191, 200, 254, 255, 256}) {
      c.window = window;
      expect<Op>(i, report, make_problem(c));
    }
  }
  // This window hides nothing, but would be 1 in 32 bits.
  Case c = with_mask(few_heads(support, 20, 40), true);
  c.window = (std::int64_t{1} << 32) + 1;
  if (has_option(support, "softcap")) c.softcap = 3.0f;
  expect<Op>(i, report, make_problem(c));
}

template <typename Op>
void expect_right_or_refused(const Implementation& i, Report& report, const Support& support,
                             const Case& c) {
  const auto expect_shifted = [&](const std::vector<std::string>& arrays,
                                  const AttentionProblem& problem) {
    report.right_or_refused_when_shifted(arrays, [&] { expect<Op>(i, report, problem); });
  };
  expect_shifted(planned<Op>(c).c->array_names(), make_problem(c));
  if (storage_of(c) != support.storages.front()) return;
  if (support.has("key_lengths")) expect_shifted({"key_lengths"}, with_key_lengths(c));
  if (support.has("packed")) {
    expect_shifted({"cu_seqlens_q", "cu_seqlens_k"},
                   make_problem(packed(c, {{3, 5}, {limited_queries(support, 20), 20}})));
  }
}

template <typename Op>
class Edges {
 public:
  Edges(Plan& plan, const Support& support) : plan_(plan), support_(support) {}

  void add_sizes() {
    add(
        "TakesManyHeads",
        [=, support = support_](const Implementation& i, Report& report) {
          expect_right_in_many_heads<Op>(i, report, support);
        },
        1);
    add(
        "TakesManyBatches",
        [=, support = support_](const Implementation& i, Report& report) {
          expect_right_in_many_batches<Op>(i, report, support);
        },
        0);
    add(
        "TakesWholeTilesOfTwoBatches",
        [=, support = support_](const Implementation& i, Report& report) {
          expect_right_in_whole_tiles<Op>(i, report, support);
        },
        2);
    if (support_.has("causal")) {
      add(
          "TakesADiagonalThroughTiles",
          [=, support = support_](const Implementation& i, Report& report) {
            expect_right_at_the_diagonal<Op>(i, report, support);
          },
          1);
    }
    if (has_option(support_, "window")) {
      add(
          "TakesAWindowWiderThanATile",
          [=, support = support_](const Implementation& i, Report& report) {
            expect_right_in_a_wide_window<Op>(i, report, support);
          },
          0);
    }
  }

  void add_keys() {
    const auto as_drawn = [](Case c) { return make_problem(c); };
    add_for_masks("TakesOneKey", few_heads(support_, 20, 1), as_drawn);
    add_for_masks("GivesZerosWithoutKeys", few_heads(support_, 40, 0), as_drawn);
    if (support_.has("causal") && limited_queries(support_, 100) == 100) {
      add("MasksWholeQueriesExactly",
          [=, support = support_](const Implementation& i, Report& report) {
            for (const std::int64_t T_k : {1, 20, 66})
              expect<Op>(i, report, make_problem(with_mask(few_heads(support, 100, T_k), true)));
          });
    }
    for (const Precision precision : precisions_of(support_.storages)) {
      Case c = few_heads(support_, 40, 130);
      c.precision = precision;
      c.magnitude = 100.0f;
      add_for_masks("SurvivesHugeScores/" + name_of(c), c, as_drawn);
    }
    add_for_masks("TakesScoresFarBelowZero", few_heads(support_, 20, 70), with_low_scores);
    add_for_masks("TakesScoresBelowAnyStart", few_heads(support_, 20, 70), with_lowest_scores, 0);
    if (std::is_same_v<Op, Attention>)  // gradients are differences of such sums
      add_for_masks("AddsUpSmallWeights", few_heads(support_, 5, 1000), with_small_weights, 1);
    if (support_.has("packed")) {
      std::vector<Case::Lengths> lengths = {{0, 5}, {5, 0},    {17, 17}, {1, 66},
                                            {0, 0}, {130, 20}, {20, 135}};
      for (Case::Lengths& each : lengths)
        each.queries = limited_queries(support_, each.queries);
      add_for_masks("TakesPackedSequences", packed(grouped_heads(support_, 1, 1), lengths),
                    as_drawn);
    }
    if (support_.has("key_lengths"))
      add_for_masks("TakesKeyLengths", grouped_heads(support_, 20, 135), with_key_lengths);
  }

  void add_alignment() {
    for (std::size_t n = 0; n < support_.storages.size(); ++n) {
      Case c = grouped_heads(support_, 17, 20);
      c.precision = precision_of(support_.storages[n]);
      add(
          std::string("TakesOrRefusesAnyAlignment") + test_word(c.precision),
          [=, support = support_](const Implementation& i, Report& report) {
            expect_right_or_refused<Op>(i, report, support, c);
          },
          n);
    }
  }

  // NaN and infinity must reach only the results that depend on them.
  void add_isolation() {
    Case isolated = grouped_heads(support_, 20, 150);
    isolated.B = 2;
    for (const bool causal : attention_masks(support_))
      add_isolated(causal ? "KeepsNanToItselfCausal" : "KeepsNanToItself",
                   with_mask(isolated, causal), causal);
    add(
        "KeepsNanToItselfAtEveryD",
        [=, support = support_](const Implementation& i, Report& report) {
          std::size_t turn = 0;
          for (const std::int64_t D : attention_channels(support)) {
            Case c = grouped_heads(support, 5, 20);
            c.B = 2;
            c.D = D;
            expect_isolated(i, report, support, c, turn++);
          }
        },
        2);
    if (support_.has("packed")) {
      add_isolated("KeepsNanToItselfInPackedSequences",
                   packed(isolated, {{3, 20}, {limited_queries(support_, 20), 40}, {9, 5}}), 2);
    }
  }

  void add(const std::string& test, const std::function<void(const Implementation&, Report&)>& run,
           std::optional<std::size_t> turn = std::nullopt) {
    // Gradients are slow, so a test that the forward pass runs under each schedule has one here.
    if (std::is_same_v<Op, AttentionBackward> && !turn) turn = plan_.edges.size();
    plan_.edges.push_back({test, run, turn});
  }

 private:
  static constexpr auto expect_isolated =
      std::is_same_v<Op, Attention> ? expect_isolation : expect_isolated_gradients;

  void add_for_masks(const std::string& test, const Case& c, AttentionProblem (*problem_of)(Case),
                     std::optional<std::size_t> turn = std::nullopt) {
    add(
        test,
        [=, support = support_](const Implementation& i, Report& report) {
          for (const bool causal : attention_masks(support))
            expect<Op>(i, report, problem_of(with_mask(c, causal)));
        },
        turn);
  }

  void add_isolated(const std::string& test, const Case& c, std::size_t turn) {
    add(
        test,
        [=, support = support_](const Implementation& i, Report& report) {
          expect_isolated(i, report, support, c, turn);
        },
        turn);
  }

  Plan& plan_;
  const Support support_;
};

// The plan shared by the forward pass and the gradients.
template <typename Op>
std::shared_ptr<Plan> common_plan(const Support& support, const std::string& prefix) {
  auto plan = std::make_shared<Plan>();
  plan->prefix = prefix;
  plan->plain = planned<Op>(plain_attention_case(support));
  plan_cases<Op>(*plan, attention_design(support), attention_cases(support));
  plan->empty_test = "TakesAnEmptyBatch";
  for (const bool causal : attention_masks(support)) {
    Case empty = with_mask(ragged_attention_case(support), causal);
    empty.B = 0;
    plan->empty.push_back(planned<Op>(empty));
  }
  plan->bad_input = {{"", planned<Op>(ragged_attention_case(support))}};
  const std::int64_t D = ragged_attention_case(support).D;
  for (const bool causal : attention_masks(support)) {
    plan_borders(*plan, operator_of<Op>(), support,
                 {{"B", 1},
                  {"T", 20},
                  {"H", 2},
                  {"K", D},
                  {"V", D},
                  {"T_q", limited_queries(support, 20)},
                  {"H_kv", support.has("groups") ? 1 : 2}},
                 {{"causal", causal ? "true" : "false"}});
  }
  Edges<Op> edges(*plan, support);
  edges.add_sizes();
  edges.add_keys();
  edges.add_alignment();
  edges.add_isolation();
  edges.add("MatchesReferenceOnLongSequences", [=](const Implementation& i, Report& report) {
    expect_long_sequences<Op>(i, report, support);
  });
  return plan;
}

bool has_usual_D_only(const Support& support) {
  const std::vector<std::int64_t> usual = attention_channels({}), D = attention_channels(support);
  return std::all_of(D.begin(), D.end(), [&](std::int64_t each) {
    return std::count(usual.begin(), usual.end(), each) > 0;
  });
}

}  // namespace

std::vector<AttentionCase> attention_cases(const Support& support) {
  const auto finish = [](AttentionCase& c) {
    // Limits each case to about one second on the emulator.
    c.B = c.T_q >= 64 || c.T_k >= 64 || c.H_q > 2 || c.D > 64 ? 1 : c.T_q < 16 ? 3 : 2;
  };
  return attention_design(support).cases(ragged_attention_case(support), finish, wanted_draw(),
                                         found_cases<Attention>(support.also));
}

namespace {

// Bad inputs of the forward arguments that the argument lists do not describe.
template <typename Args>
std::vector<BadInput<Args>> common_bad_inputs(const Support& support) {
  static const std::int64_t cu_seqlens[] = {0, 3}, lengths[] = {3, 3};
  std::vector<BadInput<Args>> bad = {
      {"H_q", [](Args& a) { a.H_q = 3, a.H_kv = 2; }},
      {"scale", [](Args& a) { a.scale = std::numeric_limits<float>::infinity(); }},
  };
  if (!has_option(support, "scale")) {
    for (const float scale : {0.0f, -0.5f})
      bad.push_back({"scale", [=](Args& a) { a.scale = scale; }});
  }
  const auto pack = [](Args& a) {
    a.B = 1;
    a.cu_seqlens_q = a.cu_seqlens_k = cu_seqlens;
    a.sequences = 1;
  };
  if (has_usual_D_only(support)) bad.push_back({"D", [](Args& a) { a.D = 65; }});
  const auto beyond = [&](const char* argument, const auto& set) {
    const std::int64_t most = support.most_of(argument);
    if (most != 0) bad.push_back({argument, [=](Args& a) { set(a, most + 1); }});
  };
  beyond("B", [](Args& a, std::int64_t size) { a.B = size; });
  beyond("H_q", [](Args& a, std::int64_t size) { a.H_q = a.H_kv = size; });
  beyond("T_q", [](Args& a, std::int64_t size) { a.T_q = size; });
  if (!support.has("causal")) bad.push_back({"causal", [](Args& a) { a.causal = true; }});
  if (!support.has("groups")) bad.push_back({"H_kv", [](Args& a) { a.H_kv = 1; }});
  if (support.has("packed")) {
    const auto when_packed = [&](const char* argument, const auto& spoil) {
      bad.push_back({argument, [=](Args& a) {
                       pack(a);
                       spoil(a);
                     }});
    };
    when_packed("cu_seqlens_k", [](Args& a) { a.cu_seqlens_k = nullptr; });
    when_packed("cu_seqlens_q", [](Args& a) { misalign(a.cu_seqlens_q); });
    when_packed("sequences", [](Args& a) { a.sequences = -1; });
    when_packed("B", [](Args& a) { a.B = 2; });
    if (support.has("key_lengths"))
      when_packed("key_lengths", [](Args& a) { a.key_lengths = lengths; });
  } else {
    bad.push_back({"cu_seqlens", pack});
  }
  bad.push_back({"window", [](Args& a) { a.causal = true, a.window = -1; }});
  bad.push_back({"window", [](Args& a) { a.causal = false, a.window = 3; }});
  for (const float softcap : {-1.0f, std::numeric_limits<float>::infinity()})
    bad.push_back({"softcap", [=](Args& a) { a.softcap = softcap; }});
  if (!has_option(support, "window"))
    bad.push_back({"window", [](Args& a) { a.causal = true, a.window = 3; }});
  if (!has_option(support, "softcap"))
    bad.push_back({"softcap", [](Args& a) { a.softcap = 30.0f; }});
  if (!has_option(support, "D_v")) bad.push_back({"D_v", [](Args& a) { a.D_v = a.D + 8; }});
  bad.push_back({"key_lengths", [refused = !support.has("key_lengths")](Args& a) {
                   a.key_lengths = lengths;
                   if (!refused) misalign(a.key_lengths);
                 }});
  return bad;
}

}  // namespace

template <typename Args>
std::vector<BadInput<Args>> attention_bad_inputs(const Support& support) {
  if constexpr (requires(Args & a) { a.forward; }) {
    std::vector<BadInput<Args>> bad;
    for (const auto& [argument, spoil] : common_bad_inputs<decltype(Args::forward)>(support))
      bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
    return bad;
  } else {
    return common_bad_inputs<Args>(support);
  }
}

template <typename Args>
using Bad = std::vector<BadInput<Args>>;
template Bad<AttentionArgs> attention_bad_inputs(const Support&);
template Bad<AttentionBf16Args> attention_bad_inputs(const Support&);
template Bad<AttentionFp16Args> attention_bad_inputs(const Support&);
template Bad<AttentionGradArgs> attention_bad_inputs(const Support&);
template Bad<AttentionGradBf16Args> attention_bad_inputs(const Support&);
template Bad<AttentionGradFp16Args> attention_bad_inputs(const Support&);

SupportWords attention_support_words() {
  return {.sizes = {"T_q", "T_k", "D"},
          .options = {"window", "softcap", "scale", "D_v"},
          .refuses = {"causal", "groups", "packed", "key_lengths"},
          .most = {"B", "H_q", "T_q"},
          .fields = {"plain_steps", "nan_tile", "also", "not_repeatable"}};
}

template <>
std::shared_ptr<const Plan> attention_plan<Attention>(const Support& support) {
  const auto plan = common_plan<Attention>(support, "");
  plan->repeated = planned<Attention>(grouped_heads(support, 65, 130));
  return plan;
}

template <>
std::shared_ptr<const Plan> attention_plan<AttentionBackward>(const Support& support) {
  const auto plan = common_plan<AttentionBackward>(support, "Backward");
  plan->edges.push_back({"IsRepeatable",
                         [=](const Implementation& i, Report& report) {
                           expect_same_gradients_again(i, report, support);
                         },
                         plan->edges.size()});
  return plan;
}

}  // namespace ladder
