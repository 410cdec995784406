// Tests of linear attention: its plan and edge cases.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "common/judge/reach.hpp"
#include "common/operators/linear_attention/operator.hpp"

namespace ladder {
namespace {

using Case = LinearAttentionCase;

bool is_causal_product(const Support& support) {
  return !support.has(kAllButTheCausalProduct);
}

// Few heads, and rows of whole 16-byte vectors.
Case isolation_case(const Support& support) {
  Case c = ragged_linear_attention_case(support);
  const std::vector<std::int64_t> usual = {64};
  c.H = 2;
  c.T_q = c.T_k = 122;
  c.K = preferred(support.levels("K", usual), 64);
  c.V = preferred(support.levels("V", usual), 64);
  return c;
}

// One batch per length. Keys and values past it are NaN.
LinearAttentionProblem with_key_lengths(Case c, const std::vector<std::int64_t>& lengths) {
  c.B = static_cast<std::int64_t>(lengths.size());
  c.key_lengths = true;
  LinearAttentionProblem problem = make_problem(c);
  problem.array<std::int64_t>("key_lengths") = lengths;
  for (std::int64_t b = 0; b < c.B; ++b) {
    const std::int64_t first = b * c.T_k + lengths[b], behind = c.T_k - lengths[b];
    std::fill_n(problem["k"].begin() + first * c.H * c.K, behind * c.H * c.K, kNan);
    std::fill_n(problem["v"].begin() + first * c.H * c.V, behind * c.H * c.V, kNan);
  }
  return problem;
}

// Spoils key T_k - 3 of one batch and head. It must reach its own query and later ones, and v may
// reach earlier queries of its tile. In the full form it must reach all queries.
void expect_isolation(const Implementation& i, Report& report, const Support& support,
                      const Case& c) {
  constexpr std::int64_t b = 1, h = 1;
  const std::int64_t t = c.T_k - 3;
  const LinearAttentionProblem clean = make_problem(c);
  const std::vector<float> before = run(i, clean);
  const std::int64_t row = (b * c.T_k + t) * c.H + h;
  const auto expect = [&](const LinearAttentionProblem& spoilt, std::int64_t tile) {
    expect_reach(report, clean, before, run(i, spoilt), support, [&](const ElementPlace& at) {
      const std::int64_t query = at.row % c.T_q;
      if (at.b != b || at.h != h) return Reach::kMustNot;
      if (!c.causal || query >= t) return Reach::kMust;
      return query >= t / tile * tile ? Reach::kMay : Reach::kMustNot;
    });
  };
  for (const float value : {kNan, std::numeric_limits<float>::infinity()}) {
    LinearAttentionProblem spoilt = clean;
    std::fill_n(spoilt["k"].begin() + row * c.K, c.K, value);
    expect(spoilt, 1);
    std::fill_n(spoilt["v"].begin() + row * c.V, c.V, value);
    expect(spoilt, support.nan_tile);
  }
}

// Some kernels pad rows of K.
void expect_isolation_at_every_K(const Implementation& i, Report& report, const Support& support) {
  for (const std::int64_t K : linear_attention_key_rows(support)) {
    Case c = isolation_case(support);
    c.T_q = c.T_k = 20;
    c.K = K;
    expect_isolation(i, report, support, c);
  }
}

// A sum of so few elements may cancel.
void expect_narrow_rows(const Implementation& i, Report& report, const Support& support) {
  for (const Precision precision : precisions_of(support.storages)) {
    for (const std::int64_t V : kNarrow) {
      if (V % support.multiple != 0) continue;
      Case c = ragged_linear_attention_case(support);
      c.H = 2;
      c.T_q = c.T_k = 18;
      c.V = V;
      c.precision = precision;
      expect_right(report, i, make_problem(c));
      if (is_causal_product(support)) continue;
      c.T_k = 1;
      expect_right(report, i, make_problem(c));
    }
  }
}

// The narrowest rows, because long runs and runs of many blocks must be cheap.
void expect_many(const Implementation& i, Report& report, const Support& support, std::int64_t B,
                 std::int64_t T, std::int64_t H) {
  Case c = ragged_linear_attention_case(support);
  const std::int64_t narrowest = std::max<std::int64_t>(4, support.multiple);
  c.B = B;
  c.T_q = c.T_k = T;
  c.H = H;
  c.K = from(1, support.levels("K", {narrowest}));
  c.V = from(1, support.levels("V", {narrowest}));
  // With 16-bit elements stages are longer, and fewer.
  for (const Precision precision : precisions_of(support.storages)) {
    c.precision = precision;
    expect_right(report, i, make_problem(c));
  }
}

void expect_no_steps(const Implementation& i, Report&, const Support& support) {
  Case c = ragged_linear_attention_case(support);
  c.T_q = c.T_k = 0;
  with_storage<LinearAttention>(storage_of(c), [&]<typename Args>() {
    Args args;
    copy_fields(sizes_of(c), args);
    launch<LinearAttention>(i, args);
    device(i.device).synchronize();
  });
}

void expect_key_lengths(const Implementation& i, Report& report, const Support& support) {
  for (const bool causal : {true, false}) {
    Case c = ragged_linear_attention_case(support);
    c.H = 2;
    c.T_q = c.T_k = 70;
    c.causal = causal;
    expect_right(report, i, with_key_lengths(c, {0, 1, 64, 70}));
  }
}

// A launcher cannot read lengths in GPU memory, so the kernel must keep bad ones within the batch.
void expect_clamped_key_lengths(const Implementation& i, Report& report, const Support& support) {
  for (const bool causal : {true, false}) {
    Case c = ragged_linear_attention_case(support);
    c.H = 2;
    c.T_q = c.T_k = 40;
    c.causal = causal;
    const LinearAttentionProblem good = with_key_lengths(c, {0, 40, 0, 40});
    LinearAttentionProblem bad = good;
    bad.array<std::int64_t>("key_lengths") = {-3, 41, std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max()};
    if (i.device == DeviceKind::kCpu) {
      report.must_refuse("key_lengths", [&] { run(i, bad); });
    } else {
      expect_right(report, good, run(i, bad), arithmetic_of(i, storage_of(c)));
    }
  }
}

}  // namespace

std::vector<LinearAttentionCase> linear_attention_cases(const Support& support) {
  const auto finish = [&](LinearAttentionCase& c) {
    if (is_causal_product(support)) c.T_k = c.T_q;
    c.magnitude = magnitude_within(c.precision, c.magnitude);
    std::tie(c.B, c.H) = batch_and_heads(std::max(c.T_q, c.T_k));
  };
  return linear_attention_design(support).cases(ragged_linear_attention_case(support), finish,
                                                wanted_draw(),
                                                found_cases<LinearAttention>(support.also));
}

template <typename Args>
std::vector<BadInput<Args>> linear_attention_bad_inputs(const Support& support, DeviceKind where) {
  std::vector<BadInput<Args>> bad = {{"eps", [](Args& a) { a.eps = -1.0f; }}};
  const auto beyond = [&](const char* argument, std::int64_t Args::*size, std::int64_t step) {
    const std::int64_t most = support.most_of(argument);
    if (most != 0) bad.push_back({argument, [=](Args& a) { a.*size = most + step; }});
  };
  const std::int64_t step = support.multiple;
  beyond("K", &Args::K, step);
  beyond("V", &Args::V, step);
  if (step > 1) {
    bad.push_back({"K", [=](Args& a) { a.K = step + 1; }});
    bad.push_back({"V", [=](Args& a) { a.V = step + 1; }});
  }
  beyond("B", &Args::B, 1);
  beyond("H", &Args::H, 1);
  static const std::int64_t too_long[] = {1000, 1000};
  if (is_causal_product(support)) {
    bad.push_back({"causal", [](Args& a) { a.causal = false; }});
    bad.push_back({"normalize", [](Args& a) { a.normalize = true; }});
    bad.push_back({"feature_map", [](Args& a) { a.feature_map = FeatureMap::kEluPlusOne; }});
    bad.push_back({"T_k", [](Args& a) { a.T_k = 2; }});
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  } else if (where == DeviceKind::kCpu) {  // a launcher cannot read GPU memory
    bad.push_back({"key_lengths", [](Args& a) { a.key_lengths = too_long; }});
  }
  return bad;
}

template std::vector<BadInput<LinearAttentionArgs>> linear_attention_bad_inputs(const Support&,
                                                                                DeviceKind);
template std::vector<BadInput<LinearAttentionBf16Args>> linear_attention_bad_inputs(const Support&,
                                                                                    DeviceKind);
template std::vector<BadInput<LinearAttentionFp16Args>> linear_attention_bad_inputs(const Support&,
                                                                                    DeviceKind);

SupportWords linear_attention_support_words() {
  return {.sizes = {"T", "K", "V"},
          .refuses = {kAllButTheCausalProduct},
          .most = {"B", "H", "K", "V"},
          .fields = {"multiple", "plain_steps", "nan_tile", "also"}};
}

std::shared_ptr<const Plan> linear_attention_plan(const Support& support) {
  const bool product = is_causal_product(support);
  auto plan = std::make_shared<Plan>();
  plan->plain = planned<LinearAttention>(plain_linear_attention_case(support));
  plan_cases<LinearAttention>(*plan, linear_attention_design(support),
                              linear_attention_cases(support));
  LinearAttentionCase c = ragged_linear_attention_case(support);
  c.key_lengths = !product;
  plan->bad_input = {{"", planned<LinearAttention>(c)}};
  for (const Precision precision : precisions_of(support.storages)) {
    LinearAttentionCase aligned = isolation_case(support);
    aligned.T_q = aligned.T_k = 17;
    aligned.precision = precision;
    aligned.key_lengths = !product;
    plan->alignments.push_back({test_word(precision), {planned<LinearAttention>(aligned)}});
  }
  for (const bool normalized : {true, false}) {
    if (normalized && product) continue;
    const Options plain = {{"feature_map", "identity"}, {"normalize", "false"}};
    plan_borders(*plan, operator_of<LinearAttention>(), support,
                 {{"B", 1}, {"T", 20}, {"H", 2}, {"K", 20}, {"V", 20}, {"T_q", 0}},
                 normalized ? Options() : plain);
  }
  LinearAttentionCase repeated = ragged_linear_attention_case(support);
  repeated.T_q = repeated.T_k = 65;
  plan->repeated = planned<LinearAttention>(repeated);
  const auto add = [&](const std::string& test, const auto& expect,
                       std::optional<std::size_t> turn = std::nullopt) {
    plan->edges.push_back(
        {test, [=](const Implementation& i, Report& report) { expect(i, report, support); }, turn});
  };
  add("MatchesReferenceInNarrowRows", expect_narrow_rows, 0);
  add(
      "TakesManyHeads",
      [](const Implementation& i, Report& report, const Support& s) {
        expect_many(i, report, s, 3, 3, kManyHeads);
      },
      1);
  add(
      "TakesManyBatches",
      [](const Implementation& i, Report& report, const Support& s) {
        expect_many(i, report, s, kManyBatches, 3, 2);
      },
      0);
  add(
      "RemembersOverManySteps",
      [](const Implementation& i, Report& report, const Support& s) {
        expect_many(i, report, s, 1, kManySteps, 1);
      },
      2);
  add("TakesNoStepsAndNullTensors", expect_no_steps, 0);
  add("KeepsNanToItselfAtEveryK", expect_isolation_at_every_K, 2);
  for (const bool causal : {true, false}) {
    if (!causal && product) continue;
    LinearAttentionCase isolated = isolation_case(support);
    isolated.causal = causal;
    add(
        std::string("KeepsNanToItself") + (causal ? "" : "InTheFullForm"),
        [isolated](const Implementation& i, Report& report, const Support& s) {
          expect_isolation(i, report, s, isolated);
        },
        causal);
  }
  if (product) return plan;
  add("TakesKeyLengths", expect_key_lengths);
  add("TakesBadKeyLengthsForTheNearestGoodOnes", expect_clamped_key_lengths, 1);
  return plan;
}

}  // namespace ladder
