#include "common/operators/linear_attention/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "common/core/threads.hpp"
#include "common/judge/typed.hpp"
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

// Query l sees the keys .first to .second - 1.
std::pair<std::int64_t, std::int64_t> seen(const LinearAttentionCase& c, S::Mask mask,
                                           std::int64_t l, std::int64_t keys) {
  const bool causal = c.causal != (mask == S::Mask::kTurned);
  if (!causal) return {0, keys};
  if (mask == S::Mask::kFromBehind) return {std::min(l, keys), keys};
  const std::int64_t more = mask == S::Mask::kStrict ? 0 : mask == S::Mask::kOneMore ? 2 : 1;
  return {0, std::min(l + more, keys)};
}

// Computes one head after another, key by key and query by query.
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

  // Writes the head's rows of the result.
  void visit(std::int64_t b, std::int64_t h, Row& result) {
    b_ = b, h_ = h;
    const bool cut = args_.key_lengths != nullptr && !s_.lengths_ignored;
    const std::int64_t keys = cut ? args_.key_lengths[b] : c_.T_k;
    forget();
    std::int64_t next = 0;
    for (std::int64_t l = 0; l < c_.T_q; ++l) {
      const auto [first, end] = seen(c_, s_.mask, l, keys);
      if (s_.mask == S::Mask::kFromBehind) {
        forget();
        next = first;
      }
      for (; next < end; ++next)
        add_key(next);
      const Row q = mapped_row(q_, l, s_.map_of_q);
      const bool divides = c_.normalize != (s_.normaliser == S::Normaliser::kTurned);
      Number divisor =
          divides ? static_cast<Number>(s_.add_eps(normaliser(q, l, first, end, keys), c_.eps)) : 1;
      if (s_.normaliser == S::Normaliser::kTwice) divisor *= divisor;
      if (s_.normaliser == S::Normaliser::kMultiplied) divisor = 1 / divisor;
      Number* o = result.data() + ((b * c_.T_q + l) * c_.H + h) * c_.V;
      for (std::int64_t j = 0; j < c_.K; ++j) {
        for (std::int64_t i = 0; i < c_.V; ++i)
          o[i] += q[j] * operand(s_.read_transposed ? state_[i * c_.V + j] : state_[j * c_.V + i]);
      }
      const Number factor = static_cast<Number>(s_.factor) / divisor;
      for (std::int64_t i = 0; i < c_.V; ++i)
        o[i] *= factor;
    }
  }

 private:
  // Rows of q, k or v.
  struct Operand {
    const float* data;
    std::int64_t T, width;
  };
  Operand array(S::Array which) const {
    if (which == S::Array::kQ) return {args_.q, c_.T_q, c_.K};
    if (which == S::Array::kK) return {args_.k, c_.T_k, c_.K};
    return {args_.v, c_.T_k, c_.V};
  }
  Number operand(Number x) const {
    return s_.operand == nullptr ? x : static_cast<Number>(s_.operand(x));
  }
  Row mapped_row(const Operand& from, std::int64_t n, S::Map map) const {
    const float* row = from.data + ((b_ * from.T + n) * c_.H + h_) * from.width;
    Row result(from.width);
    for (std::int64_t i = 0; i < from.width; ++i)
      result[i] = operand(static_cast<Number>(mapped(row[i], c_.feature_map, map)));
    return result;
  }
  Row key(std::int64_t n) const { return mapped_row(k_, n, s_.map_of_k); }

  void forget() {
    std::fill(state_.begin(), state_.end(), Number{0});
    std::fill(z_.begin(), z_.end(), Number{0});
  }

  void add_key(std::int64_t n) {
    const Row k = key(n), v = mapped_row(v_, n, S::Map::kNone);
    if (s_.state_overwritten) std::fill(state_.begin(), state_.end(), Number{0});
    for (std::int64_t j = 0; j < c_.K; ++j) {
      z_[j] += k[j];
      Number* row = &state_[j * c_.V];
      for (std::int64_t i = 0; i < c_.V; ++i) {
        row[i] += k[j] * v[i];
        if (s_.kept_state != nullptr) row[i] = static_cast<Number>(s_.kept_state(row[i]));
      }
    }
  }

  // The normaliser of query l, which sees the keys first to end - 1 of `keys`.
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
          sum += dot(q, mapped_row(k_, n, S::Map::kNone));
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
std::vector<Number> linear_attention_loop(const LinearAttentionProblem& problem, const S& s) {
  const LinearAttentionCase& c = problem.drawn_case();
  std::vector<Number> result(c.B * c.T_q * c.H * c.V);
  const std::int64_t heads = c.B * c.H;
#pragma omp parallel if (worth_threads(linear_attention_fma_count(sizes_of(c))))
  {
    Walk<Number> walk(problem, s);
#pragma omp for
    for (std::int64_t head = 0; head < heads; ++head)
      walk.visit(head / c.H, head % c.H, result);
  }
  return result;
}

template std::vector<double> linear_attention_loop(const LinearAttentionProblem&, const S&);
template std::vector<float> linear_attention_loop(const LinearAttentionProblem&, const S&);

namespace {

Outputs plain(const LinearAttentionProblem& problem, Arithmetic arithmetic) {
  S switches;
  if (arithmetic == Arithmetic::kBf16Operands)
    switches.operand = problem.drawn_case().precision == Precision::kFp16 ? fp16 : bf16;
  const std::vector<float> o = linear_attention_loop<float>(problem, switches);
  return problem.stored({{o.begin(), o.end()}});
}

struct Collected : VariantList<S> {
  using Mask = S::Mask;
  using Map = S::Map;
  using Normaliser = S::Normaliser;
  using Array = S::Array;
  using enum S::Array;
  const LinearAttentionCase& c;
  bool square, same_steps;

  explicit Collected(const LinearAttentionCase& of)
      : c(of), square(c.K == c.V), same_steps(c.T_q == c.T_k) {}

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
    }
  }

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
    }
  }

  void add_states() {
    add("multiplied by 1 / sqrt(K), which linear attention has not", "scale * sum",
        [K = c.K](S& s) { s.factor = 1 / std::sqrt(static_cast<double>(K)); });
    add("with its own step alone: the state is overwritten, or not read",
        "kv = k * v for kv += k * v", &S::state_overwritten, true);
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
  return std::move(collected.list);
}

namespace {

// The problem with zeros in all key rows of q except first to end - 1.
LinearAttentionProblem with_rows(LinearAttentionProblem problem, std::int64_t first,
                                 std::int64_t end) {
  std::vector<float>& q = problem["q"];
  for (std::size_t i = 0; i < q.size(); ++i) {
    const std::int64_t j = static_cast<std::int64_t>(i) % problem.drawn_case().K;
    if (j < first || j >= end) q[i] = 0;
  }
  return problem;
}

// Blocks of 8 key rows each overwrite o instead of adding to it. The last may differ per element.
std::string one_strip(const LinearAttentionProblem& problem, const std::vector<float>& o) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t K = problem.drawn_case().K;
  if (K <= kRows) return "";
  double square = 0;
  for (float value : o)
    square += static_cast<double>(value) * value;
  const double close = 1e-4 * std::sqrt(square / static_cast<double>(o.size()));
  if (!std::isfinite(close)) return "";  // infinity would be close to all
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

Mistakes mistakes_of(const LinearAttentionProblem& problem, const std::vector<Truth>&,
                     Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.drawn_case();
  const LinearAttentionArgs args = problem.args();
  Mistakes mistakes;
  mistakes.work = linear_attention_fma_count(args);
  add_variants(mistakes, "equals the result ", linear_attention_variants(c), S{},
               [&problem](const S& s) { return Answer{linear_attention_loop(problem, s)}; });
  add_tf32(mistakes, problem, [](const LinearAttentionProblem& changed) {
    return Answer{linear_attention_recurrence(changed)};
  });
  if (arithmetic == Arithmetic::kFp32) {
    const auto answer = [&problem] {
      return Answer{linear_attention_loop(problem, S{.kept_state = bf16})};
    };
    mistakes.known.push_back(
        {"equals the result of a state rounded to bf16 in every step", answer, 0, "bf16 state"});
  }
  mistakes.own = [&problem](const std::vector<Part>& parts) {
    return one_strip(problem, *parts.front().result);
  };
  return mistakes;
}

[[maybe_unused]] const bool known = [] {
  for (Operator* op : {&operator_of<LinearAttention>(), &operator_of<CausalDotProduct>()}) {
    op->mistakes = mistakes_by(mistakes_of);
    op->plain = of_any(plain);
  }
  return true;
}();

}  // namespace

}  // namespace ladder
