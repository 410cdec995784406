#include "common/core/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "common/core/decay.hpp"
#include "common/core/errors.hpp"

namespace ladder {
namespace {

// std::mt19937 is the same everywhere; the standard distributions are not, so the uniform numbers are made here.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : engine_(seed) {}

  float uniform(float low, float high) {
    const double unit = engine_() / 4294967296.0;
    return static_cast<float>(low + (high - low) * unit);
  }

  Tensor<float> tensor(std::vector<std::int64_t> shape, float low, float high) {
    Tensor<float> result(std::move(shape));
    for (float& element : result.data)
      element = uniform(low, high);
    return result;
  }

  // For each batch, from 0..T_k; the first one 0 where there are several.
  Tensor<std::int64_t> key_lengths(std::int64_t B, std::int64_t T_k) {
    Tensor<std::int64_t> lengths({B});
    for (std::int64_t& length : lengths.data)
      length = static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(T_k + 1));
    if (B > 1) lengths.data[0] = 0;
    return lengths;
  }

 private:
  std::mt19937 engine_;
};

float draw_log_w(Generator& generator, const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return 0.0f;
    case Decay::kStrong: return generator.uniform(-16.0f, -1.0f);
    case Decay::kTotal: return -std::numeric_limits<float>::infinity();
    case Decay::kFixed: return c.fixed_log_w;
    default: return log_decay_from_rwkv(generator.uniform(-4.0f, -1.0f));
  }
}

// Letters, digits and underscores only: it becomes part of a test's name.
std::string word(float log_w) {
  std::ostringstream text;
  text << "log_w_minus_" << -log_w;
  std::string word = text.str();
  std::replace(word.begin(), word.end(), '.', 'p');
  word.erase(std::remove_if(word.begin(), word.end(), [](char x) { return x == '+' || x == '-'; }),
             word.end());
  return word;
}

std::string word(const WkvCase& c) {
  switch (c.decay) {
    case Decay::kNone: return "no_decay";
    case Decay::kMild: return "mild";
    case Decay::kStrong: return "strong";
    case Decay::kTotal: return "total";
    case Decay::kStrongToken: return "one_total_token";
    case Decay::kFixed: return word(c.fixed_log_w);
  }
  return "";
}

const char* magnitude_word(float magnitude) {
  return magnitude == 1.0f ? "" : magnitude > 1.0f ? "_huge" : "_tiny";
}

const char* precision_word(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "";
    case Precision::kBf16: return "_bf16";
    case Precision::kBf16Fp32Decay: return "_bf16_fp32_decay";
    case Precision::kFp16: return "_fp16";
  }
  return "";
}

void round_to(Precision precision, Tensor<float>& tensor) {
  for (float& element : tensor.data)
    element = rounded(element, precision);
}

// 0, and where each of the sequences ends.
Tensor<std::int64_t> cumulative(const std::vector<std::int64_t>& lengths) {
  Tensor<std::int64_t> ends({static_cast<std::int64_t>(lengths.size()) + 1});
  std::partial_sum(lengths.begin(), lengths.end(), ends.data.begin() + 1);
  return ends;
}

}  // namespace

float rounded(float x, Precision precision) {
  switch (precision) {
    case Precision::kFp32: return x;
    case Precision::kFp16: return to_float(to_float16(x));
    default: return to_float(to_bfloat16(x));
  }
}

void refuse_fp16(Precision precision) {
  require(precision != Precision::kFp16, "precision is fp16; allowed for softmax attention only");
}

std::string name_of(const WkvCase& c) {
  std::ostringstream name;
  name << (c.recurrence == Recurrence::kGla ? "gla_" : "") << "B" << c.B << "_T" << c.T << "_H"
       << c.H << "_K" << c.K << "_V" << c.V << (c.lengths.empty() ? "" : "_packed");
  for (const std::int64_t length : c.lengths)
    name << "_" << length;
  name << "_" << word(c) << (c.decay_per_head ? "_per_head" : "")
       << (c.initial_state ? "_from_state" : "") << (c.final_state ? "_to_state" : "")
       << (c.reverse ? "_reverse" : "") << (c.scale != 1.0f ? "_scaled" : "")
       << magnitude_word(c.magnitude) << precision_word(c.precision);
  return name.str();
}

WkvCase packed(WkvCase c, std::vector<std::int64_t> lengths) {
  c.B = 1;
  c.T = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  c.lengths = std::move(lengths);
  return c;
}

WkvProblem make_problem(const WkvCase& c) {
  refuse_fp16(c.precision);
  Generator generator(c.seed);
  WkvProblem problem;
  problem.wkv_case = c;
  const float m = c.magnitude;
  problem.q = generator.tensor({c.B, c.T, c.H, c.K}, -m, m);
  problem.k = generator.tensor({c.B, c.T, c.H, c.K}, -m, m);
  problem.v = generator.tensor({c.B, c.T, c.H, c.V}, -m, m);
  if (c.recurrence == Recurrence::kWkv) problem.u = generator.tensor({c.H, c.K}, -1.0f, 1.0f);
  problem.log_w =
      c.decay_per_head ? Tensor<float>({c.H, c.K}) : Tensor<float>({c.B, c.T, c.H, c.K});
  for (float& element : problem.log_w.data)
    element = draw_log_w(generator, c);
  if (c.decay == Decay::kStrongToken && !c.decay_per_head) {
    const std::int64_t step = c.H * c.K;
    for (std::int64_t b = 0; b < c.B; ++b) {
      for (std::int64_t i = 0; i < step && c.T > 0; ++i) {
        problem.log_w.data[(b * c.T + c.T / 2) * step + i] =
            -std::numeric_limits<float>::infinity();
      }
    }
  }
  if (c.initial_state) {
    problem.initial_state = generator.tensor({c.sequences(), c.H, c.K, c.V}, -m * m, m * m);
  }
  if (!c.lengths.empty()) {
    problem.cu_seqlens = cumulative(c.lengths);
    require(c.B == 1 && problem.cu_seqlens.data.back() == c.T,
            name_of(c) + ": packed sequences allow only B = 1 and T = the sum of their lengths");
  }
  for (Tensor<float>* tensor : {&problem.q, &problem.k, &problem.v, &problem.u})
    round_to(c.precision, *tensor);
  if (c.precision == Precision::kBf16) round_to(c.precision, problem.log_w);
  check_log_w(problem.log_w.pointer(), problem.log_w.size());
  return problem;
}

WkvProblem::Sequence WkvProblem::sequence(std::int64_t n) const {
  if (cu_seqlens.empty()) return {n * wkv_case.T, wkv_case.T};
  return {cu_seqlens.data[n], cu_seqlens.data[n + 1] - cu_seqlens.data[n]};
}

WkvArgs WkvProblem::args() const {
  WkvArgs args = sizes<float, float>();
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.log_w = log_w.pointer();
  args.u = u.pointer();
  args.initial_state = initial_state.pointer();
  args.cu_seqlens = cu_seqlens.pointer();
  return args;
}

WkvGradProblem make_grad_problem(const WkvCase& c) {
  WkvGradProblem problem;
  problem.forward = make_problem(c);
  Generator generator(~c.seed);
  problem.d_o = generator.tensor({c.B, c.T, c.H, c.V}, -1.0f, 1.0f);
  round_to(c.precision, problem.d_o);
  // As large as what d_o makes of it: q d_o.
  if (c.final_state) {
    problem.d_final_state =
        generator.tensor({c.sequences(), c.H, c.K, c.V}, -c.magnitude, c.magnitude);
  }
  return problem;
}

std::string name_of(const LinearAttentionCase& c) {
  std::ostringstream name;
  name << "B" << c.B << "_Tq" << c.T_q << "_Tk" << c.T_k << "_H" << c.H << "_K" << c.K << "_V"
       << c.V << (c.causal ? "_causal" : "_full")
       << (c.feature_map == FeatureMap::kEluPlusOne ? "_elu" : "")
       << (c.normalize ? "_normalized" : "") << (c.eps != LinearAttentionCase{}.eps ? "_eps" : "")
       << (c.key_lengths ? "_key_lengths" : "") << magnitude_word(c.magnitude)
       << precision_word(c.precision);
  return name.str();
}

LinearAttentionProblem make_problem(const LinearAttentionCase& c) {
  refuse_fp16(c.precision);
  Generator generator(c.seed);
  LinearAttentionProblem problem;
  problem.attention_case = c;
  const float m = c.magnitude;
  problem.q = generator.tensor({c.B, c.T_q, c.H, c.K}, -m, m);
  problem.k = generator.tensor({c.B, c.T_k, c.H, c.K}, -m, m);
  problem.v = generator.tensor({c.B, c.T_k, c.H, c.V}, -m, m);
  for (Tensor<float>* tensor : {&problem.q, &problem.k, &problem.v})
    round_to(c.precision, *tensor);
  if (c.key_lengths) problem.key_lengths = generator.key_lengths(c.B, c.T_k);
  return problem;
}

LinearAttentionArgs LinearAttentionProblem::args() const {
  LinearAttentionArgs args = sizes<float>();
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.key_lengths = key_lengths.pointer();
  return args;
}

std::string name_of(const AttentionCase& c) {
  std::ostringstream name;
  name << "B" << c.B << "_Tq" << c.T_q << "_Tk" << c.T_k << "_Hq" << c.H_q << "_Hkv" << c.H_kv
       << "_D" << c.D << (c.lengths.empty() ? "" : "_packed");
  for (const auto& [queries, keys] : c.lengths)
    name << "_" << queries << "x" << keys;
  name << (c.causal ? "_causal" : "_full") << (c.key_lengths ? "_key_lengths" : "")
       << (c.scale != 0.0f ? "_scaled" : "") << magnitude_word(c.magnitude)
       << precision_word(c.precision);
  return name.str();
}

AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths) {
  c.B = 1;
  c.T_q = c.T_k = 0;
  for (const auto& [queries, keys] : lengths) {
    c.T_q += queries;
    c.T_k += keys;
  }
  c.lengths = std::move(lengths);
  return c;
}

AttentionProblem make_problem(const AttentionCase& c) {
  require(c.precision != Precision::kBf16Fp32Decay,
          name_of(c) + ": attention has no decay; allowed: fp32, bf16, fp16");
  Generator generator(c.seed);
  AttentionProblem problem;
  problem.attention_case = c;
  const float m = std::sqrt(3.0f) * c.magnitude;  // a variance of 1
  problem.q = generator.tensor({c.B, c.T_q, c.H_q, c.D}, -m, m);
  problem.k = generator.tensor({c.B, c.T_k, c.H_kv, c.D}, -m, m);
  problem.v = generator.tensor({c.B, c.T_k, c.H_kv, c.D}, -1.0f, 1.0f);
  for (Tensor<float>* tensor : {&problem.q, &problem.k, &problem.v})
    round_to(c.precision, *tensor);
  if (c.key_lengths) problem.key_lengths = generator.key_lengths(c.B, c.T_k);
  if (!c.lengths.empty()) {
    std::vector<std::int64_t> queries, keys;
    for (const AttentionCase::Lengths& each : c.lengths) {
      queries.push_back(each.queries);
      keys.push_back(each.keys);
    }
    problem.cu_seqlens_q = cumulative(queries);
    problem.cu_seqlens_k = cumulative(keys);
    require(c.B == 1 && !c.key_lengths && problem.cu_seqlens_q.data.back() == c.T_q &&
                problem.cu_seqlens_k.data.back() == c.T_k,
            name_of(c) +
                ": packed sequences allow only B = 1, T_q and T_k = the sums of their lengths, and "
                "no key_lengths");
  }
  return problem;
}

AttentionProblem::Sequence AttentionProblem::sequence(std::int64_t n) const {
  const AttentionCase& c = attention_case;
  if (cu_seqlens_q.empty())
    return {n * c.T_q, c.T_q, n * c.T_k, key_lengths.empty() ? c.T_k : key_lengths.data[n]};
  const auto &queries = cu_seqlens_q.data, &keys = cu_seqlens_k.data;
  return {queries[n], queries[n + 1] - queries[n], keys[n], keys[n + 1] - keys[n]};
}

std::int64_t AttentionProblem::keys_seen(const Sequence& sequence, std::int64_t l) const {
  if (!attention_case.causal) return sequence.keys;
  return std::max<std::int64_t>(0, l + 1 + sequence.keys - sequence.queries);
}

std::int64_t AttentionProblem::lse_index(std::int64_t row, std::int64_t h) const {
  const AttentionCase& c = attention_case;
  return (row / c.T_q * c.H_q + h) * c.T_q + row % c.T_q;
}

AttentionArgs AttentionProblem::args() const {
  AttentionArgs args = sizes<float>();
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.key_lengths = key_lengths.pointer();
  args.cu_seqlens_q = cu_seqlens_q.pointer();
  args.cu_seqlens_k = cu_seqlens_k.pointer();
  return args;
}

AttentionGradProblem make_grad_problem(AttentionProblem forward, std::vector<float> o,
                                       std::vector<float> lse) {
  const AttentionCase& c = forward.attention_case;
  Generator generator(~c.seed);
  AttentionGradProblem problem;
  problem.o = Tensor<float>({c.B, c.T_q, c.H_q, c.D});
  problem.lse = Tensor<float>({c.B, c.H_q, c.T_q});
  problem.d_o = generator.tensor({c.B, c.T_q, c.H_q, c.D}, -1.0f, 1.0f);
  require(o.size() == problem.o.data.size() && lse.size() == problem.lse.data.size(),
          name_of(c) + ": o and lse must be what a forward pass of this case gives");
  problem.o.data = std::move(o);
  problem.lse.data = std::move(lse);
  round_to(c.precision, problem.o);
  round_to(c.precision, problem.d_o);
  problem.forward = std::move(forward);
  return problem;
}

}  // namespace ladder
