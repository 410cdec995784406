// Cases of linear attention for the judge's table, and random problems.
#include <algorithm>

#include "common/judge/random.hpp"
#include "common/operators/linear_attention/operator.hpp"

namespace ladder {
namespace {

using Case = LinearAttentionCase;

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};

std::vector<Case> table_cases(bool long_too) {
  std::vector<Case> cases;
  using Storages = std::vector<std::string>;
  for (const Storages& storages : {Storages{"fp32", "bf16"}, Storages{"fp16"}}) {
    for (const bool product : {true, false}) {
      Support support{.storages = storages};
      if (product) support.refuses = {kAllButTheCausalProduct};
      for (Case c : linear_attention_cases(support)) {
        c.B = 1;
        c.H = 2;
        if (!long_too) {
          c.T_q = std::min<std::int64_t>(c.T_q, 200);
          c.T_k = std::min<std::int64_t>(c.T_k, 200);
          make_small(std::max(c.T_q, c.T_k), c.K, c.V);
        }
        cases.push_back(c);
      }
    }
  }
  std::uint32_t turn = 0;
  for (const auto& [T_q, T_k] : {std::pair{1, 1}, {1, 64}, {64, 1}, {70, 1}, {17, 17}, {65, 65}}) {
    for (const std::int64_t K : {4, 16, 65, 100}) {
      for (const std::int64_t V : {1, 2, 3, 4, 64}) {
        for (const int form : {0, 1, 2, 3}) {
          Case c{.B = 2, .T_q = T_q, .T_k = T_k, .H = 3, .K = K, .V = V};
          c.feature_map = form < 2 ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
          c.normalize = form == 3;
          c.causal = form == 0 || turn % 3 != 0;
          if (form == 0) c.T_k = c.T_q;
          c.precision = kPrecisions[turn / 4 % 3];
          c.seed = 100 + turn++;
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

std::vector<Case> random_cases(std::uint32_t seed) {
  Random random(seed, 0);
  std::vector<Case> cases;
  for (const Precision precision : kPrecisions) {
    for (const int form : {0, 1, 2, 3}) {
      Case c{.B = 1, .T_q = random.one_of(kSmallLengths), .H = 2};
      c.T_k = form == 0 ? c.T_q : random.one_of(kSmallLengths);
      c.K = random.one_of(kSmallSizes);
      c.V = random.one_of(kSmallWidths);
      c.feature_map = form < 2 ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
      c.normalize = form == 3;
      c.causal = form == 0 || random.one_in(2);
      c.precision = precision;
      c.seed = static_cast<std::uint32_t>(random.below(1u << 31));
      cases.push_back(c);
    }
  }
  return cases;
}

LinearAttentionProblem fuzz(Random& random) {
  Case c;
  c.precision = random.one_of(kPrecisions);
  c.H = random.one_of(kRandomHeads);
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(3));
  c.T_q = random_length(random);
  c.T_k = random.one_in(2) ? c.T_q : random_length(random);
  c.K = random.one_of(kRandomSizes);
  c.V = random.one_of(kRandomSizes);
  c.causal = !random.one_in(3);
  c.feature_map = random.one_in(2) ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
  // Without a positive feature map a denominator may have any value.
  c.normalize = c.feature_map == FeatureMap::kEluPlusOne && random.one_in(2);
  c.key_lengths = random.one_in(3);
  if (random.one_in(4)) {  // a causal product
    c.causal = true;
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = c.key_lengths = false;
    c.T_k = c.T_q;
  }
  c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
  while (c.B * std::max(c.T_q, c.T_k) * c.H * c.K * c.V > kRandomWork) {
    if (c.B > 1) {
      --c.B;
    } else if (c.H > 1) {
      --c.H;
    } else {
      const bool same = c.T_q == c.T_k;
      c.T_q = c.T_q * 2 / 3;
      c.T_k = same ? c.T_q : c.T_k * 2 / 3;
    }
  }
  LinearAttentionProblem p(c);
  const bool identity = c.feature_map == FeatureMap::kIdentity;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int q = identity ? random_power(random, c.precision) : 0,
              k = identity ? random_power(random, c.precision) : 0,
              v = random_power(random, c.precision);
    if (!powers_fit({q, k}, c.precision) || !powers_fit({k, v}, c.precision) ||
        !powers_fit({q, k, v}, c.precision)) {
      continue;
    }
    // Without a normaliser a sum of positive weights is already large.
    if (c.precision == Precision::kFp16 && !identity && !c.normalize && v > 0) continue;
    scale_by_power(p["q"], q);
    scale_by_power(p["k"], k);
    scale_by_power(p["v"], v);
    break;
  }
  if (random.one_in(10)) make_some_tiny(random, p[random.one_in(2) ? "k" : "v"], c.precision);
  p.round_to_storage();
  return p;
}

template <typename Op>
void add_trials() {
  Operator& op = operator_of<Op>();
  op.own_plan = linear_attention_plan;
  op.own_support_words = linear_attention_support_words;
  op.table_cases = [](bool long_too) { return as_cases<Op>(table_cases(long_too)); };
  op.random_cases = [](std::uint32_t seed) { return as_cases<Op>(random_cases(seed)); };
  op.fuzz = [](Random& random) {
    return std::make_unique<Problem>(fuzz(random).as_of(operator_of<Op>()));
  };
  op.bad_inputs = each_bad_input<Op>([]<typename Args>(const Support& support, DeviceKind where) {
    return linear_attention_bad_inputs<Args>(support, where);
  });
}

[[maybe_unused]] const bool tried =
    (add_trials<LinearAttention>(), add_trials<CausalDotProduct>(), true);

}  // namespace

}  // namespace ladder
