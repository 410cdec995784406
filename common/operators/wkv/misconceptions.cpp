#include "common/operators/misconceptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ladder::reference {
namespace {

constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

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

// The answer somebody gets who applies the decay before reading the state: the state part of the output sees one decay more,
// the bonus part does not. Both parts are WKV problems of their own.
WkvResult decay_before_read(WkvProblem problem) {
  WkvProblem bonus_only = problem;
  bonus_only.initial_state = {};
  std::fill(bonus_only.log_w.data.begin(), bonus_only.log_w.data.end(),
            -std::numeric_limits<float>::infinity());
  WkvResult bonus = wkv_recurrence(bonus_only);
  // With total decay the state still holds the step before: take that part away again.
  WkvProblem without_u = bonus_only;
  std::fill(without_u.u.data.begin(), without_u.u.data.end(), 0.0f);
  const WkvResult step_before = wkv_recurrence(without_u);
  std::fill(problem.u.data.begin(), problem.u.data.end(), 0.0f);
  const WkvArgs args = problem.args();
  for (std::int64_t row = 0; row < args.B * args.T; ++row) {
    const float* log_w = args.log_w + row * args.log_w_stride_T;
    float* q = problem.q.data.data() + row * args.H * args.K;
    for (std::int64_t i = 0; i < args.H * args.K; ++i)
      q[i] *= std::exp(log_w[i]);
  }
  WkvResult result = wkv_recurrence(problem);
  for (std::size_t i = 0; i < result.o.size(); ++i) {
    result.o[i] += bonus.o[i] - step_before.o[i];
  }
  return result;
}

// The answer of somebody who takes log_w for the factor itself. Such a factor is negative: the state's sign changes with every
// step. Without these signs it is the same recurrence again, with the factor -log_w.
WkvResult logarithm_as_factor(WkvProblem problem) {
  const WkvCase& c = problem.wkv_case;
  const float read_sign = c.recurrence == Recurrence::kGla ? -1.0f : 1.0f;  // of the state it reads
  const std::int64_t step = c.H * c.V;
  std::vector<float> signs(problem.v.data.size());
  for_each_step(problem, [&](const Step& s) {
    std::fill_n(signs.begin() + s.row * step, step, s.n % 2 == 0 ? 1.0f : -1.0f);
  });
  for (float& log_w : problem.log_w.data)
    log_w = std::log(-log_w);
  for (float& u : problem.u.data)
    u = -u;
  for (std::size_t i = 0; i < problem.v.data.size(); ++i)
    problem.v.data[i] *= -signs[i];
  WkvResult result = wkv_recurrence(problem);
  for (std::size_t i = 0; i < result.o.size(); ++i)
    result.o[i] *= read_sign * signs[i];
  return result;
}

bool all_finite(const Tensor<float>& tensor) {
  return std::all_of(tensor.data.begin(), tensor.data.end(),
                     [](float x) { return std::isfinite(x); });
}

// The first of every four key rows stands for all of them.
Tensor<float> first_of_four(Tensor<float> tensor, std::int64_t K) {
  for (std::size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = tensor.data[i - i % K % 4];
  return tensor;
}

// Each step's output, and all those before it in the order of time.
WkvResult running_sum(const WkvProblem& problem, WkvResult result) {
  const std::int64_t step = problem.wkv_case.H * problem.wkv_case.V;
  const std::int64_t back = problem.wkv_case.reverse ? step : -step;
  for_each_step(problem, [&](const Step& s) {
    for (std::int64_t i = s.row * step; s.n > 0 && i < (s.row + 1) * step; ++i)
      result.o[i] += result.o[i + back];
  });
  return result;
}

// Each step's output, given out by the step after it.
WkvResult one_step_late(const WkvProblem& problem, WkvResult result) {
  const std::int64_t step = problem.wkv_case.H * problem.wkv_case.V;
  const std::int64_t back = problem.wkv_case.reverse ? step : -step;
  const std::vector<double> o = result.o;
  for_each_step(problem, [&](const Step& s) {
    for (std::int64_t i = s.row * step; i < (s.row + 1) * step; ++i)
      result.o[i] = s.n > 0 ? o[i + back] : kUnwritten;
  });
  return result;
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

WkvProblem read_at_the_other_time(WkvProblem problem) {
  const bool gla = problem.wkv_case.recurrence == Recurrence::kGla;
  problem.wkv_case.recurrence = gla ? Recurrence::kWkv : Recurrence::kGla;
  problem.u = gla ? Tensor<float>({problem.wkv_case.H, problem.wkv_case.K}) : Tensor<float>();
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
  const bool gla = c.recurrence == Recurrence::kGla;
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
  if (!gla) {
    add_change("result with the bonus forgotten",
               [](WkvProblem& p) { std::fill(p.u.data.begin(), p.u.data.end(), 0.0f); });
    add("result with the decay applied before the read",
        [&problem] { return decay_before_read(problem); });
    add("result read after the update, with the bonus added", [&problem] {
      WkvProblem no_bonus = problem;
      std::fill(no_bonus.u.data.begin(), no_bonus.u.data.end(), 0.0f);
      WkvResult result = wkv_recurrence(read_at_the_other_time(problem));
      const WkvResult with = wkv_recurrence(problem), without = wkv_recurrence(no_bonus);
      for (std::size_t n = 0; n < result.o.size(); ++n)
        result.o[n] += with.o[n] - without.o[n];
      return result;
    });
  }
  add_change(gla ? "result read before the update" : "result read after the update",
             [](WkvProblem& p) { p = read_at_the_other_time(std::move(p)); });
  if (c.K == c.V) {
    add_change("result with k and v swapped", [](WkvProblem& p) { std::swap(p.k.data, p.v.data); });
  }
  if (c.initial_state) {
    add_change("result with the initial state ignored", [](WkvProblem& p) {
      p.initial_state = {};
      p.wkv_case.initial_state = false;
    });
  }
  if (!c.lengths.empty()) {
    add_change("result with the sequences running into each other",
               [](WkvProblem& p) { p = one_sequence(std::move(p)); });
  }
  add_change("result with q and k swapped", [](WkvProblem& p) { std::swap(p.q.data, p.k.data); });
  add_change("result with time running the other way",
             [](WkvProblem& p) { p.wkv_case.reverse = !p.wkv_case.reverse; });
  add_change("result with the scale forgotten", [](WkvProblem& p) { p.wkv_case.scale = 1.0f; });
  if (all_finite(problem.log_w)) {
    add("result with log_w itself as the decay factor",
        [&problem] { return logarithm_as_factor(problem); });
  }
  add("sum over all steps so far: the sum of one step runs into the next",
      [&problem, &truth] { return running_sum(problem, truth); });
  add_missing_rows(list, problem, wkv_recurrence);
  using WkvTensor = Tensor<float> WkvProblem::*;
  for (const auto& [name, tensor] : {std::pair<const char*, WkvTensor>{"q", &WkvProblem::q},
                                     {"k", &WkvProblem::k},
                                     {"log_w", &WkvProblem::log_w},
                                     {"u", &WkvProblem::u}}) {
    add_change(
        std::string("result with the first of every four ") + name + " used for all four",
        [tensor = tensor](WkvProblem& p) { p.*tensor = first_of_four(p.*tensor, p.wkv_case.K); });
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
  add("result one step late", [&problem, &truth] { return one_step_late(problem, truth); });
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
  const bool gla = c.recurrence == Recurrence::kGla;
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
  if (!gla) {
    add_change("with the bonus forgotten", [](WkvGradProblem& p) {
      std::fill(p.forward.u.data.begin(), p.forward.u.data.end(), 0.0f);
    });
  }
  add_change(gla ? "of o read before the update" : "of o read after the update",
             [](WkvGradProblem& p) { p.forward = read_at_the_other_time(std::move(p.forward)); });
  add_change("with d_final_state ignored", [](WkvGradProblem& p) { p.d_final_state = {}; });
  add_change("with the initial state ignored", [](WkvGradProblem& p) {
    std::fill(p.forward.initial_state.data.begin(), p.forward.initial_state.data.end(), 0.0f);
  });
  add_change("with the scale forgotten",
             [](WkvGradProblem& p) { p.forward.wkv_case.scale = 1.0f; });
  add_change("with time running the other way",
             [](WkvGradProblem& p) { p.forward.wkv_case.reverse = !p.forward.wkv_case.reverse; });
  if (all_finite(problem.forward.log_w)) {
    add("of the decay factor, not of its logarithm", [&problem, &truth] {
      Gradients of_factor = truth;
      for (std::size_t i = 0; i < of_factor.d_log_w.size(); ++i)
        of_factor.d_log_w[i] /= std::exp(static_cast<double>(problem.forward.log_w.data[i]));
      return of_factor;
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
