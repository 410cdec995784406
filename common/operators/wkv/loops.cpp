#include <algorithm>
#include <numeric>

#include "common/core/threads.hpp"
#include "common/operators/wkv/backwards.hpp"
#include "common/operators/wkv/mistakes.hpp"

namespace ladder {
namespace {

// What each key row adds to the bonus, summed for each column: by a loop, or by warps of 32 lanes.
template <typename Number>
std::vector<Number> bonus_of(const std::vector<Number>& terms, WkvSwitches::Bonus bonus,
                             std::int64_t V) {
  using Bonus = WkvSwitches::Bonus;
  constexpr std::int64_t kLanes = 32;
  const auto all = [&](Number value) { return std::vector<Number>(V, value); };
  switch (bonus) {
    case Bonus::kNone: return all(0);
    case Bonus::kFirstRow: return all(terms.front());
    case Bonus::kLastRow: return all(terms.back());
    case Bonus::kSum:
    case Bonus::kWithoutQ:
    case Bonus::kWithoutK:
    case Bonus::kWithoutV: return all(std::accumulate(terms.begin(), terms.end(), Number{0}));
    default: break;
  }
  const std::int64_t most = bonus == Bonus::kHalfWarp ? kLanes / 4 : kLanes / 2;
  const std::int64_t least = bonus == Bonus::kEverySecondLane ? 2 : 1;
  std::vector<Number> sum(V);
  for (std::size_t first = 0; first < terms.size(); first += kLanes) {
    std::vector<Number> lanes(kLanes);
    std::copy(terms.begin() + first, std::min(terms.begin() + first + kLanes, terms.end()),
              lanes.begin());
    for (std::int64_t distance = most; distance >= least && bonus != Bonus::kOwnLane;
         distance /= 2) {
      const std::vector<Number> before = lanes;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t down = lane + distance < kLanes ? lane + distance : lane;
        const Number other = before[bonus == Bonus::kSumInLane0 ? down : lane ^ distance];
        lanes[lane] = (bonus == Bonus::kMirroredLane ? 0 : lanes[lane]) + other;
      }
    }
    for (std::int64_t i = 0; i < V; ++i)
      sum[i] += lanes[i % kLanes];
  }
  return sum;
}

// One operand of one step: a factor for each key row and one for each value column, of which one is 1.
template <typename Number>
struct Factors {
  std::vector<Number> rows, columns;

  Factors(const std::vector<double>& values, bool of_rows, std::int64_t K, std::int64_t V)
      : rows(K, 1), columns(V, 1) {
    (of_rows ? rows : columns).assign(values.begin(), values.end());
  }
};

// The walk of one head after the other through its steps.
template <typename Number>
class Walk {
 public:
  Walk(const WkvArgs& args, const WkvSwitches& switches)
      : a_(args),
        s_(switches),
        q_(operand(s_.q_from)),
        k_(operand(s_.k_from)),
        v_(operand(s_.v_from)),
        log_w_{a_.log_w, per_head() ? 1 : a_.B, per_head() ? 1 : a_.T, a_.H, a_.K},
        u_{a_.u, 1, 1, a_.H, a_.K},
        reverse_(a_.reverse != s_.time_turned),
        state_(a_.K * a_.V),
        o_(a_.V),
        read_(a_.V),
        decayed_(a_.V),
        kv_(a_.V),
        bonus_(a_.K) {}

  // Its rows of the result; else those of its first steps.
  void visit(std::int64_t n_sequence, std::int64_t h, bool all, BasicWkvOutputs<Number>& result) {
    const auto [first, length] = sequence(a_, n_sequence);
    const std::int64_t size = a_.K * a_.V, at = (n_sequence * a_.H + h) * size;
    const auto turned = [&](std::int64_t e) { return e % a_.V * a_.K + e / a_.V; };
    const bool kept = s_.state_kept == Kept::kAlways || (s_.state_kept == Kept::kInBatch && h > 0);
    if (!kept) std::fill(state_.begin(), state_.end(), Number{0});
    const bool initial = a_.initial_state != nullptr && !s_.initial_ignored;
    for (std::int64_t e = 0; e < size && initial; ++e)
      state_[e] = a_.initial_state[at + (s_.initial_transposed ? turned(e) : e)];
    for (std::int64_t n = 0; n < (all ? length : std::min(length, kQuickSteps)); ++n) {
      step({first, length, n, h});
      const std::int64_t row = (first + time(n, length)) * a_.H + h;
      std::copy(o_.begin(), o_.end(), result.o.begin() + row * a_.V);
    }
    for (std::int64_t e = 0; e < size; ++e)
      result.final_state[at + (s_.final_transposed ? turned(e) : e)] = state_[e];
  }

 private:
  using Kept = WkvSwitches::Kept;

  struct Step {
    std::int64_t first, length, n, h;  // the n-th in time of the steps first .. first + length - 1
  };

  bool per_head() const { return a_.log_w_stride_T == 0; }
  Operand operand(WkvSwitches::Array which) const {
    using Array = WkvSwitches::Array;
    const float* data = which == Array::kQ ? a_.q : which == Array::kK ? a_.k : a_.v;
    return {data, a_.B, a_.T, a_.H, which == Array::kV ? a_.V : a_.K};
  }
  std::int64_t time(std::int64_t n, std::int64_t length) const {
    return reverse_ ? length - 1 - n : n;
  }

  std::vector<double> take(const Operand& from, const Taken& taken, const Step& step) const {
    if (from.B * from.T == 1) return from.row(0, 0, step.h, taken);  // the same in each step
    const std::int64_t n = moved(step.n, step.length, taken.step);
    if (n < 0) return std::vector<double>(from.width, 0.0);
    const std::int64_t token = step.first + (taken.mirrored ? n : time(n, step.length));
    return from.row(token / a_.T, token % a_.T, step.h, taken);
  }

  void read_transposed(const Factors<Number>& q) {
    for (std::int64_t j = 0; j < a_.K; ++j) {
      for (std::int64_t i = 0; i < a_.V && arrives(j); ++i)
        o_[i] += q.rows[j] * state_[i * a_.V + j];
    }
  }
  bool arrives(std::int64_t j) const { return !s_.arrives || s_.arrives(j); }

  void step(const Step& at) {
    using Read = WkvSwitches::Read;
    using Bonus = WkvSwitches::Bonus;
    const std::int64_t K = a_.K, V = a_.V;
    const auto factors = [=](const std::vector<double>& values, bool of_rows) {
      return Factors<Number>(values, of_rows, K, V);
    };
    const auto q =
        factors(s_.q_read ? take(q_, s_.q, at) : std::vector<double>(K, 1.0), !s_.q.crossed);
    const auto k = factors(take(k_, s_.k, at), !s_.k.crossed);
    const auto v = factors(take(v_, s_.v, at), s_.v.crossed);
    std::vector<double> decays = take(log_w_, s_.log_w, at), of_u(K, 1.0);
    if (u_.data != nullptr) {
      of_u = u_.row(0, 0, at.h, s_.u);
      std::transform(of_u.begin(), of_u.end(), decays.begin(), of_u.begin(), s_.of_u);
    }
    std::transform(decays.begin(), decays.end(), decays.begin(), s_.factor);
    const auto w = factors(s_.u_for_decay ? of_u : decays, !s_.log_w.crossed);
    const auto u = factors(of_u, !s_.u.crossed);
    const auto v_of_bonus = s_.bonus_exact ? factors(take(v_, {}, at), s_.v.crossed) : v;

    std::fill(o_.begin(), o_.end(), Number{0});
    std::vector<Number> other_bonus(V);
    if (s_.read_transposed && s_.read == Read::kBefore) read_transposed(q);
    const Number of_state = s_.state_read && !s_.read_transposed ? 1 : 0;
    const auto sign = static_cast<Number>(s_.state_sign);
    const auto row_of = [&](std::int64_t j, std::int64_t rows) {
      return &state_[(rows ? j % rows : j) * V];
    };
    for (std::int64_t j = 0; j < K; ++j) {
      std::copy_n(row_of(j, s_.read_rows), V, read_.begin());
      std::copy_n(row_of(j, s_.source_rows), V, decayed_.begin());
      Number* row = row_of(j, s_.written_rows);
      const Number of_k = k.rows[j] * v.rows[j], of_w = w.rows[j];
      const Number of_new = (s_.u_in_state ? u.rows[j] : 1) * (s_.scale_in_state ? a_.scale : 1);
      for (std::int64_t i = 0; i < V; ++i)
        kv_[i] = of_k * k.columns[i] * v.columns[i];
      for (std::int64_t i = 0; i < V && s_.kv; ++i) {
        kv_[i] = static_cast<Number>(s_.kv(k.rows[j], v.columns[i]));
        other_bonus[i] += u.rows[j] * q.rows[j] * kv_[i];
      }
      for (std::int64_t i = 0; i < V; ++i) {
        const Number factor = of_w * w.columns[i];
        decayed_[i] *= factor;
        row[i] = decayed_[i] + sign * (s_.decays_new ? factor : of_new) * kv_[i];
      }
      if (s_.bf16_state) std::transform(row, row + V, row, rounded);
      if (s_.read == Read::kUpdated) std::copy_n(row, V, read_.begin());
      if (s_.read == Read::kDecayed) read_ = decayed_;
      if (s_.bf16_operands) std::transform(read_.begin(), read_.end(), read_.begin(), rounded);
      const Number reads = arrives(j) ? of_state * q.rows[j] : 0;
      for (std::int64_t i = 0; i < V; ++i)
        o_[i] += reads * read_[i];
      bonus_[j] = u.rows[j] * (s_.bonus == Bonus::kWithoutQ ? 1 : q.rows[j]) *
                  (s_.bonus == Bonus::kWithoutK ? 1 : of_k) * (arrives(j) ? 1 : 0);
    }
    if (s_.read_transposed && s_.read == Read::kUpdated) read_transposed(q);
    const std::vector<Number> bonus = bonus_of(bonus_, s_.bonus, V);
    const auto scale = static_cast<Number>(s_.scale(a_.scale)),
               bonus_sign = static_cast<Number>(s_.bonus_sign);
    for (std::int64_t i = 0; i < V; ++i) {
      const Number own =
          bonus_sign * (s_.kv && s_.bonus != Bonus::kNone
                            ? other_bonus[i]
                            : bonus[i] * u.columns[i] * k.columns[i] *
                                  (s_.bonus == Bonus::kWithoutV ? 1 : v_of_bonus.columns[i]));
      o_[i] = q.columns[i] *
              ((s_.scale_of_state ? scale : 1) * o_[i] + (s_.scale_of_bonus ? scale : 1) * own);
    }
  }

  static Number rounded(Number x) { return static_cast<Number>(bf16(x)); }

  const WkvArgs& a_;
  const WkvSwitches& s_;
  Operand q_, k_, v_, log_w_, u_;
  bool reverse_;
  std::vector<Number> state_, o_;
  std::vector<Number> read_, decayed_, kv_;  // of one key row
  std::vector<Number> bonus_;                // of each
};

using GradSwitches = WkvGradSwitches;

// One head after the other: its states from the first step to the last, then the adjoint back.
template <typename Number>
class GradientWalk {
 public:
  GradientWalk(const WkvGradArgs& args, const GradSwitches& switches,
               BasicWkvGradients<Number>& result)
      : args_(args), a_(args.forward), s_(switches), result_(result) {}

  void visit(std::int64_t n_sequence, std::int64_t h) {
    const std::int64_t size = a_.K * a_.V, at = (n_sequence * a_.H + h) * size;
    const auto [first, length] = sequence(a_, n_sequence);
    const auto start = [&](const float* states, bool ignored) {
      std::vector<Number> state(size);
      if (states != nullptr && !ignored) std::copy_n(states + at, size, state.begin());
      return state;
    };
    const bool reverse = a_.reverse != s_.time_turned;
    const auto step_of = [&, first = first, length = length](std::int64_t n) {
      return first + (reverse ? length - 1 - n : n);
    };
    const std::vector<Number> adjoint = start(args_.d_final_state, s_.d_final_state_ignored);
    if (!s_.adjoint_kept || adjoint_.empty()) adjoint_ = adjoint;
    const auto visit_step = [&, length = length](std::int64_t n, const std::vector<Number>& state) {
      const bool counts = s_.of_du == Sum::kOwn ||
                          (s_.of_du == Sum::kLastStep && n == length - 1) ||
                          (s_.of_du == Sum::kLastBatch && n_sequence == sequence_count(a_) - 1);
      step_back(step_of(n), h, counts, state);
    };
    const auto advance = [&](std::vector<Number>& state, std::int64_t n) {
      const std::int64_t t = step_of(n), row = t * a_.H + h;
      for (std::int64_t j = 0; j < a_.K; ++j) {
        const Number factor = w(t, h, j), k = a_.k[row * a_.K + j];
        for (std::int64_t i = 0; i < a_.V; ++i)
          state[j * a_.V + i] = factor * state[j * a_.V + i] + k * a_.v[row * a_.V + i];
      }
    };
    visit_states_backwards(start(a_.initial_state, s_.initial_ignored), length, advance,
                           visit_step);
    if (!result_.d_initial_state.empty())
      std::copy(adjoint_.begin(), adjoint_.end(), result_.d_initial_state.begin() + at);
  }

 private:
  using Adjoint = GradSwitches::Adjoint;
  using Sum = GradSwitches::Sum;

  Number w(std::int64_t t, std::int64_t h, std::int64_t j) const {
    return static_cast<Number>(s_.factor(a_.log_w[t * a_.log_w_stride_T + h * a_.K + j]));
  }
  Number operand(Number x) const { return s_.bf16_operands ? static_cast<Number>(bf16(x)) : x; }

  void step_back(std::int64_t t, std::int64_t h, bool counts, const std::vector<Number>& states) {
    using State = GradSwitches::State;
    const bool gla = is_gla(a_) != s_.other_recurrence;
    const std::int64_t row = t * a_.H + h, V = a_.V;
    const Number scale = s_.scale_forgotten ? 1 : a_.scale;
    Number* dv = result_.dv.data() + row * V;
    for (std::int64_t j = 0; j < a_.K; ++j) {
      const Number factor = w(t, h, j), q = a_.q[row * a_.K + j], k = a_.k[row * a_.K + j];
      const Number u = s_.u_forgotten || is_gla(a_) ? 0 : a_.u[h * a_.K + j];
      Number dq = 0, dk = 0, d_factor = 0, du = 0;
      for (std::int64_t i = 0; i < V; ++i) {
        const Number v = a_.v[row * V + i], d_o = args_.d_o[row * V + i], kv = k * v;
        const Number before = states[j * V + i], after = factor * before + kv;
        const Number d_read = (s_.scale_in_state ? scale : 1) * q * d_o;
        const bool reads_after = gla != (s_.read_by_dq == State::kOther);
        const Number read = s_.read_by_dq == State::kDecayed ? factor * before
                            : reads_after                    ? after
                                                             : before;
        dq += operand(read + (s_.bonus_in_dq ? u * kv : 0)) * d_o;
        // The gradient of the state after this step, as the step's own key and value see it, and as a wrong one does.
        Number& G = adjoint_[j * V + i];
        if (gla) G += d_read;
        const auto seen = [&](Adjoint adjoint) {
          if (adjoint == Adjoint::kDecayed) return factor * G;
          if (adjoint == Adjoint::kOther) return gla ? G - d_read : G + d_read;
          return G;
        };
        dk +=
            operand((s_.state_in_dk ? seen(s_.of_dk) : 0) + (s_.bonus_in_dk ? u * d_read : 0)) * v;
        dv[i] +=
            operand((s_.state_in_dv ? seen(s_.of_dv) : 0) + (s_.bonus_in_dv ? u * d_read : 0)) * k;
        d_factor += operand(G + (s_.read_in_d_log_w ? d_read : 0)) *
                    operand(s_.state_after_in_d_log_w ? after : before);
        du += q * d_o * kv;
        if (s_.adjoint_decays) G *= factor;
        if (!gla) G += d_read;
      }
      result_.dq[row * a_.K + j] = (s_.scale_in_dq ? scale : 1) * dq;
      result_.dk[row * a_.K + j] = dk;
      result_.d_log_w[t * a_.log_w_stride_T + h * a_.K + j] +=
          static_cast<Number>(s_.d_log_w_factor(factor)) * d_factor;
      if (!result_.du.empty() && counts && !s_.other_recurrence)
        result_.du[h * a_.K + j] += (s_.scale_in_du ? scale : 1) * du;
    }
  }

  const WkvGradArgs& args_;
  const WkvArgs& a_;
  const GradSwitches& s_;
  BasicWkvGradients<Number>& result_;
  std::vector<Number> adjoint_;
};

}  // namespace

WkvSwitches right_switches(const WkvArgs& args) {
  WkvSwitches right;
  if (is_gla(args)) {
    right.read = WkvSwitches::Read::kUpdated;
    right.bonus = WkvSwitches::Bonus::kNone;
  }
  return right;
}

template <typename Number>
BasicWkvOutputs<Number> wkv_loop(const WkvArgs& args, const WkvSwitches& s, Look look) {
  const std::int64_t heads = sequence_count(args) * args.H;
  const bool alone = s.state_kept == WkvSwitches::Kept::kNever;
  const bool all =
      look == Look::kThorough || !alone || s.time_turned || args.reverse || needs_all(s.stored);
  const std::int64_t first = all ? 0 : std::max<std::int64_t>(0, heads - 1);
  BasicWkvOutputs<Number> result;
  result.o.resize(args.B * args.T * args.H * args.V);
  result.final_state.resize(heads * args.K * args.V);
  Walk<Number> walk(args, s);
#pragma omp parallel for firstprivate(walk) if (alone && worth_threads(wkv_fma_count(args)))
  for (std::int64_t head = first; head < heads; ++head)
    walk.visit(head / args.H, head % args.H, all, result);
  if constexpr (std::is_same_v<Number, double>) {
    if (args.cu_seqlens == nullptr) {
      apply(s.stored, result.o, args.B, args.T, args.H, args.V, args.reverse != s.time_turned);
    }
  }
  return result;
}

template WkvOutputs wkv_loop(const WkvArgs&, const WkvSwitches&, Look);
template WkvResult wkv_loop(const WkvArgs&, const WkvSwitches&, Look);

template <typename Number>
BasicWkvGradients<Number> wkv_gradient_loop(const WkvGradArgs& args, const GradSwitches& s) {
  const WkvArgs& a = args.forward;
  BasicWkvGradients<Number> result = zero_gradients<Number>(a);
#pragma omp parallel for if (worth_threads(wkv_fma_count(a)))
  for (std::int64_t h = 0; h < a.H; ++h) {
    GradientWalk<Number> walk(args, s, result);
    for (std::int64_t n = 0; n < sequence_count(a); ++n)
      walk.visit(n, h);
  }
  return result;
}

template WkvGradients wkv_gradient_loop(const WkvGradArgs&, const GradSwitches&);
template BasicWkvGradients<double> wkv_gradient_loop(const WkvGradArgs&, const GradSwitches&);

}  // namespace ladder
