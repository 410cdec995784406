#include "common/operators/planted.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/operators/attention/reference.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/wkv/reference.hpp"

namespace ladder::testing {
namespace {

// To 11 significant bits.
float tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

double bf16(double x) {
  return to_float(to_bfloat16(static_cast<float>(x)));
}

void to_tf32(std::initializer_list<Tensor<float>*> tensors) {
  for (Tensor<float>* tensor : tensors) {
    for (float& x : tensor->data)
      x = tf32(x);
  }
}

std::vector<float> rounded_all(const std::vector<double>& values, Precision precision) {
  std::vector<float> result(values.begin(), values.end());
  for (float& x : result)
    x = rounded(x, precision);
  return result;
}

std::vector<float> in_fp32(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// States of one head after each step, and before the first: (steps + 1, K, V).
using States = std::vector<std::vector<double>>;

// The recurrences of one head of one sequence in float64, with states that `round(state, n)` may change after step n.
struct Head {
  const WkvProblem& problem;
  WkvArgs a;
  WkvProblem::Sequence sequence;
  std::int64_t n, h;

  std::int64_t t(std::int64_t step) const {
    return sequence.first + (a.reverse ? sequence.length - 1 - step : step);
  }
  std::int64_t row(std::int64_t step) const { return t(step) * a.H + h; }
  const float* log_w(std::int64_t step) const {
    return a.log_w + t(step) * a.log_w_stride_T + h * a.K;
  }
  std::vector<double> first(const Tensor<float>& states) const {
    std::vector<double> state(a.K * a.V, 0.0);
    if (!states.empty())
      std::copy_n(states.data.begin() + (n * a.H + h) * a.K * a.V, a.K * a.V, state.begin());
    return state;
  }

  template <typename Round>
  States states(const Round& round) const {
    States states = {first(problem.initial_state)};
    for (std::int64_t step = 0; step < sequence.length; ++step) {
      std::vector<double> state = states.back();
      const float *k = a.k + row(step) * a.K, *v = a.v + row(step) * a.V;
      for (std::int64_t j = 0; j < a.K; ++j) {
        const double w = std::exp(static_cast<double>(log_w(step)[j]));
        for (std::int64_t i = 0; i < a.V; ++i)
          state[j * a.V + i] = w * state[j * a.V + i] + static_cast<double>(k[j]) * v[i];
      }
      round(state, step);
      states.push_back(std::move(state));
    }
    return states;
  }
};

template <typename Visit>
void for_every_head(const WkvProblem& problem, const Visit& visit) {
  const WkvCase& c = problem.wkv_case;
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h = 0; h < c.H; ++h)
      visit(Head{problem, problem.args(), problem.sequence(n), n, h});
  }
}

void round_all(std::vector<double>& state, std::int64_t) {
  std::transform(state.begin(), state.end(), state.begin(), bf16);
}

WkvOutputs with_bf16_state(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  reference::WkvResult result = reference::wkv_recurrence(problem);
  for_every_head(problem, [&](const Head& head) {
    const States states = head.states(round_all);
    for (std::int64_t step = 0; step < head.sequence.length; ++step) {
      const std::vector<double>& read = states[gla ? step + 1 : step];
      const std::int64_t row = head.row(step);
      const float *q = head.a.q + row * c.K, *k = head.a.k + row * c.K, *v = head.a.v + row * c.V;
      for (std::int64_t i = 0; i < c.V; ++i) {
        double o = 0;
        for (std::int64_t j = 0; j < c.K; ++j) {
          const double bonus =
              gla ? 0 : static_cast<double>(head.a.u[head.h * c.K + j]) * k[j] * v[i];
          o += q[j] * (read[j * c.V + i] + bonus);
        }
        result.o[row * c.V + i] = c.scale * o;
      }
    }
    std::copy(states.back().begin(), states.back().end(),
              result.final_state.begin() + (head.n * c.H + head.h) * c.K * c.V);
  });
  return stored(problem, result);
}

// d_log_w from a state and a gradient that were bf16 when their chunk of 64 began.
std::vector<float> d_log_w_of_rounded_chunks(const WkvGradProblem& problem) {
  constexpr std::int64_t kChunk = 64;
  const WkvProblem& forward = problem.forward;
  const WkvCase& c = forward.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  std::vector<double> result(forward.log_w.data.size(), 0.0);
  for_every_head(forward, [&](const Head& head) {
    const std::int64_t steps = head.sequence.length;
    const States exact = head.states([](auto&, std::int64_t) {});
    // The state before each step of a chunk, from the rounded one before its first.
    States states = exact;
    for (std::int64_t step = 0; step < steps; ++step) {
      if (step % kChunk == 0) {
        round_all(states[step], 0);
        continue;
      }
      for (std::int64_t e = 0; e < c.K * c.V; ++e) {
        const double w = std::exp(static_cast<double>(head.log_w(step - 1)[e / c.V]));
        states[step][e] = exact[step][e] + w * (states[step - 1][e] - exact[step - 1][e]);
      }
    }
    std::vector<double> gradient = head.first(problem.d_final_state), off(gradient.size(), 0.0);
    for (std::int64_t step = steps - 1; step >= 0; --step) {
      // What the gradient was rounded by where its chunk ends decays with it.
      if (step == steps - 1 || (step + 1) % kChunk == 0) {
        for (std::size_t e = 0; e < off.size(); ++e)
          off[e] = bf16(gradient[e]) - gradient[e];
      }
      const float* q = head.a.q + head.row(step) * c.K;
      const float* d_o = problem.d_o.pointer() + head.row(step) * c.V;
      for (std::int64_t e = 0; e < c.K * c.V; ++e) {
        const std::int64_t j = e / c.V, i = e % c.V;
        const double w = std::exp(static_cast<double>(head.log_w(step)[j]));
        const double read = c.scale * static_cast<double>(q[j]) * d_o[i];
        if (gla) gradient[e] += read;
        result[head.log_w(step) - head.a.log_w + j] += w * (gradient[e] + off[e]) * states[step][e];
        gradient[e] *= w;
        off[e] *= w;
        if (!gla) gradient[e] += read;
      }
    }
  });
  return in_fp32(result);
}

std::vector<double> linear_attention_with_bf16_state(const LinearAttentionProblem& problem) {
  const LinearAttentionCase& c = problem.attention_case;
  const auto phi = [&](double x) {
    return c.feature_map == FeatureMap::kIdentity ? x : x > 0 ? x + 1 : std::exp(x);
  };
  std::vector<double> o(c.B * c.T_q * c.H * c.V, 0.0);
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      const std::int64_t keys = problem.key_lengths.empty() ? c.T_k : problem.key_lengths.data[b];
      std::vector<double> state(c.K * c.V, 0.0), key_sum(c.K, 0.0);
      std::int64_t s = 0;
      for (std::int64_t l = 0; l < c.T_q; ++l) {
        for (; s < (c.causal ? std::min(l + 1, keys) : keys); ++s) {
          const std::int64_t token = (b * c.T_k + s) * c.H + h;
          for (std::int64_t j = 0; j < c.K; ++j) {
            const double k = phi(problem.k.data[token * c.K + j]);
            key_sum[j] += k;
            for (std::int64_t i = 0; i < c.V; ++i) {
              double& x = state[j * c.V + i];
              x = bf16(x + k * problem.v.data[token * c.V + i]);
            }
          }
        }
        const std::int64_t token = (b * c.T_q + l) * c.H + h;
        double normaliser = c.normalize ? c.eps : 1;
        for (std::int64_t j = 0; j < c.K; ++j) {
          const double q = phi(problem.q.data[token * c.K + j]);
          if (c.normalize) normaliser += q * key_sum[j];
          for (std::int64_t i = 0; i < c.V; ++i)
            o[token * c.V + i] += q * state[j * c.V + i];
        }
        for (std::int64_t i = 0; i < c.V; ++i)
          o[token * c.V + i] /= normaliser;
      }
    }
  }
  return o;
}

bool is_fp32(Precision precision) {
  return precision == Precision::kFp32;
}

}  // namespace

WkvOutputs stored(const WkvProblem& problem, const reference::WkvResult& truth) {
  return {rounded_all(truth.o, problem.wkv_case.precision), in_fp32(truth.final_state)};
}

WkvGradients stored(const WkvGradProblem& problem, const BasicWkvGradients<double>& truth) {
  const Precision p = problem.forward.wkv_case.precision;
  const Precision of_decay = p == Precision::kBf16 ? p : Precision::kFp32;
  return {rounded_all(truth.dq, p), rounded_all(truth.dk, p),
          rounded_all(truth.dv, p), rounded_all(truth.d_log_w, of_decay),
          in_fp32(truth.du),        in_fp32(truth.d_initial_state)};
}

std::vector<float> stored(const LinearAttentionProblem& problem, const std::vector<double>& truth) {
  return rounded_all(truth, problem.attention_case.precision);
}

AttentionOutputs stored(const AttentionProblem& problem, const reference::AttentionResult& truth) {
  return {rounded_all(truth.o, problem.attention_case.precision), in_fp32(truth.lse)};
}

AttentionGradients stored(const AttentionGradProblem& problem,
                          const BasicAttentionGradients<double>& truth) {
  const Precision p = problem.forward.attention_case.precision;
  return {rounded_all(truth.dq, p), rounded_all(truth.dk, p), rounded_all(truth.dv, p)};
}

std::vector<Planted<WkvOutputs>> planted(const WkvProblem& problem, Arithmetic arithmetic) {
  std::vector<Planted<WkvOutputs>> result;
  if (is_fp32(problem.wkv_case.precision)) {
    WkvProblem of_tf32 = problem;
    to_tf32({&of_tf32.q, &of_tf32.k, &of_tf32.v});
    result.push_back({"tf32", stored(problem, reference::wkv_recurrence(of_tf32))});
  }
  if (arithmetic == Arithmetic::kFp32) result.push_back({"bf16 state", with_bf16_state(problem)});
  return result;
}

std::vector<Planted<WkvGradients>> planted(const WkvGradProblem& problem, Arithmetic) {
  std::vector<Planted<WkvGradients>> result;
  const WkvCase& c = problem.forward.wkv_case;
  if (is_fp32(c.precision)) {
    WkvGradProblem of_tf32 = problem;
    to_tf32({&of_tf32.forward.q, &of_tf32.forward.k, &of_tf32.forward.v, &of_tf32.d_o});
    result.push_back({"tf32", stored(problem, reference::wkv_gradients(of_tf32))});
  }
  if (c.precision == Precision::kBf16Fp32Decay && c.decay_per_head && c.decay == Decay::kNone &&
      c.T >= 200) {
    WkvGradients gradients = stored(problem, reference::wkv_gradients(problem));
    gradients.d_log_w = d_log_w_of_rounded_chunks(problem);
    result.push_back({"d_log_w", std::move(gradients)});
  }
  return result;
}

std::vector<Planted<std::vector<float>>> planted(const LinearAttentionProblem& problem,
                                                 Arithmetic arithmetic) {
  std::vector<Planted<std::vector<float>>> result;
  if (is_fp32(problem.attention_case.precision)) {
    LinearAttentionProblem of_tf32 = problem;
    to_tf32({&of_tf32.q, &of_tf32.k, &of_tf32.v});
    result.push_back({"tf32", stored(problem, reference::linear_attention_recurrence(of_tf32))});
  }
  if (arithmetic == Arithmetic::kFp32) {
    result.push_back({"bf16 state", stored(problem, linear_attention_with_bf16_state(problem))});
  }
  return result;
}

std::vector<Planted<AttentionOutputs>> planted(const AttentionProblem& problem, Arithmetic) {
  std::vector<Planted<AttentionOutputs>> result;
  if (is_fp32(problem.attention_case.precision)) {
    AttentionProblem of_tf32 = problem;
    to_tf32({&of_tf32.q, &of_tf32.k, &of_tf32.v});
    result.push_back({"tf32", stored(problem, reference::attention_closed_sum(of_tf32))});
  }
  return result;
}

std::vector<Planted<AttentionGradients>> planted(const AttentionGradProblem& problem, Arithmetic) {
  std::vector<Planted<AttentionGradients>> result;
  if (is_fp32(problem.forward.attention_case.precision)) {
    AttentionGradProblem of_tf32 = problem;
    to_tf32({&of_tf32.forward.q, &of_tf32.forward.k, &of_tf32.forward.v, &of_tf32.d_o});
    result.push_back({"tf32", stored(problem, reference::attention_gradients(of_tf32))});
  }
  return result;
}

std::vector<Planted<std::vector<float>>> planted_in(const reference::Part& part, bool fp32) {
  std::vector<Planted<std::vector<float>>> result;
  const std::int64_t row = part.layout.row(), rows = std::ssize(*part.truth) / row;
  const auto size_of = [&](std::int64_t i) {
    return std::max(std::abs((*part.truth)[i]), (*part.terms)[i]);
  };
  // In the largest row but the last, so that the fault is none of a row that is next to nothing.
  std::int64_t largest = 0;
  double most = -1;
  for (std::int64_t r = 0; r < std::max<std::int64_t>(1, rows - 1); ++r) {
    double size = 0;
    for (std::int64_t i = r * row; i < (r + 1) * row; ++i)
      size += size_of(i) * size_of(i);
    if (size > most) most = size, largest = r;
  }
  // Where nothing is left of the terms, as of a gradient through one key, there is nothing to be wrong.
  const auto row_of = [&](const auto& values, std::int64_t r) {
    return Eigen::Map<const Eigen::VectorX<typename std::decay_t<decltype(values)>::value_type>>(
        values.data() + r * row, row);
  };
  if (row_of(*part.truth, largest).norm() < 1e-6 * std::sqrt(most)) return result;
  if (rows > 1) {
    std::vector<float> swapped = *part.result;
    std::copy_n(part.result->begin() + (largest + 1) * row, row, swapped.begin() + largest * row);
    const double change =
        (row_of(swapped, largest) - row_of(*part.result, largest)).cast<double>().norm();
    if (change > 0.1 * std::sqrt(most)) result.push_back({"row", std::move(swapped)});
  }
  std::int64_t element = largest * row;
  for (std::int64_t i = element; i < (largest + 1) * row; ++i) {
    if (size_of(i) > size_of(element)) element = i;
  }
  std::vector<float> off = *part.result;
  off[element] += static_cast<float>((fp32 ? 1e-4 : 0.1) * size_of(element));
  if (off != *part.result) result.push_back({"element", std::move(off)});
  return result;
}

}  // namespace ladder::testing
