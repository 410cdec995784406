#include "common/operators/attention/problem.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/core/errors.hpp"
#include "common/core/generator.hpp"
#include "common/core/options.hpp"

namespace ladder {

std::string read_option(const std::string& text, AttentionCase::Lengths& lengths) {
  const auto cross = text.find('x');
  const bool read = cross != std::string::npos &&
                    read_option(text.substr(0, cross), lengths.queries).empty() &&
                    read_option(text.substr(cross + 1), lengths.keys).empty() &&
                    lengths.queries >= 0 && lengths.keys >= 0;
  return read ? "" : "queries and keys, such as 17x9";
}

std::string to_text(const AttentionCase::Lengths& lengths) {
  return std::to_string(lengths.queries) + "x" + std::to_string(lengths.keys);
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

AttentionArgs sizes_of(const AttentionCase& c) {
  AttentionArgs args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H_q = c.H_q;
  args.H_kv = c.H_kv;
  args.D = c.D;
  args.sequences = static_cast<std::int64_t>(c.lengths.size());
  args.causal = c.causal;
  args.scale = c.scale == 0.0f ? default_attention_scale(c.D) : c.scale;
  return args;
}

AttentionArgs AttentionProblem::args() const {
  AttentionArgs args = sizes_of(attention_case);
  args.q = q.pointer();
  args.k = k.pointer();
  args.v = v.pointer();
  args.key_lengths = key_lengths.pointer();
  args.cu_seqlens_q = cu_seqlens_q.pointer();
  args.cu_seqlens_k = cu_seqlens_k.pointer();
  return args;
}

AttentionGradArgs AttentionGradProblem::args() const {
  AttentionGradArgs args;
  args.forward = forward.args();
  // Only read: the list says so.
  args.forward.o = const_cast<float*>(o.pointer());
  args.forward.lse = const_cast<float*>(lse.pointer());
  args.d_o = d_o.pointer();
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
