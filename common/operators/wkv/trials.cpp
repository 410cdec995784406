// Cases of WKV and GLA for the judge's table, and random problems.
#include <algorithm>
#include <limits>

#include "common/judge/random.hpp"
#include "common/operators/wkv/operator.hpp"

namespace ladder {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Decay kDecays[] = {Decay::kMild, Decay::kNone, Decay::kStrong, Decay::kTotal,
                             Decay::kStrongToken};
constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay};

// Gradients are not stored in fp16.
std::vector<Precision> precisions_of(bool gradients) {
  std::vector<Precision> precisions(std::begin(kPrecisions), std::end(kPrecisions));
  if (!gradients) precisions.push_back(Precision::kFp16);
  return precisions;
}

// Short rows and few steps, with all options in rotation.
void add_short_cases(std::vector<WkvCase>& cases, Recurrence recurrence, bool gradients) {
  const std::vector<Precision> precisions = precisions_of(gradients);
  const std::int64_t B = gradients ? 1 : 2;
  std::uint32_t turn = 0;
  for (const std::int64_t T : {1, 2, 5, 17, 18, 20, 65}) {
    for (const std::int64_t K : {4, 16, 100}) {
      for (const std::int64_t V : {1, 2, 3, 4, 64}) {
        WkvCase c{.recurrence = recurrence, .B = B, .T = T, .H = 3, .K = K, .V = V};
        c.decay = kDecays[turn % 5];
        c.decay_per_head = turn % 2 == 1 && c.decay != Decay::kStrongToken;
        c.initial_state = c.final_state = turn % 3 == 1;
        c.precision = precisions[turn % precisions.size()];
        c.seed = 100 + turn++;
        cases.push_back(c);
      }
    }
  }
}

void add_fixed_decays(std::vector<WkvCase>& cases, Recurrence recurrence, bool gradients) {
  const std::int64_t size = gradients ? 20 : 64;
  for (const Precision precision : precisions_of(gradients)) {
    for (const float log_w :
         {0.0f, -1e-3f, -0.1f, -0.6f, -1.3f, -5.0f, -16.0f, -1e4f, -kInfinity}) {
      for (const bool per_head : {false, true}) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = 66, .H = 2, .K = size, .V = size};
        c.decay = Decay::kFixed;
        c.fixed_log_w = log_w;
        c.decay_per_head = per_head;
        c.initial_state = c.final_state = true;
        c.precision = precision;
        cases.push_back(c);
      }
    }
  }
}

// Decays per head, whose gradients are sums over all steps.
void add_sums_over_steps(std::vector<WkvCase>& cases, Recurrence recurrence) {
  for (const Precision precision : kPrecisions) {
    for (const std::int64_t T : {24, 40, 65, 130, 260}) {
      for (const Decay decay : {Decay::kNone, Decay::kMild}) {
        WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 2, .K = 20, .V = 20};
        c.decay = decay;
        c.decay_per_head = true;
        c.precision = precision;
        cases.push_back(c);
      }
    }
  }
  for (const std::int64_t T : {200, 260}) {
    for (const std::uint32_t seed : {2, 3, 4}) {
      WkvCase c{.recurrence = recurrence, .B = 1, .T = T, .H = 2, .K = 16, .V = 16};
      c.decay = Decay::kNone;
      c.decay_per_head = true;
      c.precision = Precision::kBf16Fp32Decay;
      c.seed = seed;
      cases.push_back(c);
    }
  }
}

WkvCase random_case(Random& random, Recurrence recurrence, bool gradients) {
  const std::int64_t work = gradients ? kRandomWork / 4 : kRandomWork;
  const std::vector<Precision> precisions = precisions_of(gradients);
  WkvCase c{.recurrence = recurrence};
  constexpr Decay kKinds[] = {Decay::kNone,  Decay::kMild,        Decay::kMild, Decay::kStrong,
                              Decay::kTotal, Decay::kStrongToken, Decay::kFixed};
  constexpr std::int64_t kSquare[] = {4, 32, 64, 64, 100, 128};  // the only sizes of some kernels
  c.precision = precisions[random.below(precisions.size())];
  c.decay = random.one_of(kKinds);
  c.fixed_log_w = -random.between(0.0f, 0.1f);
  c.H = random.one_of(kRandomHeads);
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(3));
  c.T = random_length(random);
  c.K = random.one_of(kRandomSizes);
  c.V = random.one_of(kRandomSizes);
  if (random.one_in(3)) {
    c.K = c.V = random.one_of(kSquare);
  } else {
    c.initial_state = random.one_in(2);
    c.final_state = random.one_in(2);
    c.reverse = random.one_in(3);
  }
  c.decay_per_head = random.one_in(4);
  constexpr float kScales[] = {1.0f, 1.0f, 0.125f, 0.0f, -3.0f};
  c.scale = random.one_of(kScales);
  if (random.one_in(5)) {
    std::vector<std::int64_t> lengths(1 + random.below(5));
    for (std::int64_t& each : lengths)
      each = random_part(random);
    c = packed(c, lengths);
    while (c.T * c.H * c.K * c.V > work && (c.K > 16 || c.V > 16))
      (c.K > c.V ? c.K : c.V) = 16;
    c.H = c.T * c.H * c.K * c.V > work ? 1 : c.H;
  }
  while (c.lengths.empty() && c.B * c.T * c.H * c.K * c.V > work) {
    if (c.B > 1) {
      --c.B;
    } else if (c.H > 1) {
      --c.H;
    } else {
      c.T = c.T * 2 / 3;
    }
  }
  c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
  return c;
}

void mix_decays(Random& random, std::vector<float>& decays) {
  for (float& log_w : decays) {
    switch (random.below(8)) {
      case 0: log_w = -0.0f; break;
      case 1: log_w = -kInfinity; break;
      case 2: log_w = -1e30f; break;
      case 3: log_w = -1e-30f; break;
      case 4: log_w = -random.between(0.0f, 100.0f); break;
      default: break;
    }
  }
}

std::vector<WkvCase> table_cases(Recurrence recurrence, bool gradients, bool long_too) {
  std::vector<WkvCase> cases;
  std::vector<std::vector<std::string>> designs = {{"fp32", "bf16", "bf16_fp32_decay"}};
  if (!gradients) designs.push_back({"fp16"});
  for (const std::vector<std::string>& storages : designs) {
    Support support{.storages = storages};
    if (gradients) {
      const std::vector<std::int64_t> channels = {4, 20, 64, 72, 100};
      support.sizes = {{"T", {1, 17, 18, 20, 24, 65, 130, 200}}, {"K", channels}, {"V", channels}};
    }
    for (WkvCase c : wkv_cases(support, recurrence)) {
      c.B = 1;
      c.H = 2;
      if (!long_too) make_small(c.T, c.K, c.V);
      cases.push_back(c);
    }
  }
  add_short_cases(cases, recurrence, gradients);
  add_fixed_decays(cases, recurrence, gradients);
  if (gradients) add_sums_over_steps(cases, recurrence);
  return cases;
}

std::vector<WkvCase> random_cases(Recurrence recurrence, bool gradients, std::uint32_t seed) {
  Random random(seed, 0);
  constexpr std::int64_t kSquare[] = {4, 32};
  std::vector<WkvCase> cases;
  for (const Precision precision : precisions_of(gradients)) {
    WkvCase c{.recurrence = recurrence, .B = 1, .T = random.one_of(kSmallLengths), .H = 2};
    c.K = random.one_of(kSmallSizes);
    c.V = random.one_of(kSmallWidths);
    const bool square = random.one_in(3);
    if (square) c.K = c.V = random.one_of(kSquare);
    c.decay = random.one_of(kDecays);
    c.decay_per_head = random.one_in(2) && c.decay != Decay::kStrongToken;
    c.initial_state = c.final_state = !square && random.one_in(2);
    c.reverse = !square && random.one_in(2);
    c.precision = precision;
    c.seed = static_cast<std::uint32_t>(random.below(1u << 31));
    cases.push_back(c);
  }
  return cases;
}

template <typename Typed>
Typed fuzz(Random& random, Recurrence recurrence) {
  constexpr bool gradients = std::is_same_v<Typed, WkvGradProblem>;
  Typed p(random_case(random, recurrence, gradients));
  const WkvCase& c = p.drawn_case();
  if (random.one_in(3)) mix_decays(random, p["log_w"]);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int q = random_power(random, c.precision), k = random_power(random, c.precision),
              v = random_power(random, c.precision),
              d = gradients ? random_power(random, c.precision) : 0;
    // Products in kernels, which are states, scores and their gradients, must not overflow.
    if (!powers_fit({q, k}, c.precision) || !powers_fit({k, v}, c.precision) ||
        !powers_fit({q, k, v}, c.precision) || !powers_fit({q, d}) || !powers_fit({d, v}) ||
        !powers_fit({d, v, k}) || !powers_fit({d, v, q}) || !powers_fit({d, q, k}) ||
        !powers_fit({q, k, v, d})) {
      continue;
    }
    scale_by_power(p["q"], q);
    scale_by_power(p["k"], k);
    scale_by_power(p["v"], v);
    scale_by_power(p["initial_state"], k + v);
    scale_by_power(p["d_o"], d);
    scale_by_power(p["d_final_state"], q + d);
    break;
  }
  // Without steps u is not read and may be null, like the other tensors.
  if (c.T == 0 && random.one_in(2)) p["u"].clear();
  if (random.one_in(10)) {
    constexpr const char* kTensors[] = {"q", "k", "v"};
    make_some_tiny(random, p[random.one_of(kTensors)], c.precision);
  }
  p.round_to_storage();
  return p;
}

template <typename Op>
void add_trials() {
  constexpr bool gradients = std::is_same_v<typename Op::Problem, WkvGradProblem>;
  Operator& op = operator_of<Op>();
  op.own_plan = wkv_plan<Op>;
  op.own_support_words = wkv_support_words;
  op.table_cases = [](bool long_too) {
    return as_cases<Op>(table_cases(Op::kRecurrence, gradients, long_too));
  };
  op.random_cases = [](std::uint32_t seed) {
    return as_cases<Op>(random_cases(Op::kRecurrence, gradients, seed));
  };
  op.fuzz = [](Random& random) {
    return std::make_unique<Problem>(fuzz<typename Op::Problem>(random, Op::kRecurrence));
  };
  op.bad_inputs = each_bad_input<Op>([]<typename Args>(const Support& support, DeviceKind) {
    return wkv_bad_inputs<Args>(support, Op::kRecurrence);
  });
}

[[maybe_unused]] const bool tried = (add_trials<Wkv>(), add_trials<Gla>(),
                                     add_trials<WkvBackward>(), add_trials<GlaBackward>(), true);

}  // namespace

}  // namespace ladder
