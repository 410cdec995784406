#include "tools/upkeep/fuzz_program/draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "common/operators/attention/reference.hpp"

namespace ladder::fuzz {
namespace {

constexpr std::int64_t kSizes[] = {1, 3, 5, 8, 16, 31, 32, 37, 48, 64, 65, 100, 128, 129, 200, 256};
constexpr std::int64_t kHeads[] = {1, 1, 2, 2, 3, 4};
// Multiplications of one run in the emulator: about a second.
constexpr std::int64_t kWork = 6'000'000;
// Powers of ten whose products stay this far from fp32's ends, 1e38 and 1e-38.
constexpr int kRange = 28;

std::int64_t length(Random& random) {
  return random.one_in(10) ? 0 : std::min<std::int64_t>(random.one_of(kSizes), 200);
}

// Lengths of packed sequences, empty ones among them.
std::int64_t part(Random& random) {
  constexpr std::int64_t kParts[] = {0, 0, 1, 3, 16, 17, 37, 63, 64, 65, 100, 130};
  return random.one_of(kParts);
}

bool fits(std::initializer_list<int> powers) {
  int sum = 0;
  for (const int power : powers)
    sum += power;
  return std::abs(sum) <= kRange;
}

float power_of_ten(int exponent) {
  return static_cast<float>(std::pow(10.0, exponent));
}

// A power of ten for a tensor, 0 most of the time.
int power(Random& random, Precision precision) {
  if (!random.one_in(4)) return 0;
  if (precision == Precision::kFp16)
    return static_cast<int>(random.below(3)) - 1;  // it ends at 65504
  return static_cast<int>(random.below(41)) - 22;
}

void scale_by(Tensor<float>& tensor, int exponent, Precision precision) {
  if (exponent == 0) return;
  for (float& x : tensor.data)
    x = rounded(x * power_of_ten(exponent), precision);
}

// Some elements become the smallest numbers there are, which are zeros beside the others.
void make_some_tiny(Random& random, Tensor<float>& tensor, Precision precision) {
  const float tiny = precision == Precision::kFp16 ? 6e-8f : 1e-40f;
  for (float& x : tensor.data) {
    if (random.one_in(8)) x = rounded(random.one_in(2) ? tiny : -tiny, precision);
  }
}

// Decays of every kind beside each other.
void mix_decays(Random& random, WkvProblem& problem) {
  const Precision precision =
      problem.wkv_case.precision == Precision::kBf16 ? Precision::kBf16 : Precision::kFp32;
  for (float& log_w : problem.log_w.data) {
    switch (random.below(8)) {
      case 0: log_w = -0.0f; break;
      case 1: log_w = -std::numeric_limits<float>::infinity(); break;
      case 2: log_w = -1e30f; break;
      case 3: log_w = -1e-30f; break;
      case 4: log_w = -random.between(0.0f, 100.0f); break;
      default: break;
    }
    log_w = rounded(log_w, precision);
  }
}

WkvCase wkv_case(Random& random, Recurrence recurrence, bool backward) {
  WkvCase c{.recurrence = recurrence};
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16,
                                       Precision::kBf16Fp32Decay};
  constexpr Decay kDecays[] = {Decay::kNone,  Decay::kMild,        Decay::kMild, Decay::kStrong,
                               Decay::kTotal, Decay::kStrongToken, Decay::kFixed};
  constexpr std::int64_t kSquare[] = {4, 32, 64, 64, 100, 128};  // chapters 03 to 05 take these
  c.precision = random.one_of(kPrecisions);
  c.decay = random.one_of(kDecays);
  c.fixed_log_w = -random.between(0.0f, 0.1f);
  c.H = random.one_of(kHeads);
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(3));
  c.T = length(random);
  c.K = random.one_of(kSizes);
  c.V = random.one_of(kSizes);
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
  const std::int64_t work = backward ? kWork / 4 : kWork;
  if (random.one_in(5)) {
    std::vector<std::int64_t> lengths(1 + random.below(5));
    for (std::int64_t& each : lengths)
      each = part(random);
    c = packed(c, lengths);
    while (c.T * c.H * c.K * c.V > work && (c.K > 16 || c.V > 16)) {
      (c.K > c.V ? c.K : c.V) = 16;
    }
    c.H = c.T * c.H * c.K * c.V > work ? 1 : c.H;
    return c;
  }
  while (c.B * c.T * c.H * c.K * c.V > work) {
    if (c.B > 1) {
      --c.B;
    } else if (c.H > 1) {
      --c.H;
    } else {
      c.T = c.T * 2 / 3;
    }
  }
  return c;
}

void change_values(Random& random, WkvProblem& p, Tensor<float>* d_o, Tensor<float>* d_state) {
  const Precision precision = p.wkv_case.precision;
  if (random.one_in(3)) mix_decays(random, p);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int q = power(random, precision), k = power(random, precision),
              v = power(random, precision), d = d_o == nullptr ? 0 : power(random, precision);
    // What kernels multiply: states, scores, and their gradients.
    if (!fits({q, k}) || !fits({k, v}) || !fits({q, k, v}) || !fits({q, d}) || !fits({d, v}) ||
        !fits({d, v, k}) || !fits({d, v, q}) || !fits({d, q, k}) || !fits({q, k, v, d})) {
      continue;
    }
    scale_by(p.q, q, precision);
    scale_by(p.k, k, precision);
    scale_by(p.v, v, precision);
    scale_by(p.initial_state, k + v, Precision::kFp32);
    if (d_o != nullptr) {
      scale_by(*d_o, d, precision);
      scale_by(*d_state, q + d, Precision::kFp32);
    }
    break;
  }
  // Where there is no step, u is not read and may be null, as the other tensors are.
  if (p.wkv_case.T == 0 && random.one_in(2)) p.u = {};
  if (random.one_in(10)) {
    Tensor<float>* const tensors[] = {&p.q, &p.k, &p.v};
    make_some_tiny(random, *random.one_of(tensors), precision);
  }
}

LinearAttentionProblem linear_attention_problem(Random& random) {
  LinearAttentionCase c;
  c.precision = random.one_in(2) ? Precision::kFp32 : Precision::kBf16;
  c.H = random.one_of(kHeads);
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(3));
  c.T_q = length(random);
  c.T_k = random.one_in(2) ? c.T_q : length(random);
  c.K = random.one_of(kSizes);
  c.V = random.one_of(kSizes);
  c.causal = !random.one_in(3);
  c.feature_map = random.one_in(2) ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
  // Without a feature map that is positive a denominator may be anything.
  c.normalize = c.feature_map == FeatureMap::kEluPlusOne && random.one_in(2);
  c.key_lengths = random.one_in(3);
  if (random.one_in(4)) {  // what the causal_dot_product of chapter 03 takes
    c.causal = true;
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = c.key_lengths = false;
    c.T_k = c.T_q;
  }
  c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
  while (c.B * std::max(c.T_q, c.T_k) * c.H * c.K * c.V > kWork) {
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
  LinearAttentionProblem p = make_problem(c);
  const bool identity = c.feature_map == FeatureMap::kIdentity;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int q = identity ? power(random, c.precision) : 0,
              k = identity ? power(random, c.precision) : 0, v = power(random, c.precision);
    if (!fits({q, k}) || !fits({k, v}) || !fits({q, k, v})) continue;
    scale_by(p.q, q, c.precision);
    scale_by(p.k, k, c.precision);
    scale_by(p.v, v, c.precision);
    break;
  }
  if (random.one_in(10)) make_some_tiny(random, random.one_in(2) ? p.k : p.v, c.precision);
  return p;
}

AttentionProblem attention_problem(Random& random, bool backward) {
  AttentionCase c;
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};
  constexpr std::int64_t kWidths[] = {32, 64, 64, 96, 128, 128, 256};
  c.precision = random.one_of(kPrecisions);
  c.D = random.one_in(20) ? random.one_of(kSizes) : random.one_of(kWidths);
  c.H_kv = 1 + static_cast<std::int64_t>(random.below(3));
  c.H_q = c.H_kv * (1 + static_cast<std::int64_t>(random.below(3)));
  c.B = random.one_in(12) ? 0 : 1 + static_cast<std::int64_t>(random.below(2));
  c.T_q = length(random);
  c.T_k = random.one_in(3) ? c.T_q : length(random);
  c.causal = random.one_in(2);
  constexpr float kScales[] = {0.0f, 0.0f, 0.5f, 0.03f};
  c.scale = random.one_of(kScales);
  c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
  const std::int64_t work = backward ? kWork / 3 : kWork;
  if (random.one_in(4)) {
    std::vector<AttentionCase::Lengths> lengths(1 + random.below(4));
    for (AttentionCase::Lengths& each : lengths)
      each = {part(random), part(random)};
    c = packed(c, lengths);
    if (c.T_q * 130 * c.H_q * c.D > work) c.H_q = c.H_kv = 1;
  } else {
    c.key_lengths = random.one_in(3);
    while (c.B * c.T_q * std::max<std::int64_t>(c.T_k, 64) * c.H_q * c.D > work) {
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
  AttentionProblem p = make_problem(c);
  // The scores stay as they are, about 1: a softmax of large ones is a matter of their last bits.
  if (c.precision != Precision::kFp16) {
    const int q = power(random, c.precision), v = power(random, c.precision);
    scale_by(p.q, q, c.precision);
    scale_by(p.k, -q, c.precision);
    if (!backward || fits({q, v})) scale_by(p.v, v, c.precision);
  }
  if (random.one_in(10)) make_some_tiny(random, random.one_in(2) ? p.q : p.v, c.precision);
  return p;
}

float bad_value(Random& random, const std::string& array) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  if (array == "log_w" || random.one_in(2)) return kNan;
  return random.one_in(2) ? kInfinity : -kInfinity;
}

std::int64_t sequence_of(const WkvProblem& p, std::int64_t row) {
  if (p.cu_seqlens.empty()) return row / p.wkv_case.T;
  std::int64_t n = 0;
  while (p.cu_seqlens.data[n + 1] <= row)
    ++n;
  return n;
}

std::int64_t sequence_of(const Tensor<std::int64_t>& cu_seqlens, std::int64_t row, std::int64_t T) {
  if (cu_seqlens.empty()) return row / T;
  std::int64_t n = 0;
  while (cu_seqlens.data[n + 1] <= row)
    ++n;
  return n;
}

// A (rows, heads, width) array.
struct Rows {
  const char* name;
  const Tensor<float>* tensor;
  std::int64_t heads, width;
};

std::optional<BadValue> bad_element(Random& random, const Rows& rows) {
  if (rows.tensor->empty()) return std::nullopt;
  BadValue bad{.array = rows.name};
  bad.element = static_cast<std::int64_t>(random.below(rows.tensor->data.size()));
  bad.value = bad_value(random, bad.array);
  bad.head = bad.element / rows.width % rows.heads;
  bad.sequence = bad.element / rows.width / rows.heads;  // the row: the caller makes it a sequence
  return bad;
}

std::optional<BadValue> bad_in(Random& random, const WkvProblem& p, const Tensor<float>* d_o) {
  const WkvCase& c = p.wkv_case;
  std::vector<Rows> arrays = {{"q", &p.q, c.H, c.K},
                              {"k", &p.k, c.H, c.K},
                              {"v", &p.v, c.H, c.V},
                              {"log_w", &p.log_w, c.H, c.K}};
  if (c.recurrence == Recurrence::kWkv) arrays.push_back({"u", &p.u, c.H, c.K});
  if (d_o != nullptr) arrays.push_back({"d_o", d_o, c.H, c.V});
  auto bad = bad_element(random, arrays[random.below(arrays.size())]);
  if (!bad) return bad;
  const bool all = bad->array == "u" || (bad->array == "log_w" && c.decay_per_head);
  bad->sequence = all ? -1 : sequence_of(p, bad->sequence);
  return bad;
}

std::optional<BadValue> bad_in(Random& random, const LinearAttentionProblem& p) {
  const LinearAttentionCase& c = p.attention_case;
  const Rows arrays[] = {{"q", &p.q, c.H, c.K}, {"k", &p.k, c.H, c.K}, {"v", &p.v, c.H, c.V}};
  auto bad = bad_element(random, random.one_of(arrays));
  if (bad) bad->sequence /= bad->array == "q" ? c.T_q : c.T_k;
  return bad;
}

std::optional<BadValue> bad_in(Random& random, const AttentionProblem& p,
                               const Tensor<float>* d_o) {
  const AttentionCase& c = p.attention_case;
  std::vector<Rows> arrays = {
      {"q", &p.q, c.H_q, c.D}, {"k", &p.k, c.H_kv, c.D}, {"v", &p.v, c.H_kv, c.D}};
  if (d_o != nullptr) arrays.push_back({"d_o", d_o, c.H_q, c.D});
  auto bad = bad_element(random, arrays[random.below(arrays.size())]);
  if (!bad) return bad;
  const bool query = bad->array == "q" || bad->array == "d_o";
  if (query) bad->head /= c.H_q / c.H_kv;
  bad->sequence = query ? sequence_of(p.cu_seqlens_q, bad->sequence, c.T_q)
                        : sequence_of(p.cu_seqlens_k, bad->sequence, c.T_k);
  return bad;
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t index) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
  engine_.seed(words);
}

float Random::between(float low, float high) {
  return low + (high - low) * static_cast<float>(static_cast<double>(engine_() >> 11) * 0x1p-53);
}

Draw draw(std::uint64_t seed, std::uint64_t index) {
  Random random(seed, index);
  constexpr const char* kOperators[] = {"wkv",
                                        "wkv",
                                        "wkv",
                                        "gla",
                                        "linear_attention",
                                        "linear_attention",
                                        "wkv_backward",
                                        "gla_backward",
                                        "attention",
                                        "attention",
                                        "attention_backward"};
  Draw result{.op = random.one_of(kOperators)};
  const bool spoil = random.one_in(8);
  if (result.op == "linear_attention") {
    LinearAttentionProblem p = linear_attention_problem(random);
    result.name = name_of(p.attention_case);
    if (spoil) result.bad = bad_in(random, p);
    result.problem = std::move(p);
  } else if (result.op == "attention") {
    AttentionProblem p = attention_problem(random, false);
    result.name = name_of(p.attention_case);
    if (spoil) result.bad = bad_in(random, p, nullptr);
    result.problem = std::move(p);
  } else if (result.op == "attention_backward") {
    AttentionGradProblem p =
        reference::make_attention_grad_problem(attention_problem(random, true));
    result.name = name_of(p.forward.attention_case);
    if (spoil) result.bad = bad_in(random, p.forward, &p.d_o);
    result.problem = std::move(p);
  } else {
    const Recurrence recurrence =
        result.op.starts_with("gla") ? Recurrence::kGla : Recurrence::kWkv;
    const bool backward = result.op.ends_with("backward");
    WkvCase c = wkv_case(random, recurrence, backward);
    c.seed = static_cast<std::uint32_t>(1 + random.below(1u << 31));
    result.name = name_of(c);
    if (backward) {
      WkvGradProblem p = make_grad_problem(c);
      change_values(random, p.forward, &p.d_o, &p.d_final_state);
      if (spoil) result.bad = bad_in(random, p.forward, &p.d_o);
      result.problem = std::move(p);
    } else {
      WkvProblem p = make_problem(c);
      change_values(random, p, nullptr, nullptr);
      if (spoil) result.bad = bad_in(random, p, nullptr);
      result.problem = std::move(p);
    }
  }
  return result;
}

Problem spoiled(Problem problem, const BadValue& bad) {
  const auto set = [&](const char* name, Tensor<float>& tensor) {
    if (bad.array == name) tensor.data[bad.element] = bad.value;
  };
  const auto set_all = [&](auto& p) {
    set("q", p.q);
    set("k", p.k);
    set("v", p.v);
    if constexpr (requires { p.log_w; }) {
      set("log_w", p.log_w);
      set("u", p.u);
    }
  };
  std::visit(
      [&](auto& p) {
        if constexpr (requires { p.forward; }) {
          set_all(p.forward);
          set("d_o", p.d_o);
        } else {
          set_all(p);
        }
      },
      problem);
  return problem;
}

}  // namespace ladder::fuzz
