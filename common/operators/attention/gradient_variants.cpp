#include "common/operators/attention/gradient_variants.hpp"

#include <string>

namespace ladder::reference {
namespace {

using S = AttentionGradSwitches;
using KeyHead = AttentionSwitches::KeyHead;

double dot(const float* a, const float* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

BasicAttentionGradients<double> attention_gradient_loop(const AttentionGradProblem& problem,
                                                        const S& s) {
  const AttentionProblem& forward = problem.forward;
  const AttentionCase& c = forward.attention_case;
  const AttentionArgs a = forward.args();
  const std::int64_t D = c.D, group = c.H_q / c.H_kv;
  const AttentionResult exact = attention_loop(forward, {});
  BasicAttentionGradients<double> result;
  result.dq.resize(forward.q.data.size());
  result.dk.resize(forward.k.data.size());
  result.dv.resize(forward.v.data.size());
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    const AttentionProblem::Sequence sequence = forward.sequence(n);
    for (std::int64_t h = 0; h < c.H_q; ++h) {
      const std::int64_t h_kv = s.key_head == KeyHead::kFirst         ? 0
                                : s.key_head == KeyHead::kInterleaved ? h % c.H_kv
                                                                      : h / group;
      const bool summed =
          s.heads == S::Group::kAll || h % group == (s.heads == S::Group::kFirst ? 0 : group - 1);
      for (std::int64_t l = 0; l < sequence.queries; ++l) {
        const auto [first, end] = keys_seen(forward, sequence, l, s.mask);
        const std::int64_t token = sequence.first_query + l, row = (token * c.H_q + h) * D;
        const float *q = a.q + row, *d_o = problem.d_o.pointer() + row;
        double delta = 0;
        for (std::int64_t i = 0; i < D; ++i)
          delta += s.delta * d_o[i] * exact.o[row + i];
        const double lse = exact.lse[forward.lse_index(token, h)];
        for (std::int64_t key = first; key < end; ++key) {
          const std::int64_t at = ((sequence.first_key + key) * c.H_kv + h_kv) * D;
          const float *k = a.k + at, *v = a.v + at;
          const double p = s.weight((s.scale_in_scores ? a.scale : 1.0) * dot(q, k, D), lse);
          const double ds = (s.weights_in_ds ? p : 1.0) * (dot(d_o, v, D) - delta);
          for (std::int64_t i = 0; i < D; ++i) {
            result.dq[row + i] += (s.scale_in_dq ? a.scale : 1.0) * ds * k[i];
            if (!summed) continue;
            result.dk[at + i] += (s.scale_in_dk ? a.scale : 1.0) * ds * q[i];
            result.dv[at + i] += (s.weights_in_dv ? p : ds) * (s.d_o_in_dv ? d_o[i] : v[i]);
          }
        }
      }
    }
  }
  return result;
}

Variants<S> attention_gradient_variants(const AttentionCase& c) {
  Variants<S> list;
  const auto add = [&](const std::string& words, const std::string& line, void (*change)(S&)) {
    list.push_back({words, line, change});
  };
  add("with delta forgotten", "ds = p * dp", [](S& s) { s.delta = 0; });
  add("with delta added, not subtracted", "ds = p * (dp + delta)", [](S& s) { s.delta = -1; });
  add("without the scale", "dq = ds k, dk = ds^T q",
      [](S& s) { s.scale_in_dq = s.scale_in_dk = false; });
  add("without the scale in dq", "dq = ds k", [](S& s) { s.scale_in_dq = false; });
  add("without the scale in dk", "dk = ds^T q", [](S& s) { s.scale_in_dk = false; });
  add("without the scale in the scores that are computed again", "p = expf(q . k - lse)",
      [](S& s) { s.scale_in_scores = false; });
  add("without any scale", "args.scale left out",
      [](S& s) { s.scale_in_scores = s.scale_in_dq = s.scale_in_dk = false; });
  add("with lse taken for a logarithm in base 2", "lse * ln2", [](S& s) {
    s.weight = [](double x, double lse) { return std::exp(x - lse * std::log(2.0)); };
  });
  add("with 2 to the power of the scores: exp2 for exp", "exp2f(score - lse)",
      [](S& s) { s.weight = [](double x, double lse) { return std::exp2(x - lse); }; });
  add("with exp of scores in base 2: exp for exp2", "expf(score * log2e - lse)", [](S& s) {
    s.weight = [](double x, double lse) { return std::exp((x - lse) / std::log(2.0)); };
  });
  add("with lse forgotten: the weights have another sum than 1", "p = expf(score)",
      [](S& s) { s.weight = [](double x, double) { return std::exp(x); }; });
  add("with the weights forgotten in dq and dk", "ds = dp - delta",
      [](S& s) { s.weights_in_ds = false; });
  add("with dv of ds, not of the weights", "dv += ds d_o", [](S& s) { s.weights_in_dv = false; });
  add("with dv of v, not of d_o", "dv += p v", [](S& s) { s.d_o_in_dv = false; });
  for (const WrongMask& wrong : wrong_masks(c))
    list.push_back({wrong.words, wrong.line, [mask = wrong.mask](S& s) { s.mask = mask; }});
  if (c.H_q > c.H_kv) {
    add("of the last query head of each group alone",
        "dk = for dk +=", [](S& s) { s.heads = S::Group::kLast; });
    add("of the first query head of each group alone", "if (h % group == 0)",
        [](S& s) { s.heads = S::Group::kFirst; });
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    add("with query head h at key head h % H_kv, not h / (H_q / H_kv)", "h % args.H_kv",
        [](S& s) { s.key_head = KeyHead::kInterleaved; });
  }
  if (c.H_kv > 1) {
    add("with every query head at key head 0", "k and v without h",
        [](S& s) { s.key_head = KeyHead::kFirst; });
  }
  return list;
}

}  // namespace ladder::reference
