#include "common/operators/yardstick.hpp"
#include "common/operators/operands.hpp"

#include <algorithm>
#include <cmath>

#include "common/operators/threads.hpp"
#include "common/operators/wkv/backwards.hpp"

namespace ladder::reference {
namespace {

// One step of one head: pointers to its rows.
struct Step {
  const float *q, *k, *v, *log_w, *u;
  std::int64_t row, decay;  // of the rows (row, K) or (row, V); where log_w is
};

Step step_of(const WkvArgs& a, const WkvProblem::Sequence& sequence, std::int64_t h,
             std::int64_t n) {
  const std::int64_t t = sequence.first + (a.reverse ? sequence.length - 1 - n : n);
  const std::int64_t row = t * a.H + h, decay = t * a.log_w_stride_T + h * a.K;
  const float* u = a.u == nullptr ? nullptr : a.u + h * a.K;
  return {a.q + row * a.K, a.k + row * a.K, a.v + row * a.V, a.log_w + decay, u, row, decay};
}

template <typename Operands>
WkvOutputs plain(const WkvProblem& problem) {
  const WkvArgs a = problem.args();
  const WkvCase& c = problem.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  WkvOutputs out;
  out.o.resize(a.B * a.T * a.H * a.V);
  out.final_state.resize(c.sequences() * a.H * a.K * a.V, 0.0f);
  if (!problem.initial_state.empty()) out.final_state = problem.initial_state.data;
#pragma omp parallel for if (worth_threads(wkv_fma_count(a)))
  for (std::int64_t head = 0; head < c.sequences() * a.H; ++head) {
    const WkvProblem::Sequence sequence = problem.sequence(head / a.H);
    float* state = out.final_state.data() + head * a.K * a.V;
    for (std::int64_t n = 0; n < sequence.length; ++n) {
      const Step step = step_of(a, sequence, head % a.H, n);
      float* o = out.o.data() + step.row * a.V;
      for (std::int64_t j = 0; j < a.K; ++j) {
        const float w = std::exp(step.log_w[j]), u = gla ? 0.0f : step.u[j];
        const float q = step.q[j];
        const float k = step.k[j];
        for (std::int64_t i = 0; i < a.V; ++i) {
          const float kv = k * Operands::operand(step.v[i]);
          float& s = state[j * a.V + i];
          const float before = s;
          s = w * s + kv;
          o[i] += q * Operands::operand(gla ? s : before + u * kv);
        }
      }
      for (std::int64_t i = 0; i < a.V; ++i)
        o[i] *= a.scale;
    }
  }
  if (c.precision != Precision::kFp32) store_in_bf16(out.o);
  return out;
}

template <typename Operands>
WkvGradients plain_gradients(const WkvGradProblem& problem) {
  const WkvProblem& forward = problem.forward;
  const WkvArgs a = forward.args();
  const WkvCase& c = forward.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  const std::int64_t state_size = a.K * a.V;
  using State = std::vector<float>;
  const auto state_of = [&](const Tensor<float>& states, std::int64_t head) {
    if (states.empty()) return State(state_size, 0.0f);
    const auto begin = states.data.begin() + head * state_size;
    return State(begin, begin + state_size);
  };
  WkvGradients out;
  out.dq.resize(forward.q.data.size());
  out.dk.resize(forward.k.data.size());
  out.dv.resize(forward.v.data.size());
  out.d_log_w.resize(forward.log_w.data.size());
  out.du.resize(forward.u.data.size());
  out.d_initial_state.resize(forward.initial_state.data.size());
#pragma omp parallel for if (worth_threads(wkv_fma_count(a)))
  for (std::int64_t h = 0; h < a.H; ++h) {
    for (std::int64_t sequence = 0; sequence < c.sequences(); ++sequence) {
      const WkvProblem::Sequence steps = forward.sequence(sequence);
      const std::int64_t head = sequence * a.H + h;
      const auto advance = [&](State& state, std::int64_t n) {
        const Step step = step_of(a, steps, h, n);
        for (std::int64_t j = 0; j < a.K; ++j) {
          const float w = std::exp(step.log_w[j]);
          const float k = step.k[j];
          for (std::int64_t i = 0; i < a.V; ++i) {
            float& s = state[j * a.V + i];
            s = w * s + k * Operands::operand(step.v[i]);
          }
        }
      };
      State gradient = state_of(problem.d_final_state, head);
      const auto visit = [&](std::int64_t n, const State& state) {
        const Step step = step_of(a, steps, h, n);
        const float* d_o = problem.d_o.pointer() + step.row * a.V;
        float* dv = out.dv.data() + step.row * a.V;
        for (std::int64_t j = 0; j < a.K; ++j) {
          const float w = std::exp(step.log_w[j]), u = gla ? 0.0f : step.u[j];
          const float q = step.q[j];
          const float k = step.k[j];
          float dq = 0, dk = 0, dw = 0, du = 0;
          for (std::int64_t i = 0; i < a.V; ++i) {
            const float v = Operands::operand(step.v[i]), from_o = Operands::operand(d_o[i]);
            const float kv = k * v, d_read = a.scale * q * from_o;
            const float s = state[j * a.V + i];
            float& g = gradient[j * a.V + i];
            if (gla) g += d_read;
            const float d_kv = Operands::operand(gla ? g : g + u * d_read);
            dq += from_o * Operands::operand(gla ? w * s + kv : s + u * kv);
            dk += v * d_kv;
            dv[i] += k * d_kv;
            dw += Operands::operand(g) * Operands::operand(s);
            du += d_read * kv;
            g = gla ? w * g : w * g + d_read;
          }
          out.dq[step.row * a.K + j] = a.scale * dq;
          out.dk[step.row * a.K + j] = dk;
          out.d_log_w[step.decay + j] += w * dw;
          if (!gla) out.du[h * a.K + j] += du;
        }
      };
      visit_states_backwards(state_of(forward.initial_state, head), steps.length, advance, visit);
      if (!out.d_initial_state.empty())
        std::copy(gradient.begin(), gradient.end(),
                  out.d_initial_state.begin() + head * state_size);
    }
  }
  if (c.precision != Precision::kFp32) {
    for (std::vector<float>* values : {&out.dq, &out.dk, &out.dv})
      store_in_bf16(*values);
  }
  if (c.precision == Precision::kBf16) store_in_bf16(out.d_log_w);
  return out;
}

}  // namespace

WkvOutputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic) {
  return with_operands(arithmetic, [&]<typename Operands>() { return plain<Operands>(problem); });
}

WkvGradients wkv_gradients_plain(const WkvGradProblem& problem, Arithmetic arithmetic) {
  return with_operands(arithmetic,
                       [&]<typename Operands>() { return plain_gradients<Operands>(problem); });
}

}  // namespace ladder::reference
