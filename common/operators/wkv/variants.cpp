#include "common/operators/wkv/variants.hpp"

#include <algorithm>
#include <numeric>

namespace ladder::reference {
namespace {

// What each key row adds to the bonus, summed for each column: by a loop, or by warps of 32 lanes.
std::vector<double> bonus_of(const std::vector<double>& terms, WkvSwitches::Bonus bonus,
                             std::int64_t V) {
  using Bonus = WkvSwitches::Bonus;
  constexpr std::int64_t kLanes = 32;
  const auto all = [&](double value) { return std::vector<double>(V, value); };
  switch (bonus) {
    case Bonus::kNone: return all(0.0);
    case Bonus::kFirstRow: return all(terms.front());
    case Bonus::kLastRow: return all(terms.back());
    case Bonus::kSum:
    case Bonus::kWithoutQ:
    case Bonus::kWithoutK:
    case Bonus::kWithoutV: return all(std::accumulate(terms.begin(), terms.end(), 0.0));
    default: break;
  }
  const std::int64_t most = bonus == Bonus::kHalfWarp ? kLanes / 4 : kLanes / 2;
  const std::int64_t least = bonus == Bonus::kEverySecondLane ? 2 : 1;
  std::vector<double> sum(V, 0.0);
  for (std::size_t first = 0; first < terms.size(); first += kLanes) {
    std::vector<double> lanes(kLanes, 0.0);
    std::copy(terms.begin() + first, std::min(terms.begin() + first + kLanes, terms.end()),
              lanes.begin());
    for (std::int64_t distance = most; distance >= least && bonus != Bonus::kOwnLane;
         distance /= 2) {
      const std::vector<double> before = lanes;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t down = lane + distance < kLanes ? lane + distance : lane;
        const double other = before[bonus == Bonus::kSumInLane0 ? down : lane ^ distance];
        lanes[lane] = (bonus == Bonus::kMirroredLane ? 0 : lanes[lane]) + other;
      }
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

// The walk of one head after the other through its steps.
class Walk {
 public:
  Walk(const WkvProblem& problem, const WkvSwitches& switches)
      : problem_(problem),
        s_(switches),
        c_(problem.wkv_case),
        q_(operand(s_.q_from)),
        k_(operand(s_.k_from)),
        v_(operand(s_.v_from)),
        log_w_{problem.log_w.pointer(), c_.decay_per_head ? 1 : c_.B, c_.decay_per_head ? 1 : c_.T,
               c_.H, c_.K},
        u_{problem.u.pointer(), 1, 1, c_.H, c_.K},
        reverse_(c_.reverse != s_.time_turned),
        state_(c_.K * c_.V, 0.0),
        o_(c_.V),
        bonus_(c_.K) {}

  // Its rows of the result; else those of its first steps.
  void visit(std::int64_t sequence, std::int64_t h, bool all, WkvResult& result) {
    const auto [first, length] = problem_.sequence(sequence);
    const std::int64_t size = c_.K * c_.V, at = (sequence * c_.H + h) * size;
    const auto turned = [&](std::int64_t e) { return e % c_.V * c_.K + e / c_.V; };
    const bool kept = s_.state_kept == Kept::kAlways || (s_.state_kept == Kept::kInBatch && h > 0);
    if (!kept) std::fill(state_.begin(), state_.end(), 0.0);
    for (std::int64_t e = 0; e < size && !problem_.initial_state.empty() && !s_.initial_ignored;
         ++e)
      state_[e] = problem_.initial_state.data[at + (s_.initial_transposed ? turned(e) : e)];
    for (std::int64_t n = 0; n < (all ? length : std::min(length, kQuickSteps)); ++n) {
      step({first, length, n, h});
      const std::int64_t row = (first + time(n, length)) * c_.H + h;
      std::copy(o_.begin(), o_.end(), result.o.begin() + row * c_.V);
    }
    for (std::int64_t e = 0; e < size; ++e)
      result.final_state[at + (s_.final_transposed ? turned(e) : e)] = state_[e];
  }

 private:
  using Kept = WkvSwitches::Kept;

  struct Step {
    std::int64_t first, length, n, h;  // the n-th in time of the steps first .. first + length - 1
  };

  Operand operand(WkvSwitches::Array which) const {
    using Array = WkvSwitches::Array;
    const Tensor<float>& tensor = which == Array::kQ   ? problem_.q
                                  : which == Array::kK ? problem_.k
                                                       : problem_.v;
    return {tensor.pointer(), c_.B, c_.T, c_.H, which == Array::kV ? c_.V : c_.K};
  }
  std::int64_t time(std::int64_t n, std::int64_t length) const {
    return reverse_ ? length - 1 - n : n;
  }

  std::vector<double> take(const Operand& from, const Taken& taken, const Step& step) const {
    if (from.B * from.T == 1) return from.row(0, 0, step.h, taken);  // the same in each step
    const std::int64_t n = moved(step.n, step.length, taken.step);
    if (n < 0) return std::vector<double>(from.width, 0.0);
    const std::int64_t token = step.first + (taken.mirrored ? n : time(n, step.length));
    return from.row(token / c_.T, token % c_.T, step.h, taken);
  }

  void read_transposed(const Factors& q) {
    for (std::int64_t j = 0; j < c_.K; ++j) {
      for (std::int64_t i = 0; i < c_.V && arrives(j); ++i)
        o_[i] += q.rows[j] * state_[i * c_.V + j];
    }
  }
  bool arrives(std::int64_t j) const { return !s_.arrives || s_.arrives(j); }

  void step(const Step& at) {
    using Read = WkvSwitches::Read;
    using Bonus = WkvSwitches::Bonus;
    const std::int64_t K = c_.K, V = c_.V;
    const Factors q(s_.q_read ? take(q_, s_.q, at) : std::vector<double>(K, 1.0), !s_.q.crossed, K,
                    V);
    const Factors k(take(k_, s_.k, at), !s_.k.crossed, K, V);
    const Factors v(take(v_, s_.v, at), s_.v.crossed, K, V);
    std::vector<double> decays = take(log_w_, s_.log_w, at), of_u(K, 1.0);
    if (u_.data != nullptr) {
      of_u = u_.row(0, 0, at.h, s_.u);
      std::transform(of_u.begin(), of_u.end(), decays.begin(), of_u.begin(), s_.of_u);
    }
    std::transform(decays.begin(), decays.end(), decays.begin(), s_.factor);
    if (s_.u_for_decay) decays = of_u;
    const Factors w(std::move(decays), !s_.log_w.crossed, K, V);
    const Factors u(std::move(of_u), !s_.u.crossed, K, V);
    const Factors v_of_bonus(s_.bonus_exact ? take(v_, {}, at) : take(v_, s_.v, at), s_.v.crossed,
                             K, V);

    std::fill(o_.begin(), o_.end(), 0.0);
    std::vector<double> other_bonus(V, 0.0);
    if (s_.read_transposed && s_.read == Read::kBefore) read_transposed(q);
    const bool reads_before = s_.read == Read::kBefore, reads_new = s_.read == Read::kUpdated;
    const auto row_of = [&](std::int64_t j, std::int64_t rows) {
      return &state_[(rows ? j % rows : j) * V];
    };
    for (std::int64_t j = 0; j < K; ++j) {
      const double *read = row_of(j, s_.read_rows), *from = row_of(j, s_.source_rows);
      double* row = row_of(j, s_.written_rows);
      const double reads = s_.state_read && !s_.read_transposed && arrives(j) ? q.rows[j] : 0.0;
      const double of_k = k.rows[j] * v.rows[j], of_w = w.rows[j];
      const double of_new =
          (s_.u_in_state ? u.rows[j] : 1.0) * (s_.scale_in_state ? c_.scale : 1.0);
      for (std::int64_t i = 0; i < V; ++i) {
        const double factor = of_w * w.columns[i];
        const double kv =
            s_.kv ? s_.kv(k.rows[j], v.columns[i]) : of_k * k.columns[i] * v.columns[i];
        const double old = factor * from[i];
        const double fresh = s_.state_sign * (s_.decays_new ? factor : of_new) * kv;
        other_bonus[i] += u.rows[j] * q.rows[j] * kv;
        o_[i] += reads * (reads_before ? read[i] : reads_new ? old + fresh : old);
        row[i] = old + fresh;
      }
      bonus_[j] = u.rows[j] * (s_.bonus == Bonus::kWithoutQ ? 1.0 : q.rows[j]) *
                  (s_.bonus == Bonus::kWithoutK ? 1.0 : of_k) * (arrives(j) ? 1.0 : 0.0);
    }
    if (s_.read_transposed && s_.read == Read::kUpdated) read_transposed(q);
    const std::vector<double> bonus = bonus_of(bonus_, s_.bonus, V);
    for (std::int64_t i = 0; i < V; ++i) {
      const double own =
          s_.bonus_sign * (s_.kv && s_.bonus != Bonus::kNone
                               ? other_bonus[i]
                               : bonus[i] * u.columns[i] * k.columns[i] *
                                     (s_.bonus == Bonus::kWithoutV ? 1.0 : v_of_bonus.columns[i]));
      const double scale = s_.scale(c_.scale);
      o_[i] = q.columns[i] *
              ((s_.scale_of_state ? scale : 1.0) * o_[i] + (s_.scale_of_bonus ? scale : 1.0) * own);
    }
  }

  const WkvProblem& problem_;
  const WkvSwitches& s_;
  const WkvCase& c_;
  Operand q_, k_, v_, log_w_, u_;
  bool reverse_;
  std::vector<double> state_, o_, bonus_;  // bonus_: of each key row
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

WkvResult wkv_loop(const WkvProblem& problem, const WkvSwitches& s, Look look) {
  const WkvCase& c = problem.wkv_case;
  WkvResult result;
  result.o.resize(c.B * c.T * c.H * c.V);
  result.final_state.resize(c.sequences() * c.H * c.K * c.V);
  Walk walk(problem, s);
  const bool all = look == Look::kThorough || s.state_kept != WkvSwitches::Kept::kNever ||
                   s.time_turned || c.reverse || needs_all(s.stored);
  for (std::int64_t sequence = all ? 0 : c.sequences() - 1; sequence < c.sequences(); ++sequence) {
    for (std::int64_t h = all ? 0 : c.H - 1; h < c.H; ++h)
      walk.visit(sequence, h, all, result);
  }
  if (c.lengths.empty()) apply(s.stored, result.o, c.B, c.T, c.H, c.V, c.reverse != s.time_turned);
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
        [](S& s) { s.of_u = [](double, double) { return 1.0; }; });
    const auto add_u = [&](const char* words, const char* line, double (*of_u)(double, double)) {
      add(words, line, [=](S& s) { s.of_u = of_u; });
    };
    add_u("with u applied twice", "u[ik] * u[ik] * kv", [](double u, double) { return u * u; });
    add_u("with exp(u) in the place of u: u is no logarithm", "expf(u[ik]) * kv",
          [](double u, double) { return std::exp(u); });
    add_u("with the decay factor in the place of u", "expf(log_w[ik]) * kv in the bonus",
          [](double, double log_w) { return std::exp(log_w); });
    add_u("with log_w in the place of u", "log_w[ik] * kv in the bonus",
          [](double, double log_w) { return log_w; });
    add_u("with the bonus decayed", "u[ik] * expf(log_w[ik]) * kv",
          [](double u, double log_w) { return u * std::exp(log_w); });
    add_u("with 1 + u in the place of u: the step's own key and value count once more",
          "s + kv + u[ik] * kv", [](double u, double) { return 1 + u; });
    add("with u in the place of the decay factor", "s = u[ik] * s + kv",
        [](S& s) { s.u_for_decay = true; });
    add("with the bonus subtracted", "sum += q[ik] * (s - u[ik] * kv)",
        [](S& s) { s.bonus_sign = -1; });
    add("with the bonus not multiplied by q", "sum += q[ik] * s + u[ik] * kv",
        [](S& s) { s.bonus = Bonus::kWithoutQ; });
    add("with the bonus not multiplied by k", "sum += q[ik] * (s + u[ik] * v[iv])",
        [](S& s) { s.bonus = Bonus::kWithoutK; });
    add("with the bonus not multiplied by v", "sum += q[ik] * (s + u[ik] * k[ik])",
        [](S& s) { s.bonus = Bonus::kWithoutV; });
    add("with the bonus of the first key row alone", "if (ik == 0) sum += q[ik] * u[ik] * kv",
        [](S& s) { s.bonus = Bonus::kFirstRow; });
    add("with the bonus of the last key row alone", "bonus = term for bonus += term",
        [](S& s) { s.bonus = Bonus::kLastRow; });
    add("with what the shuffles return in the place of the sum: it is not added",
        "bonus = __shfl_xor_sync for bonus +=", [](S& s) { s.bonus = Bonus::kMirroredLane; });
    add("with the sum over the lanes in lane 0 only: every other lane has a part of the bonus",
        "__shfl_down_sync for __shfl_xor_sync", [](S& s) { s.bonus = Bonus::kSumInLane0; });
    add("with each lane's own part of the bonus: the sum over the lanes is missing",
        "no __shfl_xor_sync", [](S& s) { s.bonus = Bonus::kOwnLane; });
    add("with the bonus of half a warp: the sum over the lanes begins too late",
        "distance = 8 for distance = 16", [](S& s) { s.bonus = Bonus::kHalfWarp; });
    add("with the bonus of every second lane: the sum over the lanes ends too early",
        "distance > 1 for distance > 0", [](S& s) { s.bonus = Bonus::kEverySecondLane; });
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
  add_factor("with the decay forgotten", "s += kv", [](double) { return 1.0; });
  add_factor("with the state added to the decayed one: += for =", "s += w * s + kv",
             [](double x) { return 1 + std::exp(x); });
  add_factor("with the decay applied twice", "w * w * s", [](double x) { return std::exp(2 * x); });
  add_factor("with 1 - exp(log_w) as the decay factor", "(1.0f - expf(log_w[ik])) * s",
             [](double x) { return 1 - std::exp(x); });
  add_factor("with the state overwritten, not added to", "s = kv", [](double) { return 0.0; });
  add("with the decay applied to the step's own key and value too", "s = w * (s + kv)",
      [](S& s) { s.decays_new = true; });
  add(gla ? "with kv subtracted, not added, which is the same as with the sign turned"
          : "with kv subtracted from the state, not added",
      "s = w * s - kv", [](S& s) { s.state_sign = -1; });
  const auto add_kv = [&](const char* words, const char* line, double (*kv)(double, double)) {
    add(words, line, [=](S& s) { s.kv = kv; });
  };
  add_kv("with k + v in the place of k v", "kv = k[ik] + v",
         [](double k, double v) { return k + v; });
  add_kv("with k in the place of k v: v is forgotten", "kv = k[ik]",
         [](double k, double) { return k; });
  add_kv("with v in the place of k v: k is forgotten", "kv = v",
         [](double, double v) { return v; });
  add_kv("with k v cut to whole numbers", "int kv = k[ik] * v",
         [](double k, double v) { return std::trunc(k * v); });
  add("with q forgotten", "sum += s", [](S& s) { s.q_read = false; });
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
  if (!gla) {
    add("with the scale on the state's part alone, not on the bonus",
        "q[ik] * (args.scale * s + u[ik] * kv)", [](S& s) { s.scale_of_bonus = false; });
    add("with the scale on the bonus alone, not on the state's part",
        "q[ik] * (s + args.scale * u[ik] * kv)", [](S& s) { s.scale_of_state = false; });
  }
  add(gla ? "with the scale applied twice, or to the state as well"
          : "with the scale applied twice",
      "args.scale * args.scale * sum", [](S& s) { s.scale = [](double x) { return x * x; }; });
  add("divided by the scale", "sum / args.scale",
      [](S& s) { s.scale = [](double x) { return 1 / x; }; });
  if (!gla) {
    add("with the sign turned",
        "sum -= for sum +=", [](S& s) { s.scale = [](double x) { return -x; }; });
  }
  for (const Rows& rows : partial_rows(c.K))
    add(rows.words, rows.line, [arrives = rows.arrives](S& s) { s.arrives = arrives; });
  add("with the first four rows of the state in the place of all", "state[i] for state[ik + i]",
      [](S& s) { s.read_rows = s.source_rows = s.written_rows = 4; });
  if (!gla) {
    add("with the first four rows of the state read in the place of all",
        "state[i] for state[ik + i] where it is read", [](S& s) { s.read_rows = 4; });
    add("with the first four rows of the state updated in the place of all",
        "state[i] for state[ik + i] where it is updated",
        [](S& s) { s.source_rows = s.written_rows = 4; });
    add("with the first four rows of the state decayed in the place of all",
        "state[ik + i] = w * state[i] + kv", [](S& s) { s.source_rows = 4; });
    add("with the first four rows of the state written in the place of all",
        "state[i] = w * state[ik + i] + kv", [](S& s) { s.written_rows = 4; });
  }
  add("with the state of one head running into the next",
      "float state[K] = {}; before the loops over the batches and the heads",
      [](S& s) { s.state_kept = S::Kept::kAlways; });
  add("with the state of one head running into the next of its batch",
      "float state[K] = {}; before the loop over the heads",
      [](S& s) { s.state_kept = S::Kept::kInBatch; });
  if (!gla) {
    add("with the scale applied to the state as well", "s = w * s + args.scale * kv",
        [](S& s) { s.scale_in_state = true; });
  }
  add("with time running the other way", "t = T - 1 - step for t = step",
      [](S& s) { s.time_turned = true; });
  for (const auto& [name, lane, taken] : {std::tuple{"q", "ik", &S::q},
                                          {"k", "ik", &S::k},
                                          {"v", "iv", &S::v},
                                          {"log_w", "ik", &S::log_w},
                                          {"u", "ik", &S::u}}) {
    if (gla && taken == &S::u) continue;
    std::vector<TakenChange> changes = taken_changes(name, lane);
    const bool of_columns = taken == &S::v;
    if (!square)
      changes.push_back(pitch_change(name, of_columns ? "K" : "V", of_columns ? c.K : c.V));
    if (c.reverse && taken != &S::u) {
      changes.push_back({std::string("with ") + name + " of the other end: its step is not turned",
                         std::string("args.") + name + " at step, not at T - 1 - step",
                         [](Taken& t) { t.mirrored = true; }});
    }
    for (const TakenChange& one : changes)
      add(one.words, one.line, [=, taken = taken](S& s) { one.change(s.*taken); });
  }
  for (const int width : {4, 8, 16}) {
    if (gla) break;  // there is no bonus that might be right
    const std::string w = std::to_string(width);
    add("with vectors of " + w + " v that begin one element behind each other, in the state alone",
        "load(v + c) for load(v + c * " + w + ") where the state is updated", [=](S& s) {
          s.v.overlap = width;
          s.bonus_exact = true;
        });
  }
  const auto of_all = [](S& s, const auto& change) {
    for (Taken* taken : {&s.q, &s.k, &s.v, &s.log_w, &s.u})
      change(*taken);
  };
  add("with q, k, v and o in the order (B, H, T, channels)", "(b * H + h) * T + t", [](S& s) {
    s.q.heads_first = s.k.heads_first = s.v.heads_first = true;
    s.stored = Stored::kHeadsFirst;
  });
  const auto of_rows = [](S& s, const auto& change) {
    for (Taken* taken : {&s.q, &s.k, &s.log_w})
      change(*taken);
  };
  const auto of_token_0 = [](Taken& t) { t.batch = t.step = Taken::Of::kFirst; };
  add("with q, k and log_w of the first step of batch 0 in every step",
      "args.q + h * K: neither b nor t", [=](S& s) { of_rows(s, of_token_0); });
  add("with q, k, v and log_w of the first step of batch 0 in every step",
      "args.q + h * K, args.v + h * V, ...: neither b nor t", [=](S& s) { of_all(s, of_token_0); });
  add("with q, k and log_w of the first row of all: no pointer is moved",
      "args.q[ik], args.k[ik] and args.log_w[ik]", [=](S& s) {
        of_rows(s, [=](Taken& t) {
          of_token_0(t);
          t.head = Taken::Of::kFirst;
        });
      });
  add("with q, k, log_w and u of head 0 in every head", "args.q without h * K, ...", [=](S& s) {
    of_rows(s, [](Taken& t) { t.head = Taken::Of::kFirst; });
    s.u.head = Taken::Of::kFirst;
  });
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
