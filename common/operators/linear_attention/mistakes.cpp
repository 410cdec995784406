#include "common/operators/linear_attention/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "common/core/threads.hpp"
#include "common/judge/stored.hpp"
#include "common/judge/variant_list.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/linear_attention/truth.hpp"

namespace ladder {
namespace {

using S = LinearAttentionSwitches;

double mapped(double x, FeatureMap usual, S::Map map) {
  switch (map) {
    case S::Map::kOwn: return usual == FeatureMap::kIdentity ? x : x > 0 ? x + 1 : std::exp(x);
    case S::Map::kNone: return x;
    case S::Map::kElu: return x > 0 ? x : std::exp(x) - 1;
    case S::Map::kExp: return std::exp(x);
    case S::Map::kRelu: return std::max(x, 0.0);
    case S::Map::kTwice: return mapped(mapped(x, usual, S::Map::kOwn), usual, S::Map::kOwn);
  }
  return x;
}

// The keys from .first to .second - 1.
std::pair<std::int64_t, std::int64_t> seen(const LinearAttentionCase& c, S::Mask mask,
                                           std::int64_t l, std::int64_t keys) {
  const bool causal = c.causal != (mask == S::Mask::kTurned);
  if (!causal) return {0, keys};
  if (mask == S::Mask::kFromBehind) return {std::min(l, keys), keys};
  const std::int64_t more = mask == S::Mask::kStrict ? 0 : mask == S::Mask::kOneMore ? 2 : 1;
  return {0, std::min(l + more, keys)};
}

// The walk of one head after the other through its keys and queries.
template <typename Number>
class Walk {
 public:
  using Row = std::vector<Number>;

  Walk(const LinearAttentionProblem& problem, const S& switches)
      : c_(problem.drawn_case()),
        args_(problem.args()),
        s_(switches),
        q_(array(s_.q_from)),
        k_(array(s_.k_from)),
        v_(array(s_.v_from)),
        state_(c_.K * c_.V),
        z_(c_.K) {}

  // Its rows of the result; else those of its first steps.
  void visit(std::int64_t b, std::int64_t h, bool all, Row& result) {
    b_ = b, h_ = h;
    const bool cut = args_.key_lengths != nullptr && !s_.lengths_ignored;
    const std::int64_t keys = cut ? args_.key_lengths[b] : c_.T_k;
    if (!s_.state_kept) std::fill(state_.begin(), state_.end(), Number{0});
    if (!s_.z_kept) std::fill(z_.begin(), z_.end(), Number{0});
    std::int64_t next = 0;
    for (std::int64_t l = 0; l < (all ? c_.T_q : std::min(c_.T_q, kQuickSteps)); ++l) {
      const auto [first, end] = seen(c_, s_.mask, l, keys);
      if (s_.mask == S::Mask::kFromBehind) {
        forget();
        next = first;
      }
      for (; next < end; ++next)
        add_key(next);
      const Row q = mapped_row(q_, s_.q, l, c_.T_q, s_.map_of_q);
      const bool divides = c_.normalize != (s_.normaliser == S::Normaliser::kTurned);
      Number divisor =
          divides ? static_cast<Number>(s_.add_eps(normaliser(q, l, first, end, keys), c_.eps)) : 1;
      if (s_.normaliser == S::Normaliser::kTwice) divisor *= divisor;
      if (s_.normaliser == S::Normaliser::kMultiplied) divisor = 1 / divisor;
      Number* o = result.data() + ((b * c_.T_q + l) * c_.H + h) * c_.V;
      for (std::int64_t j = 0; j < c_.K; ++j) {
        if (s_.arrives && !s_.arrives(j)) continue;
        const Number* row = &state_[(s_.read_rows ? j % s_.read_rows : j) * c_.V];
        for (std::int64_t i = 0; i < c_.V; ++i)
          o[i] += (s_.q.crossed ? q[i] : q[j]) *
                  operand(s_.read_transposed ? state_[i * c_.V + j] : row[i]);
      }
      const Number factor = static_cast<Number>(s_.factor) / divisor;
      for (std::int64_t i = 0; i < c_.V; ++i)
        o[i] *= factor;
    }
  }

 private:
  Operand array(S::Array which) const {
    if (which == S::Array::kQ) return {args_.q, c_.B, c_.T_q, c_.H, c_.K};
    if (which == S::Array::kK) return {args_.k, c_.B, c_.T_k, c_.H, c_.K};
    return {args_.v, c_.B, c_.T_k, c_.H, c_.V};
  }
  Number operand(Number x) const {
    return s_.operand == nullptr ? x : static_cast<Number>(s_.operand(x));
  }
  Row mapped_row(const Operand& from, const Taken& taken, std::int64_t n, std::int64_t count,
                 S::Map map) const {
    const std::vector<double> row = from.row(b_, moved(n, count, taken.step), h_, taken);
    Row result(row.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      result[i] = operand(static_cast<Number>(mapped(row[i], c_.feature_map, map)));
    return result;
  }
  Row key(std::int64_t n) const { return mapped_row(k_, s_.k, n, c_.T_k, s_.map_of_k); }

  void forget() {
    std::fill(state_.begin(), state_.end(), Number{0});
    std::fill(z_.begin(), z_.end(), Number{0});
  }

  void add_key(std::int64_t n) {
    const Row k = key(n), v = mapped_row(v_, s_.v, n, c_.T_k, S::Map::kNone);
    if (s_.state_overwritten) std::fill(state_.begin(), state_.end(), Number{0});
    for (std::int64_t j = 0; j < c_.K; ++j) {
      z_[j] += k[j];
      Number* row = &state_[(s_.written_rows ? j % s_.written_rows : j) * c_.V];
      for (std::int64_t i = 0; i < c_.V; ++i) {
        row[i] += (s_.k.crossed ? k[i] : k[j]) * (s_.v.crossed ? v[j] : v[i]);
        if (s_.kept_state != nullptr) row[i] = static_cast<Number>(s_.kept_state(row[i]));
      }
    }
  }

  // The normaliser of query l, which sees the keys first .. end - 1 of `keys`.
  Number normaliser(const Row& q, std::int64_t l, std::int64_t first, std::int64_t end,
                    std::int64_t keys) const {
    Row z = z_;
    for (Number& x : z)
      x = operand(x);
    if (s_.normaliser == S::Normaliser::kOwn) return dot(q, z);
    const Number of_last = end > 0 ? dot(q, key(end - 1)) : Number{0};
    Number sum = 0;
    switch (s_.normaliser) {
      case S::Normaliser::kOfFirstKey:
        return end > 0 ? static_cast<Number>(end - first) * dot(q, key(0)) : Number{0};
      case S::Normaliser::kOfLastKey: return of_last;
      case S::Normaliser::kWithoutLastKey: return dot(q, z) - of_last;
      case S::Normaliser::kOfAllKeys:
        for (std::int64_t n = 0; n < keys; ++n)
          sum += dot(q, key(n));
        return sum;
      case S::Normaliser::kOfRawKeys:
        for (std::int64_t n = first; n < end; ++n)
          sum += dot(q, mapped_row(k_, s_.k, n, c_.T_k, S::Map::kNone));
        return sum;
      case S::Normaliser::kWithoutQ: return std::accumulate(z.begin(), z.end(), Number{0});
      case S::Normaliser::kOfKForQ: return l < c_.T_k ? dot(key(l), z) : Number{0};
      case S::Normaliser::kMean: return static_cast<Number>(end - first);
      default: return dot(q, z);
    }
  }

  const LinearAttentionCase& c_;
  LinearAttentionArgs args_;
  const S& s_;
  Operand q_, k_, v_;
  std::int64_t b_ = 0, h_ = 0;
  Row state_, z_;
};

}  // namespace

template <typename Number>
std::vector<Number> linear_attention_loop(const LinearAttentionProblem& problem, const S& s,
                                          Look look) {
  const LinearAttentionCase& c = problem.drawn_case();
  std::vector<Number> result(c.B * c.T_q * c.H * c.V);
  const bool runs_on = s.state_kept || s.z_kept;
  const bool all = look == Look::kThorough || runs_on || needs_all(s.stored);
  const std::int64_t heads = c.B * c.H;
#pragma omp parallel if (!runs_on && worth_threads(linear_attention_fma_count(sizes_of(c))))
  {
    Walk<Number> walk(problem, s);
#pragma omp for
    for (std::int64_t head = all ? 0 : heads - 1; head < heads; ++head)
      walk.visit(head / c.H, head % c.H, all, result);
  }
  if constexpr (std::is_same_v<Number, double>)
    apply(s.stored, result, c.B, c.T_q, c.H, c.V, false);
  return result;
}

template std::vector<double> linear_attention_loop(const LinearAttentionProblem&, const S&, Look);
template std::vector<float> linear_attention_loop(const LinearAttentionProblem&, const S&, Look);

LinearAttention::Outputs LinearAttention::plain(const Problem& problem, Arithmetic arithmetic) {
  S switches;
  if (arithmetic == Arithmetic::kBf16Operands) switches.operand = bf16;
  const Outputs o = linear_attention_loop<float>(problem, switches);
  return stored<LinearAttention>(problem, {{o.begin(), o.end()}});
}

namespace {

// The variants for a case, group by group.
struct Collected : VariantList<S> {
  using Mask = S::Mask;
  using Map = S::Map;
  using Normaliser = S::Normaliser;
  using Array = S::Array;
  using enum S::Array;
  static constexpr const char* kRead =
      "with the first four rows of the state read in the place of all";
  static constexpr const char* kUpdated =
      "with the first four rows of the state updated in the place of all";

  const LinearAttentionCase& c;
  bool square, same_steps;

  explicit Collected(const LinearAttentionCase& of)
      : c(of), square(c.K == c.V), same_steps(c.T_q == c.T_k) {}

  // Which keys a query sees.
  void add_masks() {
    add(c.causal ? "without the causal mask" : "with a causal mask",
        "if (s > l) score = 0 left out", &S::mask, Mask::kTurned);
    if (c.causal) {
      add("without each query's own key",
          "if (s >= l) score = 0, or the state read before its update", &S::mask, Mask::kStrict);
      add("with one key more than each query may see", "if (s > l + 1) score = 0", &S::mask,
          Mask::kOneMore);
      add("with the mask turned round: each query sees its own key and the later ones",
          "if (s < l) score = 0", &S::mask, Mask::kFromBehind);
    }
  }

  // What the sum is divided by.
  void add_normalisers() {
    add(c.normalize ? "with the normaliser forgotten" : "with a normaliser",
        "o / (q z + eps) left out", &S::normaliser, Normaliser::kTurned);
    if (c.normalize) {
      add("with z not summed: the normaliser of the last key alone", "z = phi_k for z += phi_k",
          &S::normaliser, Normaliser::kOfLastKey);
      add("with the normaliser of all keys, also those that the query does not see",
          "z summed before the loop", &S::normaliser, Normaliser::kOfAllKeys);
      add("with z not multiplied by phi(q)", "normaliser += z[ik]", &S::normaliser,
          Normaliser::kWithoutQ);
      add("divided by the number of keys, not by the normaliser", "o / (l + 1)", &S::normaliser,
          Normaliser::kMean);
      add("divided by the normaliser twice", "o / n / n", &S::normaliser, Normaliser::kTwice);
      add("with z before the own key is added", "q z before z += phi_k", &S::normaliser,
          Normaliser::kWithoutLastKey);
      if (c.feature_map != FeatureMap::kIdentity) {
        add("with z of k without the feature map", "z += k for z += phi_k", &S::normaliser,
            Normaliser::kOfRawKeys);
      }
      add("with z of the first key again and again", "z += k[0] for z += k[s]", &S::normaliser,
          Normaliser::kOfFirstKey);
      add("with k in the place of q in the normaliser", "k z + eps for q z + eps", &S::normaliser,
          Normaliser::kOfKForQ);
      add("multiplied by the normaliser, not divided", "o * n for o / n", &S::normaliser,
          Normaliser::kMultiplied);
      add("with eps not added", "o / (q z), or / fmaxf(q z, eps)", &S::add_eps,
          [](double n, double) { return n; });
      add("with eps added twice", "z + eps, and the sum + eps", &S::add_eps,
          [](double n, double eps) { return n + 2 * eps; });
      add("with eps subtracted", "q z - eps", &S::add_eps,
          [](double n, double eps) { return n - eps; });
      add("with eps alone as the normaliser", "o / eps", &S::add_eps,
          [](double, double eps) { return eps; });
      add("with z of one head running into the next", "z set to 0 before the loop over the heads",
          &S::z_kept, true);
    }
  }

  // What q and k go through.
  void add_feature_maps() {
    if (c.feature_map != FeatureMap::kIdentity) {
      for (const auto& [words, line, map] :
           {std::tuple{"the feature map forgotten", "x for phi(x)", Map::kNone},
            {"elu(x) for elu(x) + 1 as the feature map", "expf(x) - 1", Map::kElu},
            {"exp(x) for elu(x) + 1 as the feature map", "expf(x)", Map::kExp},
            {"max(x, 0) for elu(x) + 1 as the feature map", "fmaxf(x, 0)", Map::kRelu},
            {"the feature map applied twice", "phi(phi(x))", Map::kTwice}}) {
        add(std::string("with ") + words, line,
            [map = map](S& s) { s.map_of_q = s.map_of_k = map; });
        add(std::string("with ") + words + ", of q alone", line, &S::map_of_q, map);
        add(std::string("with ") + words + ", of k alone", line, &S::map_of_k, map);
      }
    }
  }

  // An array, or an index of it, in the place of another.
  void add_swapped_arrays() {
    const auto add_arrays = [&](const std::string& words, const std::string& line, Array q, Array k,
                                Array v) {
      add(words, line, [=](S& s) { s.q_from = q, s.k_from = k, s.v_from = v; });
    };
    if (same_steps) {
      add_arrays("with q and k swapped", "q = args.k, k = args.q", kK, kQ, kV);
      add_arrays("with k in the place of q", "q = args.k", kK, kK, kV);
      add_arrays("with q in the place of k", "k = args.q", kQ, kQ, kV);
    }
    if (square) {
      const std::string transposed = "with the state read transposed";
      if (c.normalize) {
        add_arrays("with k and v swapped", "k = args.v, v = args.k", kQ, kV, kK);
        add(transposed, "kv[iv * V + ik] for kv[ik * V + iv]", &S::read_transposed, true);
      } else {
        add_arrays("with k and v swapped, which is the same as " + transposed.substr(5),
                   "k = args.v, v = args.k; or kv[iv * V + ik]", kQ, kV, kK);
      }
      add_arrays("with v in the place of k", "k = args.v", kQ, kV, kV);
      add_arrays("with k in the place of v", "v = args.k", kQ, kK, kK);
      add("with q of the value column, not of the key row", "q[iv] for q[ik]", {&S::q},
          of_the_other_axis);
      add("with k of the value column, not of the key row", "k[iv] for k[ik]", {&S::k},
          of_the_other_axis);
      add("with v of the key row, not of the value column", "v[ik] for v[iv]", {&S::v},
          of_the_other_axis);
    }
  }

  // How the state is summed and read.
  void add_states() {
    add("with the sign turned", "sum -= for sum +=", &S::factor, -1);
    add("multiplied by 1 / sqrt(K), which linear attention has not", "scale * sum",
        [K = c.K](S& s) { s.factor = 1 / std::sqrt(static_cast<double>(K)); });
    add("with the state overwritten, not added to", "kv = k * v for kv += k * v",
        &S::state_overwritten, true);
    for (const Rows& rows : partial_rows(c.K))
      add(rows.words, rows.line, &S::arrives, rows.arrives);
    add("with the first four rows of the state in the place of all", "kv[i] for kv[ik + i]",
        [](S& s) { s.read_rows = s.written_rows = 4; });
    if (c.normalize) {
      add(kRead, "kv[i] for kv[ik + i] where it is read", &S::read_rows, 4);
      add(kUpdated, "kv[i] for kv[ik + i] where it is updated", &S::written_rows, 4);
    }
    if (c.normalize) {
      add("with the state of one head running into the next, and z not",
          "kv set to 0 before the loop over the heads", &S::state_kept, true);
    }
    add(c.normalize ? "with the state and z of one head running into the next"
                    : "with the state of one head running into the next",
        "kv and z set to 0 before the loop over the heads",
        [](S& s) { s.state_kept = s.z_kept = true; });
  }

  // Which element of q, k and v is taken.
  void add_operands() {
    for (const auto& [name, lane, taken] :
         {std::tuple{"q", "ik", &S::q}, {"k", "ik", &S::k}, {"v", "iv", &S::v}}) {
      std::vector<TakenChange> changes = taken_changes(name, lane);
      const bool of_columns = taken == &S::v;
      if (!square)
        changes.push_back(pitch_change(name, of_columns ? "K" : "V", of_columns ? c.K : c.V));
      for (const TakenChange& one : changes) {
        // Without a normaliser a q that repeats is a state whose rows do.
        const std::string same = c.normalize                                         ? ""
                                 : one.words == "with the first 4 q again and again" ? kUpdated
                                 : one.words == "with the first 4 k again and again" ? kRead
                                                                                     : "";
        add(one.words + (same.empty() ? "" : ", which is the same as " + same.substr(5)), one.line,
            [=, taken = taken](S& s) { one.change(s.*taken); });
      }
    }
    const std::vector<Taken S::*> all = {&S::q, &S::k, &S::v};
    add("of head 0 in every head", "q, k and v without h", all, of_head_0);
    add("of batch 0 in every batch", "q, k and v without b", all, of_batch_0);
  }
};

}  // namespace

Variants<S> linear_attention_variants(const LinearAttentionCase& c) {
  Collected collected(c);
  collected.add_masks();
  collected.add_normalisers();
  if (c.key_lengths) {
    collected.add("with the key lengths ignored", "keys = T_k", &S::lengths_ignored, true);
  }
  collected.add_feature_maps();
  collected.add_swapped_arrays();
  collected.add_states();
  collected.add_operands();
  add_stored(collected.list);
  return std::move(collected.list);
}

namespace {

// The problem of somebody whose query reaches some of the key rows only.
LinearAttentionProblem with_rows(LinearAttentionProblem problem, std::int64_t first,
                                 std::int64_t end) {
  std::vector<float>& q = problem["q"];
  for (std::size_t i = 0; i < q.size(); ++i) {
    const std::int64_t j = static_cast<std::int64_t>(i) % problem.drawn_case().K;
    if (j < first || j >= end) q[i] = 0;
  }
  return problem;
}

// Blocks that each take a strip of 8 key rows and store their part of o instead of adding it: which one comes last
// may differ from element to element.
std::string one_strip(const LinearAttentionProblem& problem, const std::vector<float>& o) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t K = problem.drawn_case().K;
  if (K <= kRows) return "";
  double square = 0;
  for (float value : o)
    square += static_cast<double>(value) * value;
  const double close = 1e-4 * std::sqrt(square / static_cast<double>(o.size()));
  std::vector<bool> explained(o.size(), false);
  for (std::int64_t first = 0; first < K; first += kRows) {
    const auto part = linear_attention_recurrence(with_rows(problem, first, first + kRows));
    for (std::size_t i = 0; i < o.size(); ++i)
      explained[i] = explained[i] || std::abs(o[i] - part[i]) <= close;
  }
  const bool all = std::find(explained.begin(), explained.end(), false) == explained.end();
  return all ? "each element is the part of one strip of 8 key rows: the parts overwrite each "
               "other\n"
             : "";
}

// Parts of the truth, of which one for each key row is taken. Multiply-adds of all:
constexpr double kMostTaken = 3e8;

}  // namespace

Mistakes LinearAttention::mistakes(const Problem& problem, const std::vector<Truth>&,
                                   Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.drawn_case();
  const LinearAttentionArgs args = problem.args();
  Mistakes mistakes;
  mistakes.work = linear_attention_fma_count(args);
  add_variants(mistakes, "equals the result ", linear_attention_variants(c), S{}, true,
               [&problem](const S& s, Look look) {
                 return Answer{linear_attention_loop(problem, s, look)};
               });
  add_tf32(mistakes, problem,
           [](const Problem& changed) { return Answer{linear_attention_recurrence(changed)}; });
  if (arithmetic == Arithmetic::kFp32) {
    const auto answer = [&problem] {
      return Answer{linear_attention_loop(problem, S{.kept_state = bf16})};
    };
    mistakes.known.push_back(
        {"equals the result of a state rounded to bf16 in every step", answer, 0, "bf16 state"});
  }
  mistakes.own = [&problem](const Part& o) { return one_strip(problem, *o.result); };
  mistakes.values = SumOfValues{{args.v, c.B, c.T_k, c.H, c.V}, c.T_q, c.H, "query", "key"};
  if (mistakes.work * static_cast<double>(c.K) <= kMostTaken) {
    mistakes.rows = [&problem] {
      PartOfRows part{"the sum", {}};
      for (std::int64_t row = 0; row < problem.drawn_case().K; ++row) {
        S one;
        one.arrives = [row](std::int64_t j) { return j == row; };
        part.terms.push_back(linear_attention_loop(problem, one));
      }
      return std::vector<PartOfRows>{part};
    };
  }
  return mistakes;
}

}  // namespace ladder
