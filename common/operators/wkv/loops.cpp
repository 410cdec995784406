#include <algorithm>
#include <numeric>

#include "common/core/threads.hpp"
#include "common/operators/wkv/backwards.hpp"
#include "common/operators/wkv/mistakes.hpp"

namespace ladder {
namespace {

// The sum of the key rows' terms of the bonus for each column, by a loop or by warps of 32 lanes.
template <typename Number>
std::vector<Number> bonus_of(const std::vector<Number>& terms, WkvSwitches::Bonus bonus,
                             std::int64_t V) {
  using Bonus = WkvSwitches::Bonus;
  constexpr std::int64_t kLanes = 32;
  const auto all = [&](Number value) { return std::vector<Number>(V, value); };
  switch (bonus) {
    case Bonus::kNone: return all(0);
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

// Computes one head after another, step by step.
template <typename Number>
class Walk {
 public:
  Walk(const WkvArgs& args, const WkvSwitches& switches)
      : a_(args), s_(switches), state_(a_.K * a_.V), o_(a_.V), read_(a_.V), bonus_(a_.K) {}

  // Writes the head's rows of the result.
  void visit(std::int64_t n_sequence, std::int64_t h, BasicWkvOutputs<Number>& result) {
    const auto [first, length] = sequence(a_, n_sequence);
    const std::int64_t size = a_.K * a_.V, at = (n_sequence * a_.H + h) * size;
    std::fill(state_.begin(), state_.end(), Number{0});
    if (a_.initial_state != nullptr) std::copy_n(a_.initial_state + at, size, state_.begin());
    for (std::int64_t n = 0; n < length; ++n) {
      const std::int64_t t = first + (a_.reverse != s_.time_turned ? length - 1 - n : n);
      step(t, h);
      std::copy(o_.begin(), o_.end(), result.o.begin() + (t * a_.H + h) * a_.V);
    }
    for (std::int64_t e = 0; e < size; ++e) {
      const std::int64_t turned = e % a_.V * a_.K + e / a_.V;
      result.final_state[at + (s_.final_transposed ? turned : e)] = state_[e];
    }
  }

 private:
  const float* row_of(WkvSwitches::Array which, std::int64_t row) const {
    using Array = WkvSwitches::Array;
    return which == Array::kQ   ? a_.q + row * a_.K
           : which == Array::kK ? a_.k + row * a_.K
                                : a_.v + row * a_.V;
  }

  void step(std::int64_t t, std::int64_t h) {
    using Read = WkvSwitches::Read;
    using Bonus = WkvSwitches::Bonus;
    const std::int64_t K = a_.K, V = a_.V, row = t * a_.H + h;
    const float *q = row_of(s_.q_from, row), *k = row_of(s_.k_from, row),
                *v = row_of(s_.v_from, row);
    std::fill(o_.begin(), o_.end(), Number{0});
    for (std::int64_t j = 0; j < K; ++j) {
      const double log_w = a_.log_w[t * a_.log_w_stride_T + h * K + j];
      const auto u = static_cast<Number>(a_.u == nullptr ? 1 : s_.of_u(a_.u[h * K + j], log_w));
      const Number w = s_.u_for_decay ? u : static_cast<Number>(s_.factor(log_w));
      const Number of_new =
          (s_.u_in_state ? u : 1) * (s_.scale_in_state ? a_.scale : 1) * (s_.decays_new ? w : 1);
      Number* state = &state_[j * V];
      for (std::int64_t i = 0; i < V; ++i) {
        const Number before = state[i], decayed = w * before;
        state[i] = decayed + of_new * k[j] * v[i];
        if (s_.bf16_state) state[i] = static_cast<Number>(bf16(state[i]));
        read_[i] = s_.read == Read::kBefore    ? before
                   : s_.read == Read::kDecayed ? decayed
                                               : state[i];
        if (s_.bf16_operands) read_[i] = static_cast<Number>(bf16(read_[i]));
        o_[i] += q[j] * read_[i];
      }
      bonus_[j] =
          u * (s_.bonus == Bonus::kWithoutQ ? 1 : q[j]) * (s_.bonus == Bonus::kWithoutK ? 1 : k[j]);
    }
    const std::vector<Number> bonus = bonus_of(bonus_, s_.bonus, V);
    const auto scale = static_cast<Number>(s_.scale(a_.scale));
    for (std::int64_t i = 0; i < V; ++i) {
      const Number own = bonus[i] * (s_.bonus == Bonus::kWithoutV ? 1 : v[i]);
      o_[i] = (s_.scale_of_state ? scale : 1) * o_[i] + (s_.scale_of_bonus ? scale : 1) * own;
    }
  }

  const WkvArgs& a_;
  const WkvSwitches& s_;
  std::vector<Number> state_, o_, read_;
  std::vector<Number> bonus_;  // of each key row
};

using GradSwitches = WkvGradSwitches;

// Computes one head after another, the states forward in time and then the adjoint backward.
template <typename Number>
class GradientWalk {
 public:
  GradientWalk(const WkvGradArgs& args, const GradSwitches& switches,
               BasicWkvGradients<Number>& result)
      : args_(args), a_(args.forward), s_(switches), result_(result) {}

  void visit(std::int64_t n_sequence, std::int64_t h) {
    const std::int64_t size = a_.K * a_.V, at = (n_sequence * a_.H + h) * size;
    const auto [first, length] = sequence(a_, n_sequence);
    const auto start = [&](const float* states) {
      std::vector<Number> state(size);
      if (states != nullptr) std::copy_n(states + at, size, state.begin());
      return state;
    };
    const bool reverse = a_.reverse != s_.time_turned;
    const auto step_of = [&, first = first, length = length](std::int64_t n) {
      return first + (reverse ? length - 1 - n : n);
    };
    adjoint_ = start(args_.d_final_state);
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
    visit_states_backwards(start(a_.initial_state), length, advance, visit_step);
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
        // The gradient of the state after this step. seen() returns it, or a variant's wrong one.
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
BasicWkvOutputs<Number> wkv_loop(const WkvArgs& args, const WkvSwitches& s) {
  const std::int64_t heads = sequence_count(args) * args.H;
  BasicWkvOutputs<Number> result;
  result.o.resize(args.B * args.T * args.H * args.V);
  result.final_state.resize(heads * args.K * args.V);
  Walk<Number> walk(args, s);
#pragma omp parallel for firstprivate(walk) if (worth_threads(wkv_fma_count(args)))
  for (std::int64_t head = 0; head < heads; ++head)
    walk.visit(head / args.H, head % args.H, result);
  return result;
}

template WkvOutputs wkv_loop(const WkvArgs&, const WkvSwitches&);
template WkvResult wkv_loop(const WkvArgs&, const WkvSwitches&);

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
