#include "common/operators/wkv/mistakes.hpp"

#include <algorithm>
#include <utility>

#include "common/judge/typed.hpp"
#include "common/operators/wkv/backwards.hpp"

namespace ladder {
namespace {

struct Step {
  std::int64_t row;        // one of B * T
  std::int64_t n, length;  // n-th of `length` steps in the direction of time
};

template <typename Visit>
void for_each_step(const WkvArgs& args, const Visit& visit) {
  for (std::int64_t s = 0; s < sequence_count(args); ++s) {
    const auto [first, length] = sequence(args, s);
    for (std::int64_t n = 0; n < length; ++n)
      visit(Step{first + (args.reverse ? length - 1 - n : n), n, length});
  }
}

// Whether the step is in a last partial chunk, which the mistake does not compute.
bool is_dropped(const Step& s, std::int64_t chunk) {
  return s.n >= s.length - s.length % chunk;
}

// `values` has `width` elements per step.
void drop_last_chunk(const WkvArgs& args, std::int64_t chunk, std::int64_t width,
                     std::vector<double>& values) {
  for_each_step(args, [&](const Step& s) {
    if (is_dropped(s, chunk)) std::fill_n(values.begin() + s.row * width, width, kUnwritten);
  });
}

// The dropped steps neither add to the final state nor decay it.
Answer without_last_chunk(const WkvProblem& problem, const std::vector<Truth>& truth,
                          std::int64_t chunk) {
  const WkvArgs a = problem.args();
  std::vector<double> o = truth[0].values;
  drop_last_chunk(a, chunk, a.H * a.V, o);
  if (truth.size() == 1) return {o};
  if (a.log_w_stride_T == 0) return {o, truth[1].values};
  WkvProblem changed = problem;
  for_each_step(a, [&](const Step& s) {
    for (const char* array : {"k", "log_w"}) {
      if (is_dropped(s, chunk))
        std::fill_n(changed[array].begin() + s.row * a.H * a.K, a.H * a.K, 0.0f);
    }
  });
  return {o, wkv_recurrence(changed.args()).final_state};
}

Answer without_last_chunk(const WkvGradProblem& problem, const std::vector<Truth>& truth,
                          std::int64_t chunk) {
  const WkvArgs a = problem.args().forward;
  Answer dropped;
  for (const ListedArray& output : problem.outputs()) {
    dropped.push_back(truth[dropped.size()].values);
    const Axis* axis = output.axes.begin();
    if (axis[1].name == std::string("t"))
      drop_last_chunk(a, chunk, a.H * axis[3].size, dropped.back());
  }
  return dropped;
}

// Makes one sequence of all, as for a state that is not reset between packed sequences.
void join_sequences(WkvProblem& problem) {
  std::vector<float>& initial = problem["initial_state"];
  initial.resize(initial.size() / problem.drawn_case().lengths.size());
  problem.drawn_case().lengths = {};
  problem.array<std::int64_t>("cu_seqlens").clear();
}

// d_log_w without decay, from states and adjoints that are rounded to bf16 where a chunk begins.
std::vector<double> d_log_w_of_rounded_chunks(const WkvGradArgs& args) {
  constexpr std::int64_t kChunk = 64;
  using State = std::vector<double>;
  const WkvArgs& a = args.forward;
  const std::int64_t size = a.K * a.V;
  std::vector<double> result(a.H * a.K, 0.0);
  for (std::int64_t head = 0; head < sequence_count(a) * a.H; ++head) {
    const auto [first, length] = sequence(a, head / a.H);
    const std::int64_t h = head % a.H;
    const auto row = [&, first = first, length = length](std::int64_t n) {
      return (first + (a.reverse ? length - 1 - n : n)) * a.H + h;
    };
    const auto start = [&](const float* states) {
      return states == nullptr ? State(size, 0.0)
                               : State(states + head * size, states + (head + 1) * size);
    };
    const auto add_outer = [&](State& state, const float* rows, const float* columns,
                               std::int64_t n, double factor) {
      for (std::int64_t e = 0; e < size; ++e)
        state[e] += factor * rows[row(n) * a.K + e / a.V] * columns[row(n) * a.V + e % a.V];
    };
    const auto rounding = [](State state) {
      for (double& x : state)
        x = bf16(x) - x;
      return state;
    };
    std::vector<State> off;  // rounding error of each chunk's state
    const auto advance = [&](State& state, std::int64_t n) {
      if (n == std::ssize(off) * kChunk) off.push_back(rounding(state));
      add_outer(state, a.k, a.v, n, 1);
    };
    State G = start(args.d_final_state), G_off;
    const auto visit = [&, length = length](std::int64_t n, const State& state) {
      if (n == length - 1 || (n + 1) % kChunk == 0) G_off = rounding(G);
      if (is_gla(a)) add_outer(G, a.q, args.d_o, n, a.scale);
      for (std::int64_t e = 0; e < size; ++e)
        result[h * a.K + e / a.V] += (G[e] + G_off[e]) * (state[e] + off[n / kChunk][e]);
      if (!is_gla(a)) add_outer(G, a.q, args.d_o, n, a.scale);
    };
    visit_states_backwards(start(a.initial_state), length, advance, visit);
  }
  return result;
}

// Decays miscounted at chunk borders. Each miscount is the right answer for other decays.
template <typename Add>
void add_chunk_borders(const WkvProblem& problem, const std::vector<Truth>& truth, const Add& add) {
  const WkvCase& c = problem.drawn_case();
  const auto log_w = [&problem](std::int64_t i) { return problem["log_w"][i]; };
  const std::int64_t step = c.H * c.K, before = c.reverse ? step : -step;
  // `decay(n, i, chunk)` is element i of log_w, in the n-th step of its sequence.
  const auto add_decays = [&](const std::string& what, const auto& decay) {
    for (const std::int64_t chunk : kUsualTiles) {
      if (c.decay_per_head) break;
      const auto answer = [&problem, decay, chunk] {
        WkvProblem changed = problem;
        const WkvCase& c = problem.drawn_case();
        for_each_step(problem.args(), [&](const Step& s) {
          for (std::int64_t i = s.row * c.H * c.K; i < (s.row + 1) * c.H * c.K; ++i)
            changed["log_w"][i] = decay(s.n, i, chunk);
        });
        return answer_of(problem, wkv_recurrence(changed.args()));
      };
      add(what, answer, chunk);
    }
  };
  add_decays("result with each decay one step late, in chunks of *",
             [=](std::int64_t n, std::int64_t i, std::int64_t chunk) {
               return n % chunk == 0 ? 0.0f : log_w(i + before);
             });
  add_decays("result with the decay applied once too often where chunks of * begin",
             [=](std::int64_t n, std::int64_t i, std::int64_t chunk) {
               return (n > 0 && n % chunk == 0 ? 2 : 1) * log_w(i);
             });
  for (const std::int64_t chunk : kUsualTiles) {
    add(
        "result with the last partial chunk of * missing",
        [&problem, &truth, chunk] { return without_last_chunk(problem, truth, chunk); }, chunk);
  }
}

}  // namespace

Mistakes wkv_mistakes(const WkvProblem& problem, const std::vector<Truth>& truth,
                      Arithmetic arithmetic) {
  const WkvCase& c = problem.drawn_case();
  const WkvArgs args = problem.args();
  Mistakes mistakes;
  const auto loop = [args, &problem](const WkvSwitches& s) {
    return answer_of(problem, wkv_loop(args, s));
  };
  add_variants(mistakes, "equals the result ", wkv_variants(c), right_switches(args), loop);
  const auto add = [&](const std::string& what, const std::function<Answer()>& answer,
                       std::int64_t tile = 0) {
    mistakes.known.push_back({"equals the " + what, answer, tile});
  };
  const auto right_answer = [&problem](const WkvProblem& changed) {
    return answer_of(problem, wkv_recurrence(changed.args()));
  };
  if (!c.lengths.empty()) {
    add("result with the sequences running into each other", [&problem, right_answer] {
      WkvProblem changed = problem;
      join_sequences(changed);
      return right_answer(changed);
    });
  }
  add_chunk_borders(problem, truth, add);
  add_tf32(mistakes, problem, right_answer);
  if (arithmetic == Arithmetic::kFp32) {
    add("result of a state rounded to bf16 in every step", [args, loop] {
      WkvSwitches switches = right_switches(args);
      switches.bf16_state = true;
      return loop(switches);
    });
    mistakes.known.back().slight = "bf16 state";
  }
  mistakes.work = wkv_fma_count(args);
  return mistakes;
}

Mistakes wkv_gradient_mistakes(const WkvGradProblem& problem, const std::vector<Truth>& truth,
                               Arithmetic) {
  const WkvCase& c = problem.drawn_case();
  const WkvGradArgs args = problem.args();
  Mistakes mistakes;
  add_variants(mistakes, "equals the gradient ", wkv_gradient_variants(c), WkvGradSwitches{},
               [args, &problem](const WkvGradSwitches& s) {
                 return answer_of(problem, wkv_gradient_loop(args, s));
               });
  for (const std::int64_t chunk : kUsualTiles) {
    mistakes.known.push_back(
        {"equals the gradient with the last partial chunk of * missing",
         [&problem, &truth, chunk] { return without_last_chunk(problem, truth, chunk); }, chunk});
  }
  add_tf32(mistakes, problem, [&problem](const WkvGradProblem& changed) {
    return answer_of(problem, wkv_gradients(changed.args()));
  });
  // d_log_w is then an fp32 sum over 200 steps or more without decay.
  if (c.precision == Precision::kBf16Fp32Decay && c.decay_per_head && c.decay == Decay::kNone &&
      c.T >= 200) {
    const auto answer = [args, &truth] {
      constexpr std::size_t kDLogW = 3;  // index among the outputs
      Answer answer;
      for (const Truth& right : truth)
        answer.push_back(right.values);
      answer[kDLogW] = d_log_w_of_rounded_chunks(args);
      return answer;
    };
    mistakes.known.push_back(
        {"equals the gradient of states that are rounded to bf16 once for each chunk of 64", answer,
         0, "d_log_w"});
  }
  mistakes.together = true;
  mistakes.work = wkv_fma_count(args.forward);
  return mistakes;
}

Outputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic) {
  const WkvArgs args = problem.args();
  WkvSwitches switches = right_switches(args);
  switches.bf16_operands = arithmetic == Arithmetic::kBf16Operands;
  return problem.stored(answer_of(problem, wkv_loop<float>(args, switches)));
}

Outputs wkv_gradients_plain(const WkvGradProblem& problem, Arithmetic arithmetic) {
  const WkvGradients gradients = wkv_gradient_loop<float>(
      problem.args(), {.bf16_operands = arithmetic == Arithmetic::kBf16Operands});
  return problem.stored(answer_of(problem, gradients));
}

}  // namespace ladder
