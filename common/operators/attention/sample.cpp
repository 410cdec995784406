#include "common/operators/attention/sample.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/operators/attention/attention.hpp"

namespace ladder::reference {
namespace {

// Queries in a window: more than any kernel's tile, so that a tile's border lies in it.
constexpr std::int64_t kWindow = 160;

constexpr std::int64_t kMostHeads = 16;  // of gradients

// Packed sequences and key lengths are for tests, which are small.
bool is_plain(const AttentionCase& c) {
  return c.lengths.empty() && !c.key_lengths;
}

Verdict not_finite(const char* array) {
  Verdict verdict;
  verdict.message =
      std::string("WRONG RESULT: ") + array + " has elements that are not finite, or not written";
  return verdict;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

// Rows first .. first + count - 1 of a tensor whose rows have `width` elements, at the end of `to`.
void append_rows(std::vector<float>& to, const std::vector<float>& from, std::int64_t first,
                 std::int64_t count, std::int64_t width) {
  to.insert(to.end(), from.begin() + first * width, from.begin() + (first + count) * width);
}

// Queries `first` .. `first + queries - 1` of batch b, and the keys that they are judged with.
struct Window {
  std::int64_t b, first, queries, keys;
};

std::vector<Window> windows_of(const AttentionCase& c) {
  std::vector<Window> windows;
  const std::int64_t queries = std::min(kWindow, c.T_q);
  for (const std::int64_t b : std::set<std::int64_t>{0, c.B / 2, c.B - 1}) {
    for (const std::int64_t first :
         std::set<std::int64_t>{0, (c.T_q - queries) / 2 + (b + 1) % 2, c.T_q - queries}) {
      // The last query of a window is aligned with the last of its keys.
      const std::int64_t hidden = c.T_q - (first + queries);
      const std::int64_t keys = c.causal ? std::max<std::int64_t>(0, c.T_k - hidden) : c.T_k;
      if (first + queries <= c.T_q) windows.push_back({b, first, queries, keys});
    }
  }
  return windows;
}

Tensor<float> tensor(std::vector<std::int64_t> shape, std::vector<float> data) {
  Tensor<float> result;
  result.shape = std::move(shape);
  result.data = std::move(data);
  return result;
}

// Head h of `heads` of batch b, of a (B, T, heads, D) tensor.
void append_head(std::vector<float>& to, const std::vector<float>& from, std::int64_t b,
                 std::int64_t T, std::int64_t heads, std::int64_t h, std::int64_t group,
                 std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t)
    append_rows(to, from, (b * T + t) * heads + h * group, group, D);
}

}  // namespace

Verdict judge_sample(const AttentionProblem& problem, const AttentionOutputs& outputs,
                     Arithmetic arithmetic, double most_judged_whole) {
  const AttentionCase& c = problem.attention_case;
  if (attention_fma_count(problem.args()) <= most_judged_whole || !is_plain(c))
    return judge(problem, outputs, arithmetic, PlainLoop::kToo);
  if (!all_finite(outputs.o)) return not_finite("o");
  const std::int64_t query_row = c.H_q * c.D, key_row = c.H_kv * c.D;
  const std::vector<Window> windows = windows_of(c);
  std::vector<AttentionCase::Lengths> lengths;
  for (const Window& w : windows)
    lengths.push_back({w.queries, w.keys});
  AttentionProblem sample;
  sample.attention_case = packed(c, lengths);
  const AttentionCase& s = sample.attention_case;
  sample.cu_seqlens_q = sample.cu_seqlens_k = Tensor<std::int64_t>({s.sequences() + 1});
  std::vector<float> q, k, v;
  AttentionOutputs part;
  part.lse.resize(s.H_q * s.T_q);
  for (std::size_t n = 0; n < windows.size(); ++n) {
    const Window& w = windows[n];
    const std::int64_t first_query = sample.cu_seqlens_q.data[n];
    sample.cu_seqlens_q.data[n + 1] = first_query + w.queries;
    sample.cu_seqlens_k.data[n + 1] = sample.cu_seqlens_k.data[n] + w.keys;
    append_rows(q, problem.q.data, w.b * c.T_q + w.first, w.queries, query_row);
    append_rows(k, problem.k.data, w.b * c.T_k, w.keys, key_row);
    append_rows(v, problem.v.data, w.b * c.T_k, w.keys, key_row);
    append_rows(part.o, outputs.o, w.b * c.T_q + w.first, w.queries, query_row);
    for (std::int64_t h = 0; h < c.H_q; ++h) {
      std::copy_n(outputs.lse.begin() + (w.b * c.H_q + h) * c.T_q + w.first, w.queries,
                  part.lse.begin() + h * s.T_q + first_query);
    }
  }
  sample.q = tensor({1, s.T_q, s.H_q, s.D}, std::move(q));
  sample.k = tensor({1, s.T_k, s.H_kv, s.D}, std::move(k));
  sample.v = tensor({1, s.T_k, s.H_kv, s.D}, std::move(v));
  return judge(sample, part, arithmetic, PlainLoop::kToo);
}

Verdict judge_sample(const AttentionGradProblem& problem, const AttentionGradients& gradients,
                     Arithmetic arithmetic, double most_judged_whole) {
  const AttentionProblem& forward = problem.forward;
  const AttentionCase& c = forward.attention_case;
  if (2.5 * attention_fma_count(forward.args()) <= most_judged_whole || !is_plain(c))
    return judge(problem, gradients, arithmetic, PlainLoop::kToo);
  if (!all_finite(gradients.dq)) return not_finite("dq");
  if (!all_finite(gradients.dk)) return not_finite("dk");
  if (!all_finite(gradients.dv)) return not_finite("dv");
  const std::int64_t group = c.H_q / c.H_kv, heads = c.B * c.H_kv;
  const std::int64_t count = std::max<std::int64_t>(1, std::min(kMostHeads / group, heads));
  AttentionGradProblem sample;
  AttentionCase& s = sample.forward.attention_case = c;
  s.B = count;
  s.H_q = group;
  s.H_kv = 1;
  std::vector<float> q, k, v, o, lse, d_o;
  AttentionGradients part;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t head = count == 1 ? 0 : i * (heads - 1) / (count - 1);
    const std::int64_t b = head / c.H_kv, h = head % c.H_kv;
    for (const auto& [to, from] :
         {std::pair{&q, &forward.q.data}, std::pair{&o, &problem.o.data},
          std::pair{&d_o, &problem.d_o.data}, std::pair{&part.dq, &gradients.dq}})
      append_head(*to, *from, b, c.T_q, c.H_q, h, group, c.D);
    for (const auto& [to, from] :
         {std::pair{&k, &forward.k.data}, std::pair{&v, &forward.v.data},
          std::pair{&part.dk, &gradients.dk}, std::pair{&part.dv, &gradients.dv}})
      append_head(*to, *from, b, c.T_k, c.H_kv, h, 1, c.D);
    append_rows(lse, problem.lse.data, b * c.H_q + h * group, group, c.T_q);
  }
  sample.forward.q = tensor({count, c.T_q, group, c.D}, std::move(q));
  sample.forward.k = tensor({count, c.T_k, 1, c.D}, std::move(k));
  sample.forward.v = tensor({count, c.T_k, 1, c.D}, std::move(v));
  sample.o = tensor({count, c.T_q, group, c.D}, std::move(o));
  sample.lse = tensor({count, group, c.T_q}, std::move(lse));
  sample.d_o = tensor({count, c.T_q, group, c.D}, std::move(d_o));
  return judge(sample, part, arithmetic, PlainLoop::kToo);
}

}  // namespace ladder::reference
