#include "common/operators/attention/variants.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace ladder::reference {
namespace {

using S = AttentionSwitches;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<WrongMask> wrong_masks(const AttentionCase& c) {
  std::vector<WrongMask> list = {
      {c.causal ? "without the causal mask" : "with a causal mask", "the mask left out",
       Mask::kTurned},
      {c.causal ? "with the first query aligned with the first key, not the last with the last"
                : "with a causal mask, the first query aligned with the first key",
       "s <= l for s <= l + T_k - T_q", Mask::kFirstWithFirst},
      {"without the last key", "s < T_k - 1", Mask::kWithoutLast},
      {"without the first key", "for (s = 1; ...)", Mask::kWithoutFirst}};
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

std::pair<std::int64_t, std::int64_t> keys_seen(const AttentionProblem& problem,
                                                const AttentionProblem::Sequence& s, std::int64_t l,
                                                Mask mask) {
  const auto within = [&](std::int64_t n) { return std::clamp<std::int64_t>(n, 0, s.keys); };
  const std::int64_t own = problem.keys_seen(s, l), aligned = within(l + 1 + s.keys - s.queries);
  switch (mask) {
    case Mask::kOwn: return {0, own};
    case Mask::kTurned: return {0, problem.attention_case.causal ? s.keys : aligned};
    case Mask::kFirstWithFirst: return {0, within(l + 1)};
    case Mask::kWithoutLast: return {0, std::min(own, within(s.keys - 1))};
    case Mask::kStrict: return {0, within(own - 1)};
    case Mask::kOneMore: return {0, within(own + 1)};
    case Mask::kFromBehind: return {within(aligned - 1), s.keys};
    case Mask::kWithoutFirst: return {1, own};
    case Mask::kOfWarp: return {0, problem.keys_seen(s, l / 64 * 64 + l % 16)};
  }
  return {0, own};
}

AttentionResult attention_loop(const AttentionProblem& problem, const S& s, Look look) {
  const AttentionCase& c = problem.attention_case;
  const AttentionArgs a = problem.args();
  const bool packed = !c.lengths.empty();
  const double scale = s.scale(a.scale);
  const auto keys_of = [&](S::Array which) -> Operand {
    return {which == S::Array::kK ? a.k : a.v, c.B, c.T_k, c.H_kv, c.D};
  };
  const Operand q_of{a.q, c.B, c.T_q, c.H_q, c.D}, k_of = keys_of(s.k_from),
                                                   v_of = keys_of(s.v_from);
  AttentionResult result;
  result.o.resize(c.B * c.T_q * c.H_q * c.D, 0.0);
  result.lse.resize(c.B * c.H_q * c.T_q, -kInfinity);
  result.largest = result.lse;
  using Rows = std::vector<std::vector<double>>;
  const bool all = look == Look::kThorough || needs_all(s.stored);
  for (std::int64_t n = all ? 0 : c.sequences() - 1; n < c.sequences(); ++n) {
    const AttentionProblem::Sequence sequence = problem.sequence(n);
    const std::int64_t b = packed ? 0 : n;
    const auto take = [&](const Operand& from, const Taken& taken, std::int64_t at,
                          std::int64_t count, std::int64_t first, std::int64_t h) {
      const std::int64_t other = moved(at, count, taken.step);
      return from.row(b, other < 0 ? -1 : (packed ? first : 0) + other, h, taken);
    };
    for (std::int64_t h = all ? 0 : c.H_q - 1; h < c.H_q; ++h) {
      const std::int64_t h_kv = s.key_head == S::KeyHead::kFirst         ? 0
                                : s.key_head == S::KeyHead::kInterleaved ? h % c.H_kv
                                                                         : h / (c.H_q / c.H_kv);
      Rows k, v;
      for (std::int64_t at = 0; at < sequence.keys; ++at) {
        k.push_back(take(k_of, s.k, at, sequence.keys, sequence.first_key, h_kv));
        v.push_back(take(v_of, s.v, at, sequence.keys, sequence.first_key, h_kv));
      }
      const std::int64_t queries = all ? sequence.queries : std::min(sequence.queries, kQuickSteps);
      for (std::int64_t l = 0; l < queries; ++l) {
        const auto [first, end] = keys_seen(problem, sequence, l, s.mask);
        if (first >= end) continue;
        std::vector<double> q = take(q_of, s.q, l, sequence.queries, sequence.first_query, h);
        for (std::int64_t j = 0; j < c.D && s.arrives; ++j)
          q[j] = s.arrives(j) ? q[j] : 0.0;
        std::vector<double> scores(sequence.keys, 0.0);
        for (std::int64_t key = 0; key < sequence.keys; ++key) {
          scores[key] = scale * dot(q, k[key]);
        }
        double largest = *std::max_element(scores.begin() + first, scores.begin() + end);
        const std::int64_t behind =
            s.behind == S::Behind::kNothing ? 0 : (s.tile - sequence.keys % s.tile) % s.tile;
        if (behind > 0 && s.behind == S::Behind::kZeros) largest = std::max(largest, 0.0);
        // What the part of a key is multiplied by, in the place of 1.
        const auto of_part = [&](std::int64_t key) {
          if (s.parts_by_exp == 0) return 1.0;
          const std::int64_t begin = key / s.parts_by_exp * s.parts_by_exp;
          const double of_its_own = *std::max_element(
              scores.begin() + begin, scores.begin() + std::min(begin + s.parts_by_exp, end));
          return std::exp((of_its_own - largest) * (1 / std::log(2.0) - 1));
        };
        std::vector<double> o(c.D, 0.0);
        double sum = 0, sum_of_all = 0;
        for (std::int64_t key = 0; key < sequence.keys; ++key) {
          const double weight = s.weight(scores[key], largest);
          const bool again = s.behind == S::Behind::kLastKey && key + 1 == sequence.keys;
          const double times = static_cast<double>(again ? 1 + behind : 1);
          sum_of_all += weight * times;
          if (key < first || key >= end) continue;
          const double counted = weight * of_part(key) * times;
          sum += counted;
          for (std::int64_t i = 0; i < c.D; ++i)
            o[i] += counted * v[key][i];
        }
        if (s.behind == S::Behind::kZeros)
          sum += static_cast<double>(behind) * s.weight(0, largest);
        const double divisor = s.divisor == S::Divisor::kSum     ? sum
                               : s.divisor == S::Divisor::kTwice ? sum * sum
                               : s.divisor == S::Divisor::kCount ? static_cast<double>(end - first)
                               : s.divisor == S::Divisor::kNone  ? 1
                                                                 : sum_of_all;
        const std::int64_t row = sequence.first_query + l, at = problem.lse_index(row, h);
        for (std::int64_t i = 0; i < c.D; ++i)
          result.o[(row * c.H_q + h) * c.D + i] = s.factor * o[i] / divisor;
        result.largest[at] = largest;
        result.lse[at] =
            s.lse(largest, std::log(s.divisor == S::Divisor::kSumOfAll ? sum_of_all : sum));
      }
    }
  }
  if (!packed) apply(s.stored, result.o, c.B, c.T_q, c.H_q, c.D, false);
  return result;
}

Variants<S> attention_variants(const AttentionCase& c) {
  Variants<S> list;
  const auto add = [&](const std::string& words, const std::string& line, const auto& change) {
    list.push_back({words, line, change});
  };
  const auto add_lse = [&](const char* words, const char* line, double (*lse)(double, double)) {
    add(words, line, [=](S& s) { s.lse = lse; });
  };
  add_lse("with lse in base 2: it must be the natural logarithm", "m * log2e + log2f(l)",
          [](double m, double l) { return (m + l) / std::log(2.0); });
  add_lse("with one part of lse in base 2: the maximum; both must be natural logarithms",
          "m + logf(l), m of scores in base 2",
          [](double m, double l) { return m / std::log(2.0) + l; });
  add_lse(
      "with one part of lse in base 2: the logarithm of the sum; both must be natural logarithms",
      "m + log2f(l)", [](double m, double l) { return m + l / std::log(2.0); });
  add_lse("with lse without the maximum", "logf(l)", [](double, double l) { return l; });
  add_lse("with lse without the logarithm of the sum", "lse = m",
          [](double m, double) { return m; });
  add_lse("with lse's sum without its logarithm", "m + l",
          [](double m, double l) { return m + std::exp(l); });
  add_lse("with the logarithm of the sum subtracted in lse", "m - logf(l)",
          [](double m, double l) { return m - l; });
  for (const WrongMask& wrong : wrong_masks(c))
    add(wrong.words, wrong.line, [mask = wrong.mask](S& s) { s.mask = mask; });
  const auto add_scale = [&](const char* words, const char* line, double (*scale)(double)) {
    add(words, line, [=](S& s) { s.scale = scale; });
  };
  add_scale("with the scale forgotten", "score = q . k", [](double) { return 1.0; });
  add_scale("with the scale applied twice", "scale * scale * score, or 1 / D for 1 / sqrt(D)",
            [](double x) { return x * x; });
  add_scale("with the scores divided by the scale", "score / scale",
            [](double x) { return 1 / x; });
  add_scale("with the sign of the scores turned", "expf(m - score)", [](double x) { return -x; });
  const auto add_weight = [&](const char* words, const char* line,
                              double (*weight)(double, double)) {
    add(words, line, [=](S& s) { s.weight = weight; });
  };
  add_weight("with 2 to the power of the scores: exp2 for exp", "exp2f(score - m)",
             [](double x, double m) { return std::exp2(x - m); });
  add_weight("with exp of scores in base 2: exp for exp2", "expf(score * log2e - m)",
             [](double x, double m) { return std::exp((x - m) / std::log(2.0)); });
  add_weight("with the scores themselves as weights: exp forgotten", "weight = score",
             [](double x, double) { return x; });
  add_weight("with equal weights: the scores are not read", "weight = 1",
             [](double, double) { return 1.0; });
  const auto add_divisor = [&](const char* words, const char* line, S::Divisor divisor) {
    add(words, line, [=](S& s) { s.divisor = divisor; });
  };
  add_divisor("without the division by the sum", "o for o / l", S::Divisor::kNone);
  add_divisor("divided by the sum twice", "o / l / l", S::Divisor::kTwice);
  add_divisor("divided by the number of keys, not by the sum", "o / T_k", S::Divisor::kCount);
  if (c.causal) {
    add_divisor("divided by the sum over all keys, also those that the query does not see",
                "l += weight before the mask", S::Divisor::kSumOfAll);
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    add("with query head h at key head h % H_kv, not h / (H_q / H_kv)", "h % args.H_kv",
        [](S& s) { s.key_head = S::KeyHead::kInterleaved; });
  }
  if (c.H_kv > 1) {
    add("with every query head at key head 0", "k and v without h",
        [](S& s) { s.key_head = S::KeyHead::kFirst; });
  }
  using Array = S::Array;
  const auto add_arrays = [&](const char* words, const char* line, Array k, Array v) {
    add(words, line, [=](S& s) { s.k_from = k, s.v_from = v; });
  };
  add_arrays("with k and v swapped", "k = args.v, v = args.k", Array::kV, Array::kK);
  add_arrays("with v in the place of k", "k = args.v", Array::kV, Array::kV);
  add_arrays("with k in the place of v", "v = args.k", Array::kK, Array::kK);
  add("with the sign turned", "o -= for o +=", [](S& s) { s.factor = -1; });
  for (const Rows& rows : partial_rows(c.D)) {
    std::string words = rows.words;
    for (auto at = words.find("key row"); at != std::string::npos; at = words.find("key row"))
      words.replace(at, 7, "channel");
    add(words + ", in the scores", rows.line,
        [arrives = rows.arrives](S& s) { s.arrives = arrives; });
  }
  for (const auto& [name, taken] : {std::pair{"q", &S::q}, {"k", &S::k}, {"v", &S::v}}) {
    for (const TakenChange& one : taken_changes(name, "i"))
      add(one.words, one.line, [=, taken = taken](S& s) { one.change(s.*taken); });
  }
  const auto of_all = [](S& s, const auto& change) {
    for (Taken* taken : {&s.q, &s.k, &s.v})
      change(*taken);
  };
  add("of batch 0 in every batch", "q, k and v without b",
      [=](S& s) { of_all(s, [](Taken& t) { t.batch = Taken::Of::kFirst; }); });
  add("of head 0 in every head", "q, k and v without h",
      [=](S& s) { of_all(s, [](Taken& t) { t.head = Taken::Of::kFirst; }); });
  add_stored(list);
  return list;
}

}  // namespace ladder::reference
