#include "common/operators/wkv/variants.hpp"

#include <algorithm>
#include <numeric>

namespace ladder::reference {
namespace {

// What each key row adds to the bonus, summed: by a loop, or by warps of 32 lanes that shift down, so that lane 0 alone has all of it.
std::vector<double> bonus_of(const std::vector<double>& terms, WkvSwitches::Bonus bonus,
                             std::int64_t V) {
  using Bonus = WkvSwitches::Bonus;
  if (bonus == Bonus::kNone) return std::vector<double>(V, 0.0);
  if (bonus == Bonus::kFirstRow) return std::vector<double>(V, terms[0]);
  if (bonus != Bonus::kSumInLane0)
    return std::vector<double>(V, std::accumulate(terms.begin(), terms.end(), 0.0));
  constexpr std::int64_t kLanes = 32;
  std::vector<double> sum(V, 0.0);
  for (std::size_t first = 0; first < terms.size(); first += kLanes) {
    std::vector<double> lanes(kLanes, 0.0);
    std::copy(terms.begin() + first, std::min(terms.begin() + first + kLanes, terms.end()),
              lanes.begin());
    for (std::int64_t distance = kLanes / 2; distance > 0; distance /= 2) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += lanes[lane + distance < kLanes ? lane + distance : lane];
    }
    for (std::int64_t i = 0; i < V; ++i)
      sum[i] += lanes[i % kLanes];
  }
  return sum;
}

// One operand of one step: a factor for each key row and one for each value column, of which one is 1.
struct Factors {
  std::vector<double> rows, columns;

  Factors(std::vector<double> values, bool of_rows, std::int64_t K, std::int64_t V)
      : rows(K, 1.0), columns(V, 1.0) {
    (of_rows ? rows : columns) = std::move(values);
  }
};

}  // namespace

WkvSwitches right_switches(Recurrence recurrence) {
  WkvSwitches right;
  if (recurrence == Recurrence::kGla) {
    right.read = WkvSwitches::Read::kUpdated;
    right.bonus = WkvSwitches::Bonus::kNone;
  }
  return right;
}

WkvResult wkv_loop(const WkvProblem& problem, const WkvSwitches& s) {
  using Read = WkvSwitches::Read;
  using Array = WkvSwitches::Array;
  const WkvCase& c = problem.wkv_case;
  const std::int64_t K = c.K, V = c.V;
  const bool packed = !problem.cu_seqlens.empty(), reverse = c.reverse != s.time_turned;
  const double scale = s.scale(c.scale);
  const auto array = [&](Array which) -> Operand {
    const Tensor<float>& tensor = which == Array::kQ   ? problem.q
                                  : which == Array::kK ? problem.k
                                                       : problem.v;
    return {tensor.pointer(), c.B, c.T, c.H, which == Array::kV ? V : K};
  };
  const Operand q_of = array(s.q_from), k_of = array(s.k_from), v_of = array(s.v_from);
  const Operand log_w_of{problem.log_w.pointer(), c.decay_per_head ? 1 : c.B,
                         c.decay_per_head ? 1 : c.T, c.H, K};
  const Operand u_of{problem.u.pointer(), 1, 1, c.H, K};
  WkvResult result;
  result.o.resize(c.B * c.T * c.H * V);
  result.final_state.resize(c.sequences() * c.H * K * V);
  std::vector<double> state(K * V, 0.0), o(V), terms(K);
  for (std::int64_t sequence = 0; sequence < c.sequences(); ++sequence) {
    const auto [first, length] = problem.sequence(sequence);
    for (std::int64_t h = 0; h < c.H; ++h) {
      const std::int64_t at = (sequence * c.H + h) * K * V;
      if (!s.state_kept) std::fill(state.begin(), state.end(), 0.0);
      if (!problem.initial_state.empty() && !s.initial_ignored) {
        for (std::int64_t e = 0; e < K * V; ++e) {
          const std::int64_t from = s.initial_transposed ? e % V * K + e / V : e;
          state[e] = problem.initial_state.data[at + from];
        }
      }
      for (std::int64_t n = 0; n < length; ++n) {
        const auto step = [&](std::int64_t of) { return reverse ? length - 1 - of : of; };
        const std::int64_t b = packed ? 0 : sequence, base = packed ? first : 0;
        const auto take = [&](const Operand& operand, const Taken& taken) {
          const std::int64_t other = moved(n, length, taken.step);
          return operand.row(b, other < 0 ? -1 : base + step(other), h, taken);
        };
        const Factors q(take(q_of, s.q), !s.q.crossed, K, V),
            k(take(k_of, s.k), !s.k.crossed, K, V);
        const Factors v(take(v_of, s.v), s.v.crossed, K, V);
        std::vector<double> decay = log_w_of.row(c.decay_per_head ? 0 : b,
                                                 c.decay_per_head ? 0
                                                 : moved(n, length, s.log_w.step) < 0
                                                     ? -1
                                                     : base + step(moved(n, length, s.log_w.step)),
                                                 h, s.log_w);
        std::transform(decay.begin(), decay.end(), decay.begin(), s.factor);
        const Factors w(std::move(decay), !s.log_w.crossed, K, V);
        std::vector<double> bonus_factors(K, 1.0);
        if (!problem.u.empty()) bonus_factors = u_of.row(0, 0, h, s.u);
        for (double& x : bonus_factors)
          x = s.u_power == 1 ? x : std::pow(x, s.u_power);
        const Factors u(std::move(bonus_factors), !s.u.crossed, K, V);

        std::fill(o.begin(), o.end(), 0.0);
        const auto arrives = [&](std::int64_t j) { return !s.arrives || s.arrives(j); };
        const auto read_transposed = [&] {
          for (std::int64_t j = 0; j < K; ++j) {
            for (std::int64_t i = 0; i < V && arrives(j); ++i)
              o[i] += q.rows[j] * state[i * V + j];
          }
        };
        if (s.read_transposed && s.read == Read::kBefore) read_transposed();
        for (std::int64_t j = 0; j < K; ++j) {
          const double* read = &state[(s.read_rows ? j % s.read_rows : j) * V];
          double* row = &state[(s.written_rows ? j % s.written_rows : j) * V];
          const double q_j = s.state_read && !s.read_transposed && arrives(j) ? q.rows[j] : 0.0;
          const double k_j = k.rows[j] * v.rows[j], w_j = w.rows[j];
          const double of_new = s.u_in_state ? u.rows[j] : 1.0;
          const double before = s.read == Read::kBefore, decayed = !before,
                       added = s.read == Read::kUpdated;
          for (std::int64_t i = 0; i < V; ++i) {
            const double factor = w_j * w.columns[i], kv = k_j * k.columns[i] * v.columns[i];
            const double old = factor * row[i], fresh = (s.decays_new ? factor : of_new) * kv;
            o[i] += q_j * (before * read[i] + decayed * old + added * fresh);
            row[i] = old + fresh;
          }
          terms[j] = arrives(j)
                         ? (s.bonus == WkvSwitches::Bonus::kWithoutQ ? 1.0 : q.rows[j]) *
                               u.rows[j] * (s.bonus == WkvSwitches::Bonus::kWithoutK ? 1.0 : k_j)
                         : 0.0;
        }
        if (s.read_transposed && s.read == Read::kUpdated) read_transposed();
        const std::vector<double> bonus = bonus_of(terms, s.bonus, V);
        const std::int64_t to = ((base + b * c.T + step(n)) * c.H + h) * V;
        for (std::int64_t i = 0; i < V; ++i) {
          const double own = bonus[i] * u.columns[i] * k.columns[i] * v.columns[i];
          result.o[to + i] = scale * q.columns[i] * (o[i] + own);
        }
      }
      for (std::int64_t e = 0; e < K * V; ++e)
        result.final_state[at + (s.final_transposed ? e % V * K + e / V : e)] = state[e];
    }
  }
  if (!packed) apply(s.stored, result.o, c.B, c.T, c.H, V, reverse);
  return result;
}

Variants<WkvSwitches> wkv_variants(const WkvCase& c) {
  using S = WkvSwitches;
  using Read = S::Read;
  using Bonus = S::Bonus;
  using Array = S::Array;
  const bool gla = c.recurrence == Recurrence::kGla, square = c.K == c.V;
  Variants<S> list;
  const auto add = [&](const std::string& words, const std::string& line, const auto& change) {
    list.push_back({words, line, change});
  };
  const auto add_read = [&](const std::string& words, const std::string& line, Read read,
                            Bonus bonus) {
    add(words, line, [=](S& s) { s.read = read, s.bonus = bonus; });
  };
  if (gla) {
    add_read("with the state read before the update", "sum += q[ik] * s; before s = ...",
             Read::kBefore, Bonus::kNone);
    add_read("with the state read after the decay, before the step's own key and value are added",
             "s *= w; sum += q[ik] * s; s += kv;", Read::kDecayed, Bonus::kNone);
  } else {
    add("with the bonus forgotten", "sum += q[ik] * s", [](S& s) { s.bonus = Bonus::kNone; });
    add_read("with the decay applied before the read",
             "s *= w; sum += q[ik] * (s + u[ik] * kv); s += kv;", Read::kDecayed, Bonus::kSum);
    add_read("with the state read after the update, and the bonus added all the same",
             "s = w * s + kv; sum += q[ik] * (s + u[ik] * kv);", Read::kUpdated, Bonus::kSum);
    add_read("with the state read after the update", "s = w * s + kv; sum += q[ik] * s;",
             Read::kUpdated, Bonus::kNone);
    add("with the decay applied before the read and the bonus forgotten",
        "s *= w; sum += q[ik] * s; s += kv;",
        [](S& s) { s.read = Read::kDecayed, s.bonus = Bonus::kNone; });
    add("with the bonus alone: the state is not read", "sum += q[ik] * u[ik] * kv",
        [](S& s) { s.state_read = false; });
    add("with u forgotten: the bonus is q k v", "sum += q[ik] * (s + kv)",
        [](S& s) { s.u_power = 0; });
    add("with u applied twice", "u[ik] * u[ik] * kv", [](S& s) { s.u_power = 2; });
    add("with the bonus not multiplied by q", "sum += q[ik] * s + u[ik] * kv",
        [](S& s) { s.bonus = Bonus::kWithoutQ; });
    add("with the bonus not multiplied by k", "sum += q[ik] * (s + u[ik] * v[iv])",
        [](S& s) { s.bonus = Bonus::kWithoutK; });
    add("with the bonus of the first key row alone", "if (ik == 0) sum += q[ik] * u[ik] * kv",
        [](S& s) { s.bonus = Bonus::kFirstRow; });
    add("with the sum over the lanes in lane 0 only: every other lane has a part of the bonus",
        "__shfl_down_sync for __shfl_xor_sync", [](S& s) { s.bonus = Bonus::kSumInLane0; });
    add("with u multiplied into the state as well", "kv = u[ik] * k[ik] * v[iv]; s = w * s + kv;",
        [](S& s) { s.u_in_state = true; });
  }
  const auto add_factor = [&](const std::string& words, const std::string& line,
                              double (*factor)(double)) {
    add(words, line, [=](S& s) { s.factor = factor; });
  };
  add_factor("with log_w itself as the decay factor", "s = log_w[ik] * s + kv",
             [](double x) { return x; });
  add_factor("with 2 to the power of log_w as the decay factor: exp2 for exp", "exp2f(log_w[ik])",
             [](double x) { return std::exp2(x); });
  add_factor("with exp(-log_w) as the decay factor: the sign is wrong", "expf(-log_w[ik])",
             [](double x) { return std::exp(-x); });
  add_factor("with exp(-exp(log_w)) as the decay factor: log_w is no raw decay",
             "expf(-expf(log_w[ik]))", [](double x) { return std::exp(-std::exp(x)); });
  add_factor("with 1 + log_w as the decay factor", "s = (1.0f + log_w[ik]) * s + kv",
             [](double x) { return 1 + x; });
  add_factor("with the logarithm of log_w, which is not a number, as the decay factor",
             "logf(log_w[ik])", [](double x) { return std::log(x); });
  add_factor("with the decay forgotten", "s += kv", [](double) { return 1.0; });
  add_factor("with the decay applied twice", "w * w * s", [](double x) { return std::exp(2 * x); });
  add_factor("with 1 - exp(log_w) as the decay factor", "(1.0f - expf(log_w[ik])) * s",
             [](double x) { return 1 - std::exp(x); });
  add_factor("with the state overwritten, not added to", "s = kv", [](double) { return 0.0; });
  add("with the decay applied to the step's own key and value too", "s = w * (s + kv)",
      [](S& s) { s.decays_new = true; });
  const auto add_arrays = [&](const std::string& words, const std::string& line, Array q, Array k,
                              Array v) {
    add(words, line, [=](S& s) { s.q_from = q, s.k_from = k, s.v_from = v; });
  };
  add_arrays("with q and k swapped", "q = args.k + ..., k = args.q + ...", Array::kK, Array::kQ,
             Array::kV);
  add_arrays("with k in the place of q", "q = args.k + ...", Array::kK, Array::kK, Array::kV);
  add_arrays("with q in the place of k", "k = args.q + ...", Array::kQ, Array::kQ, Array::kV);
  if (square) {
    add_arrays("with k and v swapped", "k = args.v + ..., v = args.k + ...", Array::kQ, Array::kV,
               Array::kK);
    add_arrays("with q and v swapped", "q = args.v + ..., v = args.q + ...", Array::kV, Array::kK,
               Array::kQ);
    add_arrays("with v in the place of k", "k = args.v + ...", Array::kQ, Array::kV, Array::kV);
    add_arrays("with k in the place of v", "v = args.k + ...", Array::kQ, Array::kK, Array::kK);
    add_arrays("with v in the place of q", "q = args.v + ...", Array::kV, Array::kK, Array::kV);
    add_arrays("with q in the place of v", "v = args.q + ...", Array::kQ, Array::kK, Array::kQ);
    add("with the state read transposed", "state[iv * V + ik] for state[ik * V + iv]",
        [](S& s) { s.read_transposed = true; });
    for (const auto& [name, lanes, taken] : {std::tuple{"q", "[iv] for [ik]", &S::q},
                                             {"k", "[iv] for [ik]", &S::k},
                                             {"log_w", "[iv] for [ik]", &S::log_w},
                                             {"v", "[ik] for [iv]", &S::v},
                                             {"u", "[iv] for [ik]", &S::u}}) {
      if (gla && taken == &S::u) continue;
      const bool of_columns = taken == &S::v;
      add(std::string("with ") + name + " of the " +
              (of_columns ? "key row, not of the value column"
                          : "value column, not of the key row"),
          name + std::string(lanes), [taken = taken](S& s) { (s.*taken).crossed = true; });
    }
  }
  add("with the scale forgotten", "*o = sum", [](S& s) { s.scale = [](double) { return 1.0; }; });
  add("with the scale applied twice", "args.scale * args.scale * sum",
      [](S& s) { s.scale = [](double x) { return x * x; }; });
  add("divided by the scale", "sum / args.scale",
      [](S& s) { s.scale = [](double x) { return 1 / x; }; });
  add("with the sign turned",
      "sum -= for sum +=", [](S& s) { s.scale = [](double x) { return -x; }; });
  for (const Rows& rows : partial_rows(c.K))
    add(rows.words, rows.line, [arrives = rows.arrives](S& s) { s.arrives = arrives; });
  add("with the first four rows of the state in the place of all", "state[i] for state[ik + i]",
      [](S& s) { s.read_rows = s.written_rows = 4; });
  if (!gla) {
    add("with the first four rows of the state read in the place of all",
        "state[i] for state[ik + i] where it is read", [](S& s) { s.read_rows = 4; });
    add("with the first four rows of the state updated in the place of all",
        "state[i] for state[ik + i] where it is updated", [](S& s) { s.written_rows = 4; });
  }
  add("with the state of one head running into the next",
      "float state[K] = {}; before the loop over the heads", [](S& s) { s.state_kept = true; });
  add("with time running the other way", "t = T - 1 - step for t = step",
      [](S& s) { s.time_turned = true; });
  for (const auto& [name, lane, taken] : {std::tuple{"q", "ik", &S::q},
                                          {"k", "ik", &S::k},
                                          {"v", "iv", &S::v},
                                          {"log_w", "ik", &S::log_w},
                                          {"u", "ik", &S::u}}) {
    if (gla && taken == &S::u) continue;
    for (const TakenChange& one : taken_changes(name, lane))
      add(one.words, one.line, [=, taken = taken](S& s) { one.change(s.*taken); });
  }
  const auto of_all = [](S& s, const auto& change) {
    for (Taken* taken : {&s.q, &s.k, &s.v, &s.log_w, &s.u})
      change(*taken);
  };
  add("of head 0 in every head", "q, k, v, log_w and u without h",
      [=](S& s) { of_all(s, [](Taken& t) { t.head = Taken::Of::kFirst; }); });
  add("of batch 0 in every batch", "q, k, v and log_w without b",
      [=](S& s) { of_all(s, [](Taken& t) { t.batch = Taken::Of::kFirst; }); });
  add("of the first step in every step", "q, k, v and log_w without t",
      [=](S& s) { of_all(s, [](Taken& t) { t.step = Taken::Of::kFirst; }); });
  add_stored(list);
  if (c.initial_state) {
    add("with the initial state ignored", "state = 0", [](S& s) { s.initial_ignored = true; });
    add("with the initial state read transposed", "initial_state[iv * K + ik]",
        [](S& s) { s.initial_transposed = true; });
  }
  if (c.final_state) {
    add("with the final state written transposed", "final_state[iv * K + ik] = state[ik]",
        [](S& s) { s.final_transposed = true; });
  }
  return list;
}

}  // namespace ladder::reference
