#include "common/operators/attention/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "common/core/threads.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/attention/operator.hpp"

namespace ladder {
namespace {

using S = AttentionSwitches;
using G = AttentionGradSwitches;

constexpr std::int64_t kAllQueries = std::int64_t{1} << 40;

// Below the default, because attention has more mistakes than the other operators.
constexpr double kMostExplainedHere = 1e7;

std::int64_t tiled(std::int64_t count, std::int64_t tile) {
  return (count + tile - 1) / tile * tile;
}

struct WrongMask {
  std::string words, line;
  Mask mask;
};

// The wrong masks that a case can reveal.
std::vector<WrongMask> wrong_masks(const AttentionCase& c) {
  std::vector<WrongMask> list = {
      {c.causal ? "without the causal mask" : "with a causal mask", "the mask left out",
       Mask::kTurned},
      {c.causal ? "with the first query aligned with the first key, not the last with the last"
                : "with a causal mask, the first query aligned with the first key",
       "s <= l for s <= l + T_k - T_q", Mask::kFirstWithFirst},
      {"without the last key", "s < T_k - 1", Mask::kWithoutLast}};
  if (c.window == 0 || c.T_k - c.T_q < c.window)
    list.push_back({"without the first key", "for (s = 1; ...)", Mask::kWithoutFirst});
  if (c.window > 0) {
    list.push_back({"with the window ignored: every query sees all keys up to its own",
                    "the window left out", Mask::kNoWindow});
    list.push_back(
        {"with a window of one key less", "s > l + T_k - T_q - window + 1", Mask::kNarrower});
    list.push_back({"with a window of one key more", "s >= l + T_k - T_q - window", Mask::kWider});
  }
  if (!c.causal) return list;
  list.push_back({"without each query's own key", "s < l + T_k - T_q", Mask::kStrict});
  list.push_back(
      {"with one key more than each query may see", "s <= l + T_k - T_q + 1", Mask::kOneMore});
  list.push_back({"with the mask turned round: each query sees its own key and the later ones",
                  "s >= l + T_k - T_q", Mask::kFromBehind});
  if (c.T_q > 16) {
    list.push_back({"with the mask of query l % 16 for query l: the warp's first row is forgotten",
                    "mask(scores, first, ...) for first + first_row", Mask::kOfWarp});
  }
  return list;
}

// Query l of a sequence sees the keys .first to .second - 1.
std::pair<std::int64_t, std::int64_t> keys_seen(const AttentionArgs& a, const AttentionSequence& s,
                                                std::int64_t l, Mask mask) {
  const auto within = [&](std::int64_t n) { return std::clamp<std::int64_t>(n, 0, s.keys); };
  const std::int64_t own = keys_seen(a, s, l), aligned = within(l + 1 + s.keys - s.queries);
  const std::int64_t first = first_key_seen(a, s, l);
  const auto in_window = [&](std::int64_t n) {
    return std::pair{a.window == 0 ? 0 : within(n - a.window), n};
  };
  switch (mask) {
    case Mask::kOwn: return {first, own};
    case Mask::kTurned: return {first, a.causal ? s.keys : aligned};
    case Mask::kFirstWithFirst: return in_window(within(l + 1));
    case Mask::kWithoutLast: return {first, std::min(own, within(s.keys - 1))};
    case Mask::kStrict: return {first, within(own - 1)};
    case Mask::kOneMore: return {first, within(own + 1)};
    case Mask::kFromBehind: return {within(aligned - 1), s.keys};
    case Mask::kWithoutFirst: return {std::max<std::int64_t>(1, first), own};
    case Mask::kOfWarp: return in_window(keys_seen(a, s, l / 64 * 64 + l % 16));
    case Mask::kNoWindow: return {0, own};
    case Mask::kNarrower: return {std::min(first + (own > a.window - 1), own), own};
    case Mask::kWider: return {within(own - a.window - 1), own};
  }
  return {first, own};
}

std::int64_t key_head(const AttentionArgs& a, KeyHead which, std::int64_t h) {
  return which == KeyHead::kInterleaved ? h % a.H_kv : h / (a.H_q / a.H_kv);
}

template <typename Number>
Number capped(const AttentionArgs& a, Number score) {
  const auto softcap = static_cast<Number>(a.softcap);
  return a.softcap == 0 ? score : softcap * std::tanh(score / softcap);
}

// The derivative of capped(), from its result.
template <typename Number>
Number slope_of_capped(const AttentionArgs& a, Number capped) {
  if (a.softcap == 0) return 1;
  const Number tanh = capped / static_cast<Number>(a.softcap);
  return 1 - tanh * tanh;
}

template <typename Number>
Number rounded_to(Precision precision, Number x) {
  return precision == Precision::kFp32
             ? x
             : static_cast<Number>(rounded(static_cast<float>(x), precision));
}

template <typename Number>
void add(Number* to, Number factor, const Number* from, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j)
    to[j] += factor * from[j];
}

// One head's keys or values, also by channels, so that products() sums all rows in parallel.
template <typename Number>
struct Keys {
  std::vector<std::vector<Number>> rows;
  std::vector<Number> columns;

  template <typename RowOf>
  Keys(std::int64_t count, std::int64_t D, const RowOf& row_of) : columns(count * D) {
    for (std::int64_t c = 0; c < count; ++c) {
      const auto row = row_of(c);
      rows.emplace_back(row.begin(), row.end());
      for (std::int64_t j = 0; j < D; ++j)
        columns[j * count + c] = rows.back()[j];
    }
  }

  // The first n rows times x.
  std::vector<Number> products(const std::vector<Number>& x, std::int64_t n) const {
    std::vector<Number> sums(n);
    for (std::size_t j = 0; j < x.size(); ++j)
      add(sums.data(), x[j], columns.data() + j * rows.size(), n);
    return sums;
  }
};

// The result of one query.
template <typename Number>
struct Row {
  std::vector<Number> o;
  Number largest = -std::numeric_limits<Number>::infinity(), sum = 0;
};

// All keys from `begin` on that have a score count in the sum, but only `first` to `end` - 1 in o.
template <typename Number>
Row<Number> softmax(const S& s, const std::vector<Number>& scores, const Keys<Number>& v,
                    std::int64_t begin, std::int64_t first, std::int64_t end) {
  const std::int64_t keys = std::ssize(v.rows), visited = std::ssize(scores);
  Row<Number> row;
  row.o.resize(v.columns.size() / keys);
  const std::int64_t tile = s.tile > 0 ? s.tile : visited - begin;
  const std::int64_t tiles = tiled(visited - begin, tile) / tile;
  const auto largest_of = [&](std::int64_t from, std::int64_t to) {
    return *std::max_element(scores.begin() + from, scores.begin() + to);
  };
  for (std::int64_t n = 0; n < tiles; ++n) {
    const std::int64_t from = begin + (s.last_first ? tiles - 1 - n : n) * tile,
                       to = std::min(from + tile, visited);
    const Number before = row.largest, of_tile = largest_of(from, to);
    row.largest = s.maximum_carried ? std::max(before, of_tile) : of_tile;
    // Overflows as a float does, which is possible without a carried maximum.
    Number rescale = std::exp(before - row.largest);
    if (rescale > std::numeric_limits<float>::max())
      rescale = std::numeric_limits<Number>::infinity();
    for (Number& x : row.o)
      x *= s.o_rescaled ? rescale : 1;
    row.sum *= s.sum_rescaled ? rescale : 1;
    for (std::int64_t c = from; c < to; ++c) {
      Number p = s.weight == nullptr ? std::exp(scores[c] - row.largest)
                                     : static_cast<Number>(s.weight(scores[c], row.largest));
      if (s.parts_by_exp > 0) {
        const std::int64_t part = c / s.parts_by_exp * s.parts_by_exp;
        const Number of_its_own = largest_of(part, std::min(part + s.parts_by_exp, end));
        p *= std::exp((of_its_own - row.largest) * static_cast<Number>(1 / std::log(2.0) - 1));
      }
      row.sum += p;
      const std::int64_t key = s.behind == S::Behind::kLastKey ? std::min(c, keys - 1) : c;
      if (key >= first && key < end)
        add(row.o.data(), rounded_to(s.operands, p), v.rows[key].data(), std::ssize(row.o));
    }
  }
  return row;
}

// One query head of sequence n.
template <typename Number>
void attend(const AttentionArgs& a, const S& s, std::int64_t n, std::int64_t h,
            BasicAttentionResult<Number>& result) {
  const AttentionSequence sequence = sequence_of(a, n);
  const auto keys_of = [&](S::Array which) {
    const std::int64_t D = which == S::Array::kK ? a.D : a.channels_of_v();
    const std::int64_t apart = s.v_rows_as_wide_as_k ? a.D : D;
    return Keys<Number>(sequence.keys, D, [&](std::int64_t c) {
      if (s.stale != S::Stale::kNone && which == s.stale_array && c >= s.tile &&
          (s.stale == S::Stale::kAll || c / s.tile % 2 == 1))
        c -= s.tile;
      const float* data = which == S::Array::kK ? a.k : a.v;
      const float* row =
          data + ((sequence.first_key + c) * a.H_kv + key_head(a, s.key_head, h)) * apart;
      return std::vector<Number>(row, row + D);
    });
  };
  const Keys<Number> k = keys_of(s.k_from), v = keys_of(s.v_from);
  const auto scale = static_cast<Number>(s.scale == nullptr ? a.scale : s.scale(a.scale));
  for (std::int64_t l = 0; l < sequence.queries; ++l) {
    auto [first, end] = keys_seen(a, sequence, l, s.mask);
    if (s.whole_tiles_only) end = std::min(end, sequence.keys / s.tile * s.tile);
    std::int64_t begin = first, visited = end;
    if (s.whole_first_tiles) {
      const std::int64_t of_first = first_key_seen(a, sequence, 0);
      begin = first = std::max(first, tiled(of_first, s.tile));
    }
    if (s.query_tile > 0) {
      const std::int64_t tile = std::max<std::int64_t>(1, s.tile);
      begin = first_key_seen(a, sequence, l / s.query_tile * s.query_tile) / tile * tile;
      visited = keys_seen(a, sequence, std::min(tiled(l + 1, s.query_tile), sequence.queries) - 1);
    }
    if (s.behind != S::Behind::kNothing) visited = tiled(visited, s.tile);
    if (begin >= visited) continue;
    const std::int64_t token = sequence.first_query + l, at = lse_index(a, token, h);
    const float* row_of_q = a.q + (token * a.H_q + h) * a.D;
    const std::vector<Number> q(row_of_q, row_of_q + a.D);
    std::vector<Number> scores = k.products(q, std::min(visited, sequence.keys));
    for (Number& score : scores)
      score = s.capped ? capped(a, scale * score) : scale * score;
    scores.resize(visited, s.behind == S::Behind::kLastKey ? scores.back() : 0);
    const Row<Number> row = softmax(s, scores, v, begin, first, end);
    const Number divisor = s.divisor == S::Divisor::kSum     ? row.sum
                           : s.divisor == S::Divisor::kTwice ? row.sum * row.sum
                           : s.divisor == S::Divisor::kCount ? static_cast<Number>(end - first)
                                                             : 1;
    for (std::int64_t i = 0; i < a.channels_of_v(); ++i)
      result.o[(token * a.H_q + h) * a.channels_of_v() + i] = row.o[i] / divisor;
    const Number log_sum = std::log(row.sum);
    result.largest[at] = row.largest;
    result.lse[at] =
        s.lse == nullptr ? row.largest + log_sum : static_cast<Number>(s.lse(row.largest, log_sum));
  }
}

}  // namespace

template <typename Number>
BasicAttentionResult<Number> attention_loop(const AttentionArgs& a, const S& s) {
  BasicAttentionResult<Number> result;
  result.o.resize(a.B * a.T_q * a.H_q * a.channels_of_v());
  result.lse.resize(a.B * a.H_q * a.T_q, -std::numeric_limits<Number>::infinity());
  result.largest = result.lse;
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < sequence_count(a); ++n) {
    for (std::int64_t h = 0; h < a.H_q; ++h)
      attend(a, s, n, h, result);
  }
  return result;
}

template BasicAttentionResult<double> attention_loop(const AttentionArgs&, const S&);
template BasicAttentionResult<float> attention_loop(const AttentionArgs&, const S&);

template <typename Number>
BasicAttentionGradients<Number> attention_gradient_loop(const AttentionGradArgs& args,
                                                        const BasicAttentionResult<Number>& forward,
                                                        const G& s) {
  const AttentionArgs& a = args.forward;
  const std::int64_t D = a.D, D_v = a.channels_of_v(), group = a.H_q / a.H_kv;
  BasicAttentionGradients<Number> result;
  result.dq.resize(a.B * a.T_q * a.H_q * D);
  result.dk.resize(a.B * a.T_k * a.H_kv * D);
  result.dv.resize(a.B * a.T_k * a.H_kv * D_v);
  const auto scale = static_cast<Number>(a.scale);
  const auto scale_if = [&](bool scaled) { return scaled ? scale : Number{1}; };
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < sequence_count(a); ++n) {
    for (std::int64_t h_kv = 0; h_kv < a.H_kv; ++h_kv) {
      const AttentionSequence sequence = sequence_of(a, n);
      const auto row_of = [&](const float* data, std::int64_t row, std::int64_t D) {
        return std::vector<Number>(data + row * D, data + (row + 1) * D);
      };
      const auto key_row = [&](std::int64_t c) { return (sequence.first_key + c) * a.H_kv + h_kv; };
      const auto keys_of = [&](const float* data, std::int64_t D) {
        return Keys<Number>(sequence.keys, D,
                            [&](std::int64_t c) { return row_of(data, key_row(c), D); });
      };
      const Keys<Number> k = keys_of(a.k, D), v = keys_of(a.v, D_v);
      for (std::int64_t h = 0; h < a.H_q; ++h) {
        if (key_head(a, s.key_head, h) != h_kv) continue;
        const bool summed =
            s.heads == G::Group::kAll || h % group == (s.heads == G::Group::kFirst ? 0 : group - 1);
        for (std::int64_t l = 0; l < sequence.queries / s.query_tile * s.query_tile; ++l) {
          const auto [first, end] = keys_seen(a, sequence, l, s.mask);
          const std::int64_t token = sequence.first_query + l, row = token * a.H_q + h;
          const std::vector<Number> q = row_of(a.q, row, D), d_o = row_of(args.d_o, row, D_v);
          Number delta = 0;
          for (std::int64_t i = 0; i < D_v; ++i)
            delta += d_o[i] * forward.o[row * D_v + i];
          delta *= static_cast<Number>(s.delta);
          const Number lse = forward.lse[lse_index(a, token, h)];
          const std::vector<Number> scores = k.products(q, end), dp = v.products(d_o, end);
          for (std::int64_t c = first; c < end; ++c) {
            const Number scaled = scores[c] * scale_if(s.scale_in_scores);
            const Number score = s.capped ? capped(a, scaled) : scaled;
            const Number p = s.weight == nullptr ? std::exp(score - lse)
                                                 : static_cast<Number>(s.weight(score, lse));
            const Number slope = s.slope_in_ds ? slope_of_capped(a, capped(a, scaled)) : 1;
            const Number ds =
                rounded_to(s.operands, (s.weights_in_ds ? p : Number{1}) * (dp[c] - delta) * slope);
            add(&result.dq[row * D], ds * scale_if(s.scale_in_dq), k.rows[c].data(), D);
            if (!summed) continue;
            add(&result.dk[key_row(c) * D], ds * scale_if(s.scale_in_dk), q.data(), D);
            add(&result.dv[key_row(c) * D_v], s.weights_in_dv ? rounded_to(s.operands, p) : ds,
                s.d_o_in_dv ? d_o.data() : v.rows[c].data(), D_v);
          }
        }
      }
    }
  }
  return result;
}

template BasicAttentionGradients<double> attention_gradient_loop(
    const AttentionGradArgs&, const BasicAttentionResult<double>&, const G&);

namespace {

// The precision of a plain loop's product operands.
Precision operands_of(Arithmetic arithmetic, Precision stored) {
  return arithmetic == Arithmetic::kFp32 ? Precision::kFp32 : stored;
}

Outputs plain(const AttentionProblem& problem, Arithmetic arithmetic) {
  S plain;
  plain.operands = operands_of(arithmetic, problem.drawn_case().precision);
  const auto result = attention_loop<float>(problem.args(), plain);
  return problem.stored(
      {{result.o.begin(), result.o.end()}, {result.lse.begin(), result.lse.end()}});
}

// Uses the problem's o and lse.
Outputs plain_gradients(const AttentionGradProblem& problem, Arithmetic arithmetic) {
  const AttentionCase& c = problem.drawn_case();
  G plain;
  plain.operands = operands_of(arithmetic, c.precision);
  const AttentionGradients result =
      attention_gradient_loop<float>(problem.args(), {problem["o"], problem["lse"], {}}, plain);
  return problem.stored(answer_of(problem, result));
}

}  // namespace

Variants<S> attention_variants(const AttentionCase& c) {
  VariantList<S> variants;
  const auto add = [&](const auto&... variant) { variants.add(variant...); };
  add("with lse in base 2: it must be the natural logarithm", "m * log2e + log2f(l)", &S::lse,
      [](double m, double l) { return (m + l) / std::log(2.0); });
  add("with one part of lse in base 2: the maximum; both must be natural logarithms",
      "m + logf(l), m of scores in base 2", &S::lse,
      [](double m, double l) { return m / std::log(2.0) + l; });
  add("with one part of lse in base 2: the logarithm of the sum; both must be natural logarithms",
      "m + log2f(l)", &S::lse, [](double m, double l) { return m + l / std::log(2.0); });
  add("with lse without the maximum", "logf(l)", &S::lse, [](double, double l) { return l; });
  add("with lse without the logarithm of the sum", "lse = m", &S::lse,
      [](double m, double) { return m; });
  add("with lse's sum without its logarithm", "m + l", &S::lse,
      [](double m, double l) { return m + std::exp(l); });
  add("with the logarithm of the sum subtracted in lse", "m - logf(l)", &S::lse,
      [](double m, double l) { return m - l; });
  for (const WrongMask& wrong : wrong_masks(c))
    add(wrong.words, wrong.line, &S::mask, wrong.mask);
  add("with the scale forgotten", "score = q . k", &S::scale, [](double) { return 1.0; });
  add("with the scale applied twice", "scale * scale * score, or 1 / D for 1 / sqrt(D)", &S::scale,
      [](double x) { return x * x; });
  add("with the scores divided by the scale", "score / scale", &S::scale,
      [](double x) { return 1 / x; });
  if (c.softcap > 0)
    add("with the softcap forgotten", "score for softcap * tanhf(score / softcap)", &S::capped,
        false);
  add("with the sign of the scores turned", "expf(m - score)", &S::scale,
      [](double x) { return -x; });
  add("with 2 to the power of the scores: exp2 for exp", "exp2f(score - m)", &S::weight,
      [](double x, double m) { return std::exp2(x - m); });
  add("with exp of scores in base 2: exp for exp2", "expf(score * log2e - m)", &S::weight,
      [](double x, double m) { return std::exp((x - m) / std::log(2.0)); });
  add("with the scores themselves as weights: exp forgotten", "weight = score", &S::weight,
      [](double x, double) { return x; });
  add("with equal weights: the scores are not read", "weight = 1", &S::weight,
      [](double, double) { return 1.0; });
  add("without the division by the sum", "o for o / l", &S::divisor, S::Divisor::kNone);
  add("divided by the sum twice", "o / l / l", &S::divisor, S::Divisor::kTwice);
  add("divided by the number of keys, not by the sum", "o / T_k", &S::divisor, S::Divisor::kCount);
  if (c.causal) {
    add("divided by the sum over all keys, also those that the query does not see",
        "l += weight before the mask", &S::query_tile, kAllQueries);
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    add("with query head h at key head h % H_kv, not h / (H_q / H_kv)", "h % args.H_kv",
        &S::key_head, KeyHead::kInterleaved);
  }
  using Array = S::Array;
  const auto add_arrays = [&](const char* words, const char* line, Array k, Array v) {
    add(words, line, [=](S& s) { s.k_from = k, s.v_from = v; });
  };
  if (c.channels_of_v() > c.D) {
    add("with the rows of v taken to be as wide as those of k", "v + key * D for v + key * D_v",
        &S::v_rows_as_wide_as_k, true);
  }
  if (c.channels_of_v() != c.D) return variants.list;
  add_arrays("with k and v swapped", "k = args.v, v = args.k", Array::kV, Array::kK);
  add_arrays("with v in the place of k", "k = args.v", Array::kV, Array::kV);
  add_arrays("with k in the place of v", "v = args.k", Array::kK, Array::kK);
  return variants.list;
}

Variants<G> attention_gradient_variants(const AttentionCase& c) {
  VariantList<G> variants;
  const auto add = [&](const auto&... variant) { variants.add(variant...); };
  add("with delta forgotten", "ds = p * dp", &G::delta, 0);
  add("with delta added, not subtracted", "ds = p * (dp + delta)", &G::delta, -1);
  add("without the scale", "dq = ds k, dk = ds^T q",
      [](G& s) { s.scale_in_dq = s.scale_in_dk = false; });
  add("without the scale in dq", "dq = ds k", &G::scale_in_dq, false);
  add("without the scale in dk", "dk = ds^T q", &G::scale_in_dk, false);
  add("without the scale in the scores that are computed again", "p = expf(q . k - lse)",
      &G::scale_in_scores, false);
  add("without any scale", "args.scale left out",
      [](G& s) { s.scale_in_scores = s.scale_in_dq = s.scale_in_dk = false; });
  add("with lse taken for a logarithm in base 2", "lse * ln2", &G::weight,
      [](double x, double lse) { return std::exp(x - lse * std::log(2.0)); });
  add("with 2 to the power of the scores: exp2 for exp", "exp2f(score - lse)", &G::weight,
      [](double x, double lse) { return std::exp2(x - lse); });
  add("with exp of scores in base 2: exp for exp2", "expf(score * log2e - lse)", &G::weight,
      [](double x, double lse) { return std::exp((x - lse) / std::log(2.0)); });
  add("with lse forgotten: the weights have another sum than 1", "p = expf(score)", &G::weight,
      [](double x, double) { return std::exp(x); });
  add("with the weights forgotten in dq and dk", "ds = dp - delta", &G::weights_in_ds, false);
  add("with dv of ds, not of the weights", "dv += ds d_o", &G::weights_in_dv, false);
  add("with dv of v, not of d_o", "dv += p v", &G::d_o_in_dv, false);
  for (const WrongMask& wrong : wrong_masks(c))
    add(wrong.words, wrong.line, &G::mask, wrong.mask);
  if (c.softcap > 0) {
    add("with the softcap forgotten", "score for softcap * tanhf(score / softcap)",
        [](G& s) { s.capped = s.slope_in_ds = false; });
    add("with the softcap forgotten in the scores that are computed again",
        "p = expf(scale * q . k - lse)", &G::capped, false);
    add("with the derivative of the softcap forgotten", "ds = p * (dp - delta) without 1 - tanh^2",
        &G::slope_in_ds, false);
  }
  if (c.H_q > c.H_kv) {
    add("of the last query head of each group alone", "dk = for dk +=", &G::heads, G::Group::kLast);
    add("of the first query head of each group alone", "if (h % group == 0)", &G::heads,
        G::Group::kFirst);
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    add("with query head h at key head h % H_kv, not h / (H_q / H_kv)", "h % args.H_kv",
        &G::key_head, KeyHead::kInterleaved);
  }
  return variants.list;
}

namespace {

// Calls `add(words, switches, tile)` with mistakes such as a lost tile, or masked keys that count.
template <typename Add>
void add_tiles(bool causal, bool windowed, const Add& add) {
  for (const std::int64_t tile : kUsualTiles) {
    add("with the last partial tile of * keys missing", S{.tile = tile, .whole_tiles_only = true},
        tile);
    if (windowed) {
      add("with the tile of * keys missing in which the first query's window begins",
          S{.tile = tile, .whole_first_tiles = true}, tile);
    }
  }
  for (const auto& [array, name] : {std::pair{S::Array::kK, "K"}, {S::Array::kV, "V"}}) {
    for (const auto& [stale, which] :
         {std::pair{S::Stale::kAll, "each"}, {S::Stale::kEverySecond, "every second"}}) {
      for (const std::int64_t tile : kUsualTiles) {
        if (windowed) continue;  // a window may begin in a later tile
        add(std::string("with ") + name + " of the tile before in " + which + " tile of *",
            S{.tile = tile, .stale = stale, .stale_array = array}, tile);
      }
    }
  }
  for (const auto& [behind, words] : {std::pair{S::Behind::kZeros, "keys of zeros"},
                                      {S::Behind::kLastKey, "the last key again"}}) {
    for (const std::int64_t tile : kUsualTiles) {
      if (!causal && behind == S::Behind::kZeros) continue;  // same as masked keys, below
      add(std::string("of a mask without effect, or of none: whole tiles of * keys count, with ") +
              words + " behind the last one",
          S{.mask = causal ? Mask::kTurned : Mask::kOwn, .tile = tile, .behind = behind}, tile);
    }
  }
  for (const std::int64_t tile : kUsualTiles) {
    if (!causal) break;
    add("with masked keys counted in the sum, in tiles of * keys, with the last key again behind "
        "the last one",
        S{.tile = tile, .query_tile = kAllQueries, .behind = S::Behind::kLastKey}, tile);
  }
  for (const std::int64_t tile : {8, 16, 32, 64, 128})
    add("with exp for exp2 where parts of * keys are put together", S{.parts_by_exp = tile}, tile);
  for (const std::int64_t tile : kUsualTiles) {
    for (const std::int64_t query_tile : kUsualTiles)
      add(causal ? "with masked keys counted in the sum, in tiles of *"
                 : "with keys of zeros behind the last one, in tiles of *",
          S{.tile = tile, .query_tile = query_tile, .behind = S::Behind::kZeros}, tile);
  }
  for (const bool carried : {true, false}) {
    for (const auto& [o, sum] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      if (carried && o && sum) continue;
      const std::string what = o && sum ? "" : o ? "the sum" : sum ? "o" : "o and the sum";
      const std::string words =
          carried ? "without rescaling " + what + " when the maximum grows"
          : what.empty()
              ? "with the maximum not carried from tile to tile"
              : "with the maximum not carried from tile to tile and without rescaling " + what;
      for (const std::int64_t tile : {1, 8, 16, 32, 64, 128}) {
        for (const bool last_first : {false, true})
          add(words + ", in tiles of *",
              S{.tile = tile,
                .last_first = last_first,
                .maximum_carried = carried,
                .o_rescaled = o,
                .sum_rescaled = sum},
              tile);
      }
    }
  }
}

// Words for a result in which only l is wrong, the sum of weights that divides o and is in lse.
std::string wrong_sum(const AttentionArgs& a, const std::vector<Part>& parts) {
  const Part &o = parts[0], &lse = parts[1];
  const auto rows = static_cast<std::size_t>(a.B * a.T_q * a.H_q);
  if (lse.truth->size() != rows ||
      o.truth->size() != rows * static_cast<std::size_t>(a.channels_of_v()))
    return "";
  constexpr double kSeen = 0.05;
  std::vector<double> of_that_sum = *o.truth;
  std::string words;
  for (std::int64_t row = 0; row < std::ssize(*lse.truth); ++row) {
    const std::int64_t b = row / (a.H_q * a.T_q), h = row / a.T_q % a.H_q, l = row % a.T_q;
    const double factor = std::exp((*lse.result)[row] - (*lse.truth)[row]);
    if (!std::isfinite(factor) || factor == 0) continue;
    const std::int64_t D_v = a.channels_of_v();
    const auto first = of_that_sum.begin() + ((b * a.T_q + l) * a.H_q + h) * D_v;
    std::for_each(first, first + D_v, [=](double& x) { x /= factor; });
    if (words.empty() && std::abs(factor - 1) > kSeen)
      words =
          "l, the sum of a query's weights, is wrong, and the sum of the values with these "
          "weights is right, as o and lse show together: of batch " +
          std::to_string(b) + ", head " + std::to_string(h) + ", query " + std::to_string(l) +
          " l is " + short_number(factor) + " times what it should be\n";
  }
  return is_within_limits_of(of_that_sum, o) ? words : "";
}

Mistakes mistakes_of(const AttentionProblem& problem, const std::vector<Truth>&, Arithmetic) {
  const AttentionCase& c = problem.drawn_case();
  const AttentionArgs a = problem.args();
  const auto answer = [](const AttentionArgs& args, const S& s) {
    AttentionResult result = attention_loop(args, s);
    return Answer{std::move(result.o), std::move(result.lse)};
  };
  Mistakes mistakes;
  mistakes.work = attention_fma_count(a);
  mistakes.most_work = kMostExplainedHere;
  add_variants(mistakes, "equals the result ", attention_variants(c), S{},
               [=](const S& s) { return answer(a, s); });
  const auto add = [&](const std::string& what, const std::function<Answer()>& wrong,
                       std::int64_t tile = 0, const std::string& slight = "") {
    mistakes.known.push_back({"equals the result " + what, wrong, tile, slight});
  };
  add("without the maximum subtracted: exp overflows", [=] {
    S s;
    s.weight = [](double score, double) {
      const double weight = std::exp(score);
      return weight > std::numeric_limits<float>::max() ? INFINITY : weight;
    };
    return answer(a, s);
  });
  AttentionArgs all_keys = a, one_sequence = a;
  all_keys.key_lengths = nullptr;
  one_sequence.cu_seqlens_q = one_sequence.cu_seqlens_k = nullptr;
  if (c.key_lengths) add("with the key lengths ignored", [=] { return answer(all_keys, {}); });
  if (!c.lengths.empty()) {
    add("with the sequences running into each other", [=] { return answer(one_sequence, {}); });
  }
  add_tiles(c.causal, c.window > 0, [&](const std::string& what, const S& s, std::int64_t tile) {
    add(
        what, [=] { return answer(a, s); }, tile);
  });
  add_tf32(mistakes, problem,
           [=](const AttentionProblem& changed) { return answer(changed.args(), {}); });
  if (c.lengths.empty())
    mistakes.own = [=](const std::vector<Part>& parts) { return wrong_sum(a, parts); };
  return mistakes;
}

Mistakes mistakes_of_gradients(const AttentionGradProblem& problem, const std::vector<Truth>&,
                               Arithmetic) {
  const AttentionCase& c = problem.drawn_case();
  const AttentionGradArgs a = problem.args();
  const auto answer = [](const AttentionGradArgs& args, const AttentionArgs& forward, const G& s) {
    auto gradients = attention_gradient_loop(args, attention_loop(forward, {}), s);
    return Answer{std::move(gradients.dq), std::move(gradients.dk), std::move(gradients.dv)};
  };
  Mistakes mistakes;
  mistakes.together = true;
  mistakes.work = attention_fma_count(a.forward);
  mistakes.most_work = kMostExplainedHere;
  const std::string equals = "equals the gradient ";
  add_variants(mistakes, equals, attention_gradient_variants(c), G{},
               [=](const G& s) { return answer(a, a.forward, s); });
  if (c.key_lengths) {
    AttentionGradArgs all_keys = a;
    all_keys.forward.key_lengths = nullptr;
    mistakes.known.push_back(
        {equals + "with the key lengths ignored", [=] { return answer(all_keys, a.forward, {}); }});
  }
  for (const std::int64_t tile : kUsualTiles) {
    mistakes.known.push_back({equals + "with the last partial tile of * queries missing",
                              [=] { return answer(a, a.forward, {.query_tile = tile}); }, tile});
  }
  add_tf32(mistakes, problem, [=](const AttentionGradProblem& changed) {
    const AttentionGradArgs args = changed.args();
    return answer(args, args.forward, {});
  });
  return mistakes;
}

[[maybe_unused]] const bool known = [] {
  Operator &forward = operator_of<Attention>(), &backward = operator_of<AttentionBackward>();
  forward.mistakes = mistakes_by(mistakes_of);
  forward.plain = of_any(plain);
  backward.mistakes = mistakes_by(mistakes_of_gradients);
  backward.plain = of_any(plain_gradients);
  return true;
}();

}  // namespace

}  // namespace ladder
