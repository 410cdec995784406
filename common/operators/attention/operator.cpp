#include "common/operators/attention/operator.hpp"

#include <algorithm>
#include <set>

namespace ladder {
namespace {

// Queries per window, more than in any kernel's tile, so that every window contains a tile border.
constexpr std::int64_t kWindow = 160;

// Approximate number of queries in a sample of a forward pass, and of heads for a backward pass.
constexpr double kSampledQueries = 9 * kWindow, kSampledHeads = 16;

// FMAs that are judged: all, or `share` of them if a sample is judged.
double judged(double fma, double share) {
  return fma <= kMostJudgedWhole ? fma : fma * std::min(1.0, share);
}

// Problems with packed sequences or key lengths come from tests and are small.
bool is_sampled(const AttentionCase& c, double fma, double most_judged_whole) {
  return fma > most_judged_whole && c.lengths.empty() && !c.key_lengths;
}

bool is_of_keys(const std::string& array) {
  return array == "k" || array == "v" || array == "dk" || array == "dv";
}

// Appends `count` rows of `width` elements of `from` to `to`, beginning with row `first`.
void append(std::vector<float>& to, const std::vector<float>& from, std::int64_t first,
            std::int64_t count, std::int64_t width) {
  to.insert(to.end(), from.begin() + first * width, from.begin() + (first + count) * width);
}

// Queries `first` to `first + queries - 1` of batch b, judged with its first `keys` keys.
struct Window {
  std::int64_t b, first, queries, keys;
};

std::vector<Window> windows_of(const AttentionCase& c) {
  std::vector<Window> windows;
  const std::int64_t queries = std::min(kWindow, c.T_q);
  for (const std::int64_t b : std::set<std::int64_t>{0, c.B / 2, c.B - 1}) {
    for (const std::int64_t first :
         std::set<std::int64_t>{0, (c.T_q - queries) / 2 + (b + 1) % 2, c.T_q - queries}) {
      // Align the last query of the window with the last of its keys.
      const std::int64_t hidden = c.T_q - (first + queries);
      const std::int64_t keys = c.causal ? std::max<std::int64_t>(0, c.T_k - hidden) : c.T_k;
      if (first + queries <= c.T_q) windows.push_back({b, first, queries, keys});
    }
  }
  return windows;
}

// Throws std::invalid_argument if H is not a multiple of H_kv.
Struct case_of(const Struct& sizes) {
  const auto& s = sizes.as<AttentionSizes>();
  require(s.H_kv == 0 || s.H % s.H_kv == 0, "--shape has H=" + std::to_string(s.H) +
                                                " and H_kv=" + std::to_string(s.H_kv) +
                                                "; allowed: H a multiple of H_kv");
  return Struct(AttentionCase{.B = s.B,
                              .T_q = s.T_q > 0 ? s.T_q : s.T,
                              .T_k = s.T,
                              .H_q = s.H,
                              .H_kv = s.H_kv > 0 ? s.H_kv : s.H,
                              .D = s.K,
                              .D_v = s.V});
}

bool set_other_size(Shape& shape, const std::string& name, std::int64_t value) {
  if (name != "D" && name != "D_v") return false;
  if (name == "D") shape.set("K", value);
  shape.set("V", value);  // D_v defaults to D
  return true;
}

void settle(Struct& value, Shape& shape) {
  AttentionCase& c = value.as<AttentionCase>();
  if (c.lengths.empty()) return;
  c = packed(c, c.lengths);
  shape.set("B", c.B);
  shape.set("T", c.T_k);
  shape.set("T_q", c.T_q == c.T_k ? 0 : c.T_q);
}

bool wants(const Struct& value, const std::string& array) {
  const AttentionCase& c = value.as<AttentionCase>();
  if (array == "key_lengths") return c.key_lengths;
  if (array == "cu_seqlens_q" || array == "cu_seqlens_k") return !c.lengths.empty();
  return true;
}

std::string axis_word(const std::string& array, const std::string& axis) {
  return axis == "b"         ? "batch"
         : axis == "h"       ? "head"
         : axis == "i"       ? "column"
         : is_of_keys(array) ? "key"
                             : "query";
}

// A query head belongs to the key head of its group.
void settle_belonging(const Problem& problem, const std::string& array, const std::string& axis,
                      std::int64_t index, Belonging& belonging) {
  const AttentionCase& c = problem.as<AttentionCase>();
  if (axis == "h" && !is_of_keys(array)) belonging.head = index / (c.H_q / c.H_kv);
  if (axis != "t" || c.lengths.empty()) return;
  belonging.sequence = -1;
  for (std::int64_t end = 0; end <= index;) {
    const AttentionCase::Lengths& lengths = c.lengths[++belonging.sequence];
    end += is_of_keys(array) ? lengths.keys : lengths.queries;
  }
}

void check_values(const Problem& problem) {
  const AttentionCase& c = problem.as<AttentionCase>();
  const auto numbers = [&](const char* name) -> const auto& {
    return problem.array<std::int64_t>(name);
  };
  check_key_lengths(numbers("key_lengths"), c.T_k);
  check_ends("cu_seqlens_q", numbers("cu_seqlens_q"), c.B, c.T_q);
  check_ends("cu_seqlens_k", numbers("cu_seqlens_k"), c.B, c.T_k);
}

}  // namespace

Operator attention_operator(Operator op) {
  op.case_with = case_of;
  op.name_of = [](const Struct& c) { return name_of(c.as<AttentionCase>()); };
  op.wants = wants;
  op.check_values = check_values;
  op.settle = settle;
  op.axis_word = axis_word;
  op.set_other_size = set_other_size;
  op.settle_belonging = settle_belonging;
  return on_sequences(std::move(op));
}

double judged_fma(const AttentionArgs& a) {
  return judged(attention_fma_count(a), kSampledQueries / (static_cast<double>(a.B) * a.T_q));
}

std::optional<Operator::Sample> sample_of(const AttentionProblem& problem,
                                          const AttentionOutputs& outputs,
                                          double most_judged_whole) {
  const AttentionCase& c = problem.drawn_case();
  if (!is_sampled(c, attention_fma_count(sizes_of(c)), most_judged_whole)) return std::nullopt;
  const std::vector<Window> windows = windows_of(c);
  std::vector<AttentionCase::Lengths> lengths;
  for (const Window& w : windows)
    lengths.push_back({w.queries, w.keys});
  auto sample = AttentionProblem::without_inputs(packed(c, lengths));
  const std::int64_t T_q = sample.drawn_case().T_q;
  std::vector<std::int64_t>&first_query = sample.array<std::int64_t>("cu_seqlens_q"),
  &first_key = sample.array<std::int64_t>("cu_seqlens_k");
  first_query = first_key = {0};
  AttentionOutputs part;
  part.lse.resize(c.H_q * T_q);
  for (const auto& [b, first, queries, keys] : windows) {
    append(sample["q"], problem["q"], b * c.T_q + first, queries, c.H_q * c.D);
    append(sample["k"], problem["k"], b * c.T_k, keys, c.H_kv * c.D);
    append(sample["v"], problem["v"], b * c.T_k, keys, c.H_kv * c.channels_of_v());
    append(part.o, outputs.o, b * c.T_q + first, queries, c.H_q * c.channels_of_v());
    for (std::int64_t h = 0; h < c.H_q; ++h) {
      std::copy_n(outputs.lse.begin() + (b * c.H_q + h) * c.T_q + first, queries,
                  part.lse.begin() + h * T_q + first_query.back());
    }
    first_query.push_back(first_query.back() + queries);
    first_key.push_back(first_key.back() + keys);
  }
  Outputs judged = untyped(sample, part);
  return Operator::Sample{std::move(sample), std::move(judged)};
}

double judged_fma(const AttentionGradArgs& args) {
  const AttentionArgs& a = args.forward;
  return judged(attention_fma_count(args), kSampledHeads / (static_cast<double>(a.B) * a.H_q));
}

std::optional<Operator::Sample> sample_of(const AttentionGradProblem& problem,
                                          const AttentionGradients& gradients,
                                          double most_judged_whole) {
  const AttentionCase& c = problem.drawn_case();
  if (!is_sampled(c, attention_fma_count(problem.args()), most_judged_whole)) return std::nullopt;
  const std::int64_t group = c.H_q / c.H_kv, heads = c.B * c.H_kv;
  const std::int64_t count =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(kSampledHeads) / group, 1, heads);
  AttentionCase s = c;
  s.B = count;
  s.H_q = group;
  s.H_kv = 1;
  auto sample = AttentionGradProblem::without_inputs(s);
  AttentionGradients part;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t head = count == 1 ? 0 : i * (heads - 1) / (count - 1);
    const std::int64_t b = head / c.H_kv, h = head % c.H_kv;
    for (std::int64_t t = 0; t < c.T_q; ++t) {
      const auto append_queries = [&](std::vector<float>& to, const std::vector<float>& from,
                                      std::int64_t width) {
        append(to, from, (b * c.T_q + t) * c.H_q + h * group, group, width);
      };
      append_queries(sample["q"], problem["q"], c.D);
      for (const char* name : {"o", "d_o"})
        append_queries(sample[name], problem[name], c.channels_of_v());
      append_queries(part.dq, gradients.dq, c.D);
    }
    for (std::int64_t t = 0; t < c.T_k; ++t) {
      const auto append_key = [&](std::vector<float>& to, const std::vector<float>& from,
                                  std::int64_t width) {
        append(to, from, (b * c.T_k + t) * c.H_kv + h, 1, width);
      };
      append_key(sample["k"], problem["k"], c.D);
      append_key(sample["v"], problem["v"], c.channels_of_v());
      append_key(part.dk, gradients.dk, c.D);
      append_key(part.dv, gradients.dv, c.channels_of_v());
    }
    append(sample["lse"], problem["lse"], b * c.H_q + h * group, group, c.T_q);
  }
  Outputs judged = untyped(sample, part);
  return Operator::Sample{std::move(sample), std::move(judged)};
}

template <>
Operator& operator_of<Attention>() {
  using Case = AttentionCase;
  using Args = AttentionArgs;
  static Operator op = with_case<Attention, AttentionSizes, Case, Args, Args, AttentionBf16Args,
                                 AttentionFp16Args>(attention_operator({
      .name = Attention::kName,
      .host = [](const Struct& c) { return Struct(sizes_of(c.as<Case>())); },
      .fma_count = [](const Struct& host) { return attention_fma_count(host.as<Args>()); },
      .truth = of_any(attention_truth),
      .draw = draw_attention,
      .linear_in = {"v"},
      .judged_fma = [](const Struct& c) { return judged_fma(sizes_of(c.as<Case>())); },
      .climbed = {"bf16"},
      .named_shapes =
          {{"attention", {{"B", 4}, {"T", 4096}, {"H", 16}, {"K", 128}, {"V", 128}}},
           {"llama3-8b", {{"B", 1}, {"T", 8192}, {"H", 32}, {"K", 128}, {"V", 128}, {"H_kv", 8}}},
           {"llama3-8b-decode",
            {{"B", 1}, {"T", 32768}, {"H", 32}, {"K", 128}, {"V", 128}, {"T_q", 1}, {"H_kv", 8}}}},
      .sample = sample_by<AttentionProblem>,
      .may_be_infinite = [](const std::string& output) { return output == "lse"; },
      .reports_first = true,
  }));
  return op;
}

// Found by name, because a program without others.cpp has no backward pass.
const Operator& AttentionInputs::of(const AttentionCase&) {
  return find_operator(Attention::kName);
}

const Operator& AttentionGradInputs::of(const AttentionCase&) {
  return find_operator(AttentionBackward::kName);
}

namespace {

const OperatorRegistration attention_registration(operator_of<Attention>(), 7);

}  // namespace

}  // namespace ladder
