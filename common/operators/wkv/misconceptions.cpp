#include "common/operators/misconceptions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/operators/wkv/gradient_variants.hpp"
#include "common/operators/wkv/variants.hpp"

namespace ladder::reference {
namespace {

struct Step {
  std::int64_t row;        // one of B * T
  std::int64_t n, length;  // it is the n-th of its sequence, in the order of time
};

template <typename Visit>
void for_each_step(const WkvProblem& problem, const Visit& visit) {
  const WkvCase& c = problem.wkv_case;
  for (std::int64_t s = 0; s < c.sequences(); ++s) {
    const auto [first, length] = problem.sequence(s);
    for (std::int64_t n = 0; n < length; ++n)
      visit(Step{first + (c.reverse ? length - 1 - n : n), n, length});
  }
}

// Somebody computes whole chunks of so many steps only.
bool is_dropped(const Step& s, std::int64_t chunk) {
  return s.n >= s.length - s.length % chunk;
}

// `values` have `width` elements for each step.
void drop_last_chunk(const WkvProblem& problem, std::int64_t chunk, std::int64_t width,
                     std::vector<double>& values) {
  for_each_step(problem, [&](const Step& s) {
    if (is_dropped(s, chunk)) std::fill_n(values.begin() + s.row * width, width, kUnwritten);
  });
}

// The dropped steps add nothing to the state that is handed on, and forget nothing.
WkvResult without_last_chunk(const WkvProblem& problem, WkvResult result, std::int64_t chunk) {
  const WkvCase& c = problem.wkv_case;
  drop_last_chunk(problem, chunk, c.H * c.V, result.o);
  if (c.decay_per_head) return result;
  WkvProblem changed = problem;
  for_each_step(problem, [&](const Step& s) {
    if (!is_dropped(s, chunk)) return;
    std::fill_n(changed.k.data.begin() + s.row * c.H * c.K, c.H * c.K, 0.0f);
    std::fill_n(changed.log_w.data.begin() + s.row * c.H * c.K, c.H * c.K, 0.0f);
  });
  result.final_state = wkv_recurrence(changed).final_state;
  return result;
}

// `change(n, i)` is log_w's element i, of a sequence's n-th step.
template <typename Change>
WkvProblem with_decays(const WkvProblem& problem, const Change& change) {
  WkvProblem changed = problem;
  const std::int64_t step = problem.wkv_case.H * problem.wkv_case.K;
  for_each_step(problem, [&](const Step& s) {
    for (std::int64_t i = s.row * step; i < (s.row + 1) * step; ++i)
      changed.log_w.data[i] = change(s.n, i);
  });
  return changed;
}

// The problem of somebody who goes on from one packed sequence to the next.
WkvProblem one_sequence(WkvProblem problem) {
  problem.wkv_case.lengths = {};
  problem.cu_seqlens = {};
  if (!problem.initial_state.empty())
    problem.initial_state.data.resize(problem.initial_state.data.size() /
                                      problem.initial_state.shape[0]);
  return problem;
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

WkvResult with_bf16_state(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  WkvResult result = wkv_recurrence(problem);
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
  return result;
}

// d_log_w from a state and a gradient that were bf16 when their chunk of 64 began.
std::vector<double> d_log_w_of_rounded_chunks(const WkvGradProblem& problem) {
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
  return result;
}

}  // namespace

Misconceptions<WkvResult> misconceptions(const WkvProblem& problem, const WkvResult& truth,
                                         Arithmetic arithmetic) {
  const WkvCase& c = problem.wkv_case;
  Misconceptions<WkvResult> list;
  const auto add = [&](const std::string& what, const std::function<WkvResult()>& answer,
                       std::int64_t tile = 0) {
    list.push_back({"equals the " + what, answer, tile});
  };
  // The right answer to another problem.
  const auto add_change = [&](const std::string& what,
                              const std::function<void(WkvProblem&)>& change) {
    add(what, [&problem, change] {
      WkvProblem changed = problem;
      change(changed);
      return wkv_recurrence(changed);
    });
  };
  for (const auto& variant : wkv_variants(c)) {
    list.push_back({"equals the result " + variant.words, [&problem, change = variant.change] {
                      WkvSwitches switches = right_switches(problem.wkv_case.recurrence);
                      change(switches);
                      return wkv_loop(problem, switches);
                    }});
  }
  if (!c.lengths.empty()) {
    add_change("result with the sequences running into each other",
               [](WkvProblem& p) { p = one_sequence(std::move(p)); });
  }
  // Chunks have borders, and decays are easily miscounted there. Each miscount is the right answer to other decays.
  for (const std::int64_t chunk : kUsualTiles) {
    if (c.decay_per_head) break;
    const std::int64_t step = c.H * c.K, back = c.reverse ? step : -step;
    add(
        "result with each decay one step late, in chunks of *",
        [&problem, chunk, back] {
          return wkv_recurrence(with_decays(problem, [&](std::int64_t n, std::int64_t i) {
            return n % chunk == 0 ? 0.0f : problem.log_w.data[i + back];
          }));
        },
        chunk);
  }
  for (const std::int64_t chunk : kUsualTiles) {
    if (c.decay_per_head) break;
    add(
        "result with the decay applied once too often where chunks of * begin",
        [&problem, chunk] {
          return wkv_recurrence(with_decays(problem, [&](std::int64_t n, std::int64_t i) {
            return (n > 0 && n % chunk == 0 ? 2 : 1) * problem.log_w.data[i];
          }));
        },
        chunk);
  }
  for (const std::int64_t chunk : kUsualTiles) {
    add(
        "result with the last partial chunk of * missing",
        [&problem, &truth, chunk] { return without_last_chunk(problem, truth, chunk); }, chunk);
  }
  if (c.precision == Precision::kFp32) {
    add_change("result of operands rounded to TF32", [](WkvProblem& p) {
      to_tf32({&p.q, &p.k, &p.v});
    });
    list.back().slight = "tf32";
  }
  if (arithmetic == Arithmetic::kFp32) {
    add("result of a state rounded to bf16 in every step",
        [&problem] { return with_bf16_state(problem); });
    list.back().slight = "bf16 state";
  }
  return list;
}

Misconceptions<BasicWkvGradients<double>> misconceptions(const WkvGradProblem& problem,
                                                         const BasicWkvGradients<double>& truth,
                                                         Arithmetic) {
  using Gradients = BasicWkvGradients<double>;
  const WkvCase& c = problem.forward.wkv_case;
  Misconceptions<Gradients> list;
  const auto add = [&](const std::string& what, const std::function<Gradients()>& answer,
                       std::int64_t tile = 0) {
    list.push_back({"equals the gradient " + what, answer, tile});
  };
  const auto add_change = [&](const std::string& what,
                              const std::function<void(WkvGradProblem&)>& change) {
    add(what, [&problem, change] {
      WkvGradProblem changed = problem;
      change(changed);
      return wkv_gradients(changed);
    });
  };
  for (const auto& variant : wkv_gradient_variants(c)) {
    add(variant.words, [&problem, change = variant.change] {
      WkvGradSwitches switches;
      change(switches);
      return wkv_gradient_loop(problem, switches);
    });
  }
  for (const std::int64_t chunk : kUsualTiles) {
    add(
        "with the last partial chunk of * missing",
        [&problem, &truth, &c, chunk] {
          Gradients dropped = truth;
          drop_last_chunk(problem.forward, chunk, c.H * c.K, dropped.dq);
          drop_last_chunk(problem.forward, chunk, c.H * c.K, dropped.dk);
          drop_last_chunk(problem.forward, chunk, c.H * c.V, dropped.dv);
          if (!c.decay_per_head)
            drop_last_chunk(problem.forward, chunk, c.H * c.K, dropped.d_log_w);
          return dropped;
        },
        chunk);
  }
  if (c.precision == Precision::kFp32) {
    add_change("of operands rounded to TF32", [](WkvGradProblem& p) {
      to_tf32({&p.forward.q, &p.forward.k, &p.forward.v, &p.d_o});
    });
    list.back().slight = "tf32";
  }
  // A sum over 200 steps or more without decay, stored in fp32 beside bf16.
  if (c.precision == Precision::kBf16Fp32Decay && c.decay_per_head && c.decay == Decay::kNone &&
      c.T >= 200) {
    add("of states that are rounded to bf16 once for each chunk of 64", [&problem, &truth] {
      Gradients gradients = truth;
      gradients.d_log_w = d_log_w_of_rounded_chunks(problem);
      return gradients;
    });
    list.back().slight = "d_log_w";
  }
  return list;
}

}  // namespace ladder::reference
