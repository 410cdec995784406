#include "common/operators/wkv/gradient_variants.hpp"

#include <algorithm>
#include <string>

namespace ladder::reference {
namespace {

using S = WkvGradSwitches;

// One head of one sequence: its states from the first step to the last, then the adjoint back.
class Walk {
 public:
  Walk(const WkvGradProblem& problem, const S& switches)
      : problem_(problem),
        s_(switches),
        c_(problem.forward.wkv_case),
        args_(problem.forward.args()) {}

  void visit(std::int64_t sequence, std::int64_t h, BasicWkvGradients<double>& result) {
    const std::int64_t size = c_.K * c_.V, at = (sequence * c_.H + h) * size;
    const auto [first, length] = problem_.forward.sequence(sequence);
    const auto start = [&](const Tensor<float>& states, bool ignored) {
      std::vector<double> state(size, 0.0);
      if (!states.empty() && !ignored) std::copy_n(states.data.begin() + at, size, state.begin());
      return state;
    };
    states_ = {start(problem_.forward.initial_state, s_.initial_ignored)};
    const bool reverse = c_.reverse != s_.time_turned;
    const auto step_of = [&, first = first, length = length](std::int64_t n) {
      return first + (reverse ? length - 1 - n : n);
    };
    for (std::int64_t n = 0; n < length; ++n)
      states_.push_back(next_state(states_.back(), step_of(n), h));
    const std::vector<double> adjoint = start(problem_.d_final_state, s_.d_final_state_ignored);
    if (!s_.adjoint_kept || adjoint_.empty()) adjoint_ = adjoint;
    for (std::int64_t n = length - 1; n >= 0; --n) {
      const bool counts = s_.of_du == S::Sum::kOwn ||
                          (s_.of_du == S::Sum::kLastStep && n == length - 1) ||
                          (s_.of_du == S::Sum::kLastBatch && sequence == c_.sequences() - 1);
      step_back(n, step_of(n), h, counts, result);
    }
    if (!result.d_initial_state.empty())
      std::copy(adjoint_.begin(), adjoint_.end(), result.d_initial_state.begin() + at);
  }

 private:
  double w(std::int64_t t, std::int64_t h, std::int64_t j) const {
    return s_.factor(args_.log_w[t * args_.log_w_stride_T + h * c_.K + j]);
  }
  std::vector<double> next_state(std::vector<double> state, std::int64_t t, std::int64_t h) const {
    const std::int64_t row = t * c_.H + h;
    for (std::int64_t j = 0; j < c_.K; ++j) {
      const double factor = w(t, h, j), k = args_.k[row * c_.K + j];
      for (std::int64_t i = 0; i < c_.V; ++i)
        state[j * c_.V + i] = factor * state[j * c_.V + i] + k * args_.v[row * c_.V + i];
    }
    return state;
  }

  void step_back(std::int64_t n, std::int64_t t, std::int64_t h, bool counts,
                 BasicWkvGradients<double>& result) {
    const bool gla = (c_.recurrence == Recurrence::kGla) != s_.other_recurrence;
    const std::int64_t row = t * c_.H + h, V = c_.V;
    const double scale = s_.scale_forgotten ? 1.0 : c_.scale;
    std::vector<double> dv(V, 0.0);
    for (std::int64_t j = 0; j < c_.K; ++j) {
      const double factor = w(t, h, j), q = args_.q[row * c_.K + j], k = args_.k[row * c_.K + j];
      const double u = s_.u_forgotten || args_.u == nullptr ? 0.0 : args_.u[h * c_.K + j];
      double dq = 0, dk = 0, d_log_w = 0, du = 0;
      for (std::int64_t i = 0; i < V; ++i) {
        const std::int64_t e = j * V + i;
        const double v = args_.v[row * V + i], d_o = problem_.d_o.data[row * V + i], kv = k * v;
        const double before = states_[n][e], after = states_[n + 1][e];
        const double d_read = (s_.scale_in_state ? scale : 1.0) * q * d_o;
        const bool reads_after = gla != (s_.read_by_dq == S::State::kOther);
        const double read = s_.read_by_dq == S::State::kDecayed ? factor * before
                            : reads_after                       ? after
                                                                : before;
        dq += (s_.scale_in_dq ? scale : 1.0) * (read + (s_.bonus_in_dq ? u * kv : 0.0)) * d_o;
        // The gradient of the state after this step, as the step's own key and value see it, and as a wrong one does.
        double& G = adjoint_[e];
        if (gla) G += d_read;
        const auto seen = [&](S::Adjoint adjoint) {
          if (adjoint == S::Adjoint::kDecayed) return factor * G;
          if (adjoint == S::Adjoint::kOther) return gla ? G - d_read : G + d_read;
          return G;
        };
        const double of_state_k = s_.state_in_dk ? seen(s_.of_dk) : 0.0;
        const double of_state_v = s_.state_in_dv ? seen(s_.of_dv) : 0.0;
        dk += (of_state_k + (s_.bonus_in_dk ? u * d_read : 0.0)) * v;
        dv[i] += (of_state_v + (s_.bonus_in_dv ? u * d_read : 0.0)) * k;
        d_log_w += s_.d_log_w_factor(factor) * (G + (s_.read_in_d_log_w ? d_read : 0.0)) *
                   (s_.state_after_in_d_log_w ? after : before);
        du += s_.other_recurrence ? 0.0 : (s_.scale_in_du ? scale : 1.0) * q * d_o * kv;
        if (s_.adjoint_decays) G *= factor;
        if (!gla) G += d_read;
      }
      result.dq[row * c_.K + j] = dq;
      result.dk[row * c_.K + j] = dk;
      result.d_log_w[t * args_.log_w_stride_T + h * c_.K + j] += d_log_w;
      if (!result.du.empty() && counts) result.du[h * c_.K + j] += du;
    }
    std::copy(dv.begin(), dv.end(), result.dv.begin() + row * V);
  }

  const WkvGradProblem& problem_;
  const S& s_;
  const WkvCase& c_;
  WkvArgs args_;
  std::vector<std::vector<double>> states_;
  std::vector<double> adjoint_;
};

}  // namespace

BasicWkvGradients<double> wkv_gradient_loop(const WkvGradProblem& problem, const S& s) {
  const WkvProblem& forward = problem.forward;
  const WkvCase& c = forward.wkv_case;
  BasicWkvGradients<double> result;
  result.dq.resize(forward.q.data.size());
  result.dk.resize(forward.k.data.size());
  result.dv.resize(forward.v.data.size());
  result.d_log_w.resize(forward.log_w.data.size());
  result.du.resize(forward.u.data.size());
  result.d_initial_state.resize(forward.initial_state.data.size());
  for (std::int64_t h = 0; h < c.H; ++h) {
    Walk walk(problem, s);
    for (std::int64_t sequence = 0; sequence < c.sequences(); ++sequence)
      walk.visit(sequence, h, result);
  }
  return result;
}

Variants<S> wkv_gradient_variants(const WkvCase& c) {
  const bool gla = c.recurrence == Recurrence::kGla;
  Variants<S> list;
  const auto add = [&](const char* words, const char* line, void (*change)(S&)) {
    list.push_back({words, line, change});
  };
  if (!gla) {
    add("with the bonus forgotten", "u left out", [](S& s) { s.u_forgotten = true; });
    add("with the bonus forgotten in dq", "dq = S d_o", [](S& s) { s.bonus_in_dq = false; });
    add("with the bonus forgotten in dk", "dk = G v", [](S& s) { s.bonus_in_dk = false; });
    add("with the bonus forgotten in dv", "dv = G^T k", [](S& s) { s.bonus_in_dv = false; });
    add("with du of the last step alone",
        "du = for du +=", [](S& s) { s.of_du = S::Sum::kLastStep; });
    add("with du of the last batch alone", "du not summed over b",
        [](S& s) { s.of_du = S::Sum::kLastBatch; });
    add("with the scale forgotten in du", "du += q d_o k v", [](S& s) { s.scale_in_du = false; });
  }
  add(gla ? "of o read before the update" : "of o read after the update",
      gla ? "the gradients of WKV" : "the gradients of GLA",
      [](S& s) { s.other_recurrence = s.u_forgotten = true; });
  add(gla ? "with dq of the state before the update" : "with dq of the state after the update",
      "dq = S d_o with the state of the step beside",
      [](S& s) { s.read_by_dq = S::State::kOther; });
  add("with dq of the state after the decay", "dq = w S d_o",
      [](S& s) { s.read_by_dq = S::State::kDecayed; });
  add("with dk of the adjoint one read too far", "dk = G v on the other side of G += q d_o",
      [](S& s) { s.of_dk = S::Adjoint::kOther; });
  add("with dv of the adjoint one read too far", "dv = G^T k on the other side of G += q d_o",
      [](S& s) { s.of_dv = S::Adjoint::kOther; });
  add("with dk of the adjoint after the decay", "G *= w before dk",
      [](S& s) { s.of_dk = S::Adjoint::kDecayed; });
  add("with dv of the adjoint after the decay", "G *= w before dv",
      [](S& s) { s.of_dv = S::Adjoint::kDecayed; });
  add("with dk and dv of the adjoint after the decay", "G *= w before dk and dv",
      [](S& s) { s.of_dk = s.of_dv = S::Adjoint::kDecayed; });
  if (!gla) {
    add("with dk of the bonus alone", "dk = u q d_o v", [](S& s) { s.state_in_dk = false; });
    add("with dv of the bonus alone", "dv = u q d_o k", [](S& s) { s.state_in_dv = false; });
  }
  add("of the decay factor, not of its logarithm", "d_log_w without the factor w",
      [](S& s) { s.d_log_w_factor = [](double) { return 1.0; }; });
  add("with the decay factor twice in d_log_w", "w * w * G * S",
      [](S& s) { s.d_log_w_factor = [](double w) { return w * w; }; });
  add("with the state after the step in d_log_w", "G * S after S = w S + k v",
      [](S& s) { s.state_after_in_d_log_w = true; });
  if (!gla) {
    add("with the step's own read in d_log_w", "G += q d_o before d_log_w",
        [](S& s) { s.read_in_d_log_w = true; });
  }
  add("with the scale forgotten", "args.scale left out", [](S& s) { s.scale_forgotten = true; });
  add("with the scale forgotten in dq", "dq without scale", [](S& s) { s.scale_in_dq = false; });
  add("with the scale forgotten in the adjoint", "G += q d_o without scale",
      [](S& s) { s.scale_in_state = false; });
  add("with the adjoint that does not decay", "G = w G left out",
      [](S& s) { s.adjoint_decays = false; });
  add("with the adjoint of one sequence running into the next", "G set to 0 once",
      [](S& s) { s.adjoint_kept = true; });
  const auto add_factor = [&](const char* words, const char* line, double (*factor)(double)) {
    list.push_back({words, line, [=](S& s) { s.factor = factor; }});
  };
  add_factor("with log_w itself as the decay factor", "w = log_w", [](double x) { return x; });
  add_factor("with 2 to the power of log_w as the decay factor: exp2 for exp", "exp2f(log_w)",
             [](double x) { return std::exp2(x); });
  add_factor("with exp(-log_w) as the decay factor: the sign is wrong", "expf(-log_w)",
             [](double x) { return std::exp(-x); });
  add_factor("with the decay forgotten", "w = 1", [](double) { return 1.0; });
  add("with time running the other way", "t = T - 1 - step for t = step",
      [](S& s) { s.time_turned = true; });
  if (c.final_state) {
    add("with d_final_state ignored", "G = 0", [](S& s) { s.d_final_state_ignored = true; });
  }
  if (c.initial_state) {
    add("with the initial state ignored", "S = 0", [](S& s) { s.initial_ignored = true; });
  }
  return list;
}

}  // namespace ladder::reference
