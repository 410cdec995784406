// Cases of softmax attention for the judge's table, and random problems.
#include <algorithm>
#include <utility>

#include "common/judge/random.hpp"
#include "common/operators/attention/operator.hpp"

namespace ladder {
namespace {

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};

std::vector<AttentionCase> table_cases(bool long_too) {
  std::vector<AttentionCase> cases = attention_cases({.storages = {"fp32", "bf16", "fp16"}});
  for (AttentionCase& c : cases) {
    if (!long_too && c.D > 128) c.D = 32;
  }
  for (const Precision precision : kPrecisions) {
    for (const bool causal : {true, false}) {
      const auto add = [&](std::int64_t T_q, std::int64_t T_k, std::int64_t D, float magnitude) {
        AttentionCase& c = cases.emplace_back();
        c = {.T_q = T_q, .T_k = T_k, .H_q = 2, .D = D, .causal = causal, .magnitude = magnitude};
        c.precision = precision;
      };
      for (const float magnitude : {1.0f, 10.0f, 100.0f})
        add(40, 130, 64, magnitude);
      for (const auto& [T_q, T_k] : {std::pair{40, 1}, {40, 2}, {1, 66}, {3, 3}}) {
        for (const std::int64_t D : {32, 64})
          add(T_q, T_k, D, 1);
      }
      // With 1000 keys and one query, a key's gradient is subnormal in fp16.
      for (const std::int64_t T_q : {1, 999}) {
        if (long_too) add(T_q, 1000, 64, 1);
      }
    }
  }
  return cases;
}

std::vector<AttentionCase> random_cases(std::uint32_t seed) {
  constexpr std::int64_t kChannels[] = {32, 64};
  Random random(seed, 0);
  std::vector<AttentionCase> cases;
  for (const Precision precision : kPrecisions) {
    AttentionCase c{.T_q = random.one_of(kSmallLengths), .T_k = random.one_of(kSmallLengths)};
    c.H_q = 2;
    c.H_kv = random.one_in(2) ? 1 : 2;
    c.D = random.one_of(kChannels);
    c.causal = random.one_in(2);
    c.precision = precision;
    c.seed = static_cast<std::uint32_t>(random.below(1u << 31));
    cases.push_back(c);
  }
  return cases;
}

AttentionProblem fuzzed(Random& random, bool backward) {
  constexpr std::int64_t kWidths[] = {32, 64, 64, 96, 128, 128, 256};
  constexpr float kScales[] = {kUsualScale, kUsualScale, kUsualScale, kUsualScale,
                               0.5f,        0.5f,        0.03f,       -0.5f};
  AttentionCase c;
  c.precision = random.one_of(kPrecisions);
  c.D = random.one_in(20) ? random.one_of(kRandomSizes) : random.one_of(kWidths);
  c.H_kv = 1 + static_cast<std::int64_t>(random.below(3));
  c.H_q = c.H_kv * (1 + static_cast<std::int64_t>(random.below(3)));
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(2));
  c.T_q = random_length(random);
  c.T_k = random.one_in(3) ? c.T_q : random_length(random);
  c.causal = random.one_in(2);
  c.scale = random.one_of(kScales);
  if (c.causal && random.one_in(6)) c.window = 1 + random_length(random);
  if (random.one_in(12)) c.softcap = 5;
  if (random.one_in(12)) c.D_v = random.one_of(kWidths);
  c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
  const std::int64_t work = backward ? kRandomWork / 3 : kRandomWork;
  if (random.one_in(4)) {
    std::vector<AttentionCase::Lengths> lengths(1 + random.below(4));
    for (AttentionCase::Lengths& each : lengths)
      each = {random_part(random), random_part(random)};
    c = packed(c, lengths);
    if (c.T_q * 130 * c.H_q * std::max(c.D, c.D_v) > work) c.H_q = c.H_kv = 1;
  } else {
    c.key_lengths = random.one_in(3);
    while (c.B * c.T_q * std::max<std::int64_t>(c.T_k, 64) * c.H_q * std::max(c.D, c.D_v) > work) {
      if (c.B > 1) {
        --c.B;
      } else if (c.H_q > 2 * c.H_kv) {
        c.H_q -= c.H_kv;
      } else if (c.H_kv > 2) {
        --c.H_kv, c.H_q = c.H_kv;
      } else if (c.T_q > 37) {
        c.T_q = c.T_q * 2 / 3;
      } else {
        break;
      }
    }
  }
  AttentionProblem p(c);
  // Scores stay at about 1, because the softmax of large scores depends on their last bits.
  if (c.precision != Precision::kFp16) {
    const int q = random_power(random, c.precision), v = random_power(random, c.precision);
    scale_by_power(p["q"], q);
    scale_by_power(p["k"], -q);
    if (!backward || powers_fit({q, v})) scale_by_power(p["v"], v);
  }
  if (random.one_in(10)) make_some_tiny(random, p[random.one_in(2) ? "q" : "v"], c.precision);
  p.round_to_storage();
  return p;
}

template <typename Op>
void add_trials() {
  Operator& op = operator_of<Op>();
  op.own_plan = attention_plan<Op>;
  op.own_support_words = attention_support_words;
  op.table_cases = [](bool long_too) { return as_cases<Op>(table_cases(long_too)); };
  op.random_cases = [](std::uint32_t seed) { return as_cases<Op>(random_cases(seed)); };
  op.bad_inputs = each_bad_input<Op>([]<typename Args>(const Support& support, DeviceKind) {
    return attention_bad_inputs<Args>(support);
  });
}

[[maybe_unused]] const bool tried = [] {
  add_trials<Attention>();
  add_trials<AttentionBackward>();
  operator_of<Attention>().fuzz = [](Random& random) {
    return std::make_unique<Problem>(fuzzed(random, false));
  };
  operator_of<AttentionBackward>().fuzz = [](Random& random) {
    return std::make_unique<Problem>(make_grad_problem(fuzzed(random, true)));
  };
  return true;
}();

}  // namespace

}  // namespace ladder
