#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/wkv/reference.hpp"
#include "common/operators/yardstick.hpp"

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

// The problem of somebody whose query reaches some of the key rows only.
template <typename Problem>
Problem with_rows(Problem problem, std::int64_t K,
                  const std::function<bool(std::int64_t)>& arrives) {
  for (std::size_t i = 0; i < problem.q.data.size(); ++i) {
    if (!arrives(i % K)) problem.q.data[i] = 0;
  }
  return problem;
}

// Kernels cut the key rows into vectors of four and strips of eight; what gets lost there is a part of the rows.
// `equals` says whether the result is that of the problem it is given.
template <typename Problem>
std::string missing_rows(const Problem& problem, std::int64_t K,
                         const std::function<bool(const Problem&)>& equals) {
  const auto only = [&](const std::function<bool(std::int64_t)>& arrives) {
    return equals(with_rows(problem, K, arrives));
  };
  for (std::int64_t lost : {std::int64_t{1}, std::int64_t{4}, K % 8}) {
    if (lost > 0 && lost < K && only([&](std::int64_t j) { return j < K - lost; })) {
      return "equals the result without the last " +
             (lost == 1 ? std::string("key row") : std::to_string(lost) + " key rows") + "\n";
    }
  }
  if (K > 1 && only([&](std::int64_t j) { return j == K - 1; })) {
    return "equals the result of the last key row alone\n";
  }
  if (K > 4) {
    for (std::int64_t lane = 0; lane < 4; ++lane) {
      if (only([&](std::int64_t j) { return j % 4 == lane; })) {
        return "equals the result of every fourth key row alone: " + std::to_string(lane) + ", " +
               std::to_string(lane + 4) + ", ...\n";
      }
    }
  }
  return "";
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
bool is_one_step_late(const WkvProblem& problem, const std::vector<float>& o,
                      const std::vector<double>& truth, double rounding) {
  const std::int64_t step = problem.wkv_case.H * problem.wkv_case.V;
  const std::int64_t back = problem.wkv_case.reverse ? step : -step;
  std::vector<float> late;
  std::vector<double> before;
  for_each_step(problem, [&](const Step& s) {
    for (std::int64_t i = s.row * step; s.n > 0 && i < (s.row + 1) * step; ++i) {
      late.push_back(o[i]);
      before.push_back(truth[i + back]);
    }
  });
  return !late.empty() && roughly_equal(late, before, problem.wkv_case.V, rounding);
}

// Somebody computes whole chunks of so many steps only.
bool is_dropped(const Step& s, std::int64_t chunk) {
  return s.n >= s.length - s.length % chunk;
}

// Right in every whole chunk; zeros, or what was there before, in the rest. `width` elements belong to a step.
std::string missing_last_chunk(const WkvProblem& problem, const std::vector<float>& result,
                               const std::vector<double>& truth, std::int64_t width,
                               double rounding) {
  const std::string chunks = fitting_chunks([&](std::int64_t chunk) {
    std::vector<float> kept;
    std::vector<double> kept_truth;
    bool any_dropped = false, rest_is_empty = true;
    for_each_step(problem, [&](const Step& s) {
      for (std::int64_t i = s.row * width; i < (s.row + 1) * width; ++i) {
        if (is_dropped(s, chunk)) {
          any_dropped = true;
          rest_is_empty = rest_is_empty && (result[i] == 0 || std::isnan(result[i]));
        } else {
          kept.push_back(result[i]);
          kept_truth.push_back(truth[i]);
        }
      }
    });
    return any_dropped && rest_is_empty && !kept.empty() &&
           roughly_equal(kept, kept_truth, width, rounding);
  });
  return chunks.empty()
             ? ""
             : "equals the result with the last partial chunk of " + chunks + " missing\n";
}

// The state somebody hands on who drops the last partial chunk: these steps add nothing to it and forget nothing.
std::string state_without_last_chunk(const WkvProblem& problem, const std::vector<float>& state,
                                     const std::vector<double>& truth, double rounding) {
  const WkvCase& c = problem.wkv_case;
  if (c.decay_per_head || roughly_equal(state, truth, c.V, rounding)) return "";
  const std::string chunks = fitting_chunks([&](std::int64_t chunk) {
    WkvProblem changed = problem;
    for_each_step(problem, [&](const Step& s) {
      if (!is_dropped(s, chunk)) return;
      std::fill_n(changed.k.data.begin() + s.row * c.H * c.K, c.H * c.K, 0.0f);
      std::fill_n(changed.log_w.data.begin() + s.row * c.H * c.K, c.H * c.K, 0.0f);
    });
    return roughly_equal(state, wkv_recurrence(changed).final_state, c.V, rounding);
  });
  return chunks.empty()
             ? ""
             : "equals the state with the last partial chunk of " + chunks + " missing\n";
}

// Chunks have borders, and decays are easily miscounted there. Each miscount is the right answer to other decays.
std::string miscounted_decays(const WkvProblem& problem,
                              const std::function<bool(const WkvProblem&)>& equals) {
  const WkvCase& c = problem.wkv_case;
  if (c.decay_per_head) return "";
  const std::int64_t step = c.H * c.K, back = c.reverse ? step : -step;
  const std::vector<float>& log_w = problem.log_w.data;
  // `change(n, chunk, i)` is log_w's element i, of a sequence's n-th step.
  const auto chunks_with =
      [&](const std::function<float(std::int64_t, std::int64_t, std::int64_t)>& change) {
        return fitting_chunks([&](std::int64_t chunk) {
          WkvProblem changed = problem;
          for_each_step(problem, [&](const Step& s) {
            for (std::int64_t i = s.row * step; i < (s.row + 1) * step; ++i)
              changed.log_w.data[i] = change(s.n, chunk, i);
          });
          return equals(changed);
        });
      };
  const std::string late = chunks_with([&](std::int64_t n, std::int64_t chunk, std::int64_t i) {
    return n % chunk == 0 ? 0.0f : log_w[i + back];
  });
  if (!late.empty())
    return "equals the result with each decay one step late, in chunks of " + late + "\n";
  const std::string twice = chunks_with([&](std::int64_t n, std::int64_t chunk, std::int64_t i) {
    return n > 0 && n % chunk == 0 ? 2 * log_w[i] : log_w[i];
  });
  return twice.empty()
             ? ""
             : "equals the result with the decay applied once too often where chunks of " + twice +
                   " begin\n";
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

std::string misconception(const WkvProblem& problem, const WkvOutputs& outputs,
                          const WkvResult& truth) {
  const WkvCase& c = problem.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  const double rounding = c.precision == Precision::kFp32 ? 0 : kBf16Rounding;
  const auto equals = [&](const WkvResult& other) {
    return roughly_equal(outputs.o, other.o, c.V, rounding);
  };
  if (c.T == 0 || c.B == 0) return "";
  // A result that is almost right is not what a misconception gives.
  if (roughly_equal(outputs.o, truth.o, c.V, rounding)) return "";
  WkvProblem changed = problem;
  std::fill(changed.u.data.begin(), changed.u.data.end(), 0.0f);
  if (!gla && equals(wkv_recurrence(changed))) {
    return "equals the result with the bonus forgotten\n";
  }
  if (!gla && equals(decay_before_read(problem))) {
    return "equals the result with the decay applied before the read\n";
  }
  if (equals(wkv_recurrence(read_at_the_other_time(problem)))) {
    return gla ? "equals the result read before the update\n"
               : "equals the result read after the update\n";
  }
  if (c.K == c.V) {
    changed = problem;
    std::swap(changed.k.data, changed.v.data);
    if (equals(wkv_recurrence(changed))) {
      return "equals the result with k and v swapped\n";
    }
  }
  if (c.initial_state) {
    changed = problem;
    changed.initial_state = {};
    changed.wkv_case.initial_state = false;
    if (equals(wkv_recurrence(changed))) {
      return "equals the result with the initial state ignored\n";
    }
  }
  if (!c.lengths.empty() && equals(wkv_recurrence(one_sequence(problem)))) {
    return "equals the result with the sequences running into each other\n";
  }
  changed = problem;
  std::swap(changed.q.data, changed.k.data);
  if (equals(wkv_recurrence(changed))) {
    return "equals the result with q and k swapped\n";
  }
  changed = problem;
  changed.wkv_case.reverse = !c.reverse;
  if (equals(wkv_recurrence(changed))) {
    return "equals the result with time running the other way\n";
  }
  changed = problem;
  changed.wkv_case.scale = 1.0f;
  if (equals(wkv_recurrence(changed))) {
    return "equals the result with the scale forgotten\n";
  }
  if (equals(logarithm_as_factor(problem))) {
    return "equals the result with log_w itself as the decay factor\n";
  }
  if (equals(running_sum(problem, truth))) {
    return "equals the sum over all steps so far: the sum of one step runs into the next\n";
  }
  const std::string rows = missing_rows<WkvProblem>(
      problem, c.K, [&](const WkvProblem& other) { return equals(wkv_recurrence(other)); });
  if (!rows.empty()) return rows;
  using WkvTensor = Tensor<float> WkvProblem::*;
  for (const auto& [name, tensor] : {std::pair<const char*, WkvTensor>{"q", &WkvProblem::q},
                                     {"k", &WkvProblem::k},
                                     {"log_w", &WkvProblem::log_w},
                                     {"u", &WkvProblem::u}}) {
    changed = problem;
    changed.*tensor = first_of_four(problem.*tensor, c.K);
    if (equals(wkv_recurrence(changed))) {
      return std::string("equals the result with the first of every four ") + name +
             " used for all four\n";
    }
  }
  const std::string decays = miscounted_decays(
      problem, [&](const WkvProblem& other) { return equals(wkv_recurrence(other)); });
  if (!decays.empty()) return decays;
  const std::string chunk = missing_last_chunk(problem, outputs.o, truth.o, c.H * c.V, rounding);
  if (!chunk.empty()) return chunk;
  return is_one_step_late(problem, outputs.o, truth.o, rounding)
             ? "equals the result one step late\n"
             : "";
}

// Blocks that each take a strip of 8 key rows and store their part of o instead of adding it: which one comes last
// may differ from element to element.
bool is_one_strip(const LinearAttentionProblem& problem, const std::vector<float>& o) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t K = problem.attention_case.K;
  if (K <= kRows) return false;
  double square = 0;
  for (float value : o)
    square += static_cast<double>(value) * value;
  const double close = 1e-4 * std::sqrt(square / o.size());
  std::vector<bool> explained(o.size(), false);
  for (std::int64_t first = 0; first < K; first += kRows) {
    const auto part = linear_attention_recurrence(
        with_rows(problem, K, [&](std::int64_t j) { return j >= first && j < first + kRows; }));
    for (std::size_t i = 0; i < o.size(); ++i)
      explained[i] = explained[i] || std::abs(o[i] - part[i]) <= close;
  }
  return std::find(explained.begin(), explained.end(), false) == explained.end();
}

std::string misconception(const LinearAttentionProblem& problem, const std::vector<float>& o,
                          const std::vector<double>& truth) {
  const LinearAttentionCase& c = problem.attention_case;
  const double rounding = c.precision == Precision::kFp32 ? 0 : kBf16Rounding;
  if (roughly_equal(o, truth, c.V, rounding)) return "";
  const auto equals = [&](const LinearAttentionProblem& changed) {
    return roughly_equal(o, linear_attention_recurrence(changed), c.V, rounding);
  };
  LinearAttentionProblem changed = problem;
  changed.attention_case.causal = !c.causal;
  if (equals(changed)) {
    return c.causal ? "equals the result without the causal mask\n"
                    : "equals the result with a causal mask\n";
  }
  changed = problem;
  changed.attention_case.normalize = !c.normalize;
  if (equals(changed)) return "equals the result with the normaliser forgotten\n";
  if (c.key_lengths) {
    changed = problem;
    changed.key_lengths = {};
    changed.attention_case.key_lengths = false;
    if (equals(changed)) return "equals the result with the key lengths ignored\n";
  }
  changed = problem;
  changed.attention_case.feature_map = FeatureMap::kIdentity;
  if (c.feature_map != FeatureMap::kIdentity && equals(changed)) {
    return "equals the result with the feature map forgotten\n";
  }
  const std::string rows = missing_rows<LinearAttentionProblem>(problem, c.K, equals);
  if (!rows.empty()) return rows;
  return is_one_strip(problem, o) ? "each element is the part of one strip of 8 key rows: the "
                                    "parts overwrite each other\n"
                                  : "";
}

using TrueGradients = BasicWkvGradients<double>;

// Which of the gradients a part is.
std::vector<double> TrueGradients::*member_of(const Part& part) {
  const std::pair<const char*, std::vector<double> TrueGradients::*> members[] = {
      {"dq", &TrueGradients::dq}, {"dk", &TrueGradients::dk},
      {"dv", &TrueGradients::dv}, {"d_log_w", &TrueGradients::d_log_w},
      {"du", &TrueGradients::du}, {"d_initial_state", &TrueGradients::d_initial_state}};
  return std::find_if(std::begin(members), std::end(members),
                      [&](const auto& m) { return part.layout.array == m.first; })
      ->second;
}

// Of one gradient.
std::string misconception(const WkvGradProblem& problem, const Part& part,
                          const TrueGradients& truth, double rounding) {
  const Layout& layout = part.layout;
  const std::vector<float>& result = *part.result;
  const auto array = member_of(part);
  const WkvCase& c = problem.forward.wkv_case;
  if (roughly_equal(result, truth.*array, layout.row(), rounding)) return "";
  const auto equals = [&](const std::vector<double>& other) {
    return other.size() == result.size() && roughly_equal(result, other, layout.row(), rounding);
  };
  const auto is_that_of = [&](const std::function<void(WkvGradProblem&)>& change) {
    WkvGradProblem changed = problem;
    change(changed);
    return equals(wkv_gradients(changed).*array);
  };
  if (is_that_of(
          [](auto& p) { std::fill(p.forward.u.data.begin(), p.forward.u.data.end(), 0.0f); }))
    return "equals the gradient with the bonus forgotten\n";
  if (is_that_of([](auto& p) { p.forward = read_at_the_other_time(std::move(p.forward)); }))
    return c.recurrence == Recurrence::kGla ? "equals the gradient of o read before the update\n"
                                            : "equals the gradient of o read after the update\n";
  if (is_that_of([](auto& p) { p.d_final_state = {}; }))
    return "equals the gradient with d_final_state ignored\n";
  if (is_that_of([](auto& p) { p.forward.initial_state = {}; }))
    return "equals the gradient with the initial state ignored\n";
  if (is_that_of([](auto& p) { p.forward.wkv_case.scale = 1.0f; }))
    return "equals the gradient with the scale forgotten\n";
  if (is_that_of([](auto& p) { p.forward.wkv_case.reverse = !p.forward.wkv_case.reverse; }))
    return "equals the gradient with time running the other way\n";
  if (array == &TrueGradients::d_log_w) {
    std::vector<double> of_factor = truth.d_log_w;
    for (std::size_t i = 0; i < of_factor.size(); ++i)
      of_factor[i] /= std::exp(static_cast<double>(problem.forward.log_w.data[i]));
    if (equals(of_factor)) return "equals the gradient of the decay factor, not of its logarithm\n";
  }
  if (layout.axes.size() < 3 || layout.axes[1] != "t") return "";
  return missing_last_chunk(problem.forward, result, truth.*array, c.H * layout.row(), rounding);
}

}  // namespace

Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs, Arithmetic arithmetic,
              PlainLoop plain_loop) {
  const ExpectedWkv expected = reference::expected(problem, arithmetic);
  const double rounding = arithmetic == Arithmetic::kFp32 ? 0 : kBf16Rounding;
  // Of o and the final state o is what a right verdict is about.
  std::optional<Verdict> first;
  for (const Part& part : parts(problem, expected, outputs, arithmetic)) {
    const Verdict verdict = judge_part(part, [&] {
      return part.layout.array == "o"
                 ? misconception(problem, outputs, expected.truth)
                 : state_without_last_chunk(problem, *part.result, *part.truth, rounding);
    });
    if (!verdict.right) return verdict;
    if (!first) first = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const WkvOutputs plain = wkv_plain(problem, arithmetic);
    add_plain_loop(*first, parts(problem, expected, plain, arithmetic));
  }
  return *first;
}

Verdict judge(const WkvGradProblem& problem, const WkvGradients& gradients, Arithmetic arithmetic,
              PlainLoop plain_loop) {
  const ExpectedWkvGradients expected = reference::expected(problem, arithmetic);
  const Precision precision = problem.forward.wkv_case.precision;
  const double rounding = precision == Precision::kFp32 ? 0 : kBf16Rounding;
  Verdict nearest;
  nearest.right = true;
  for (const Part& part : parts(problem, expected, gradients, arithmetic)) {
    const Verdict verdict =
        judge_part(part, [&] { return misconception(problem, part, expected.truth, rounding); });
    if (!verdict.right) return verdict;
    if (verdict.share > nearest.share) nearest = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const WkvGradients plain = wkv_gradients_plain(problem, arithmetic);
    add_plain_loop(nearest, parts(problem, expected, plain, arithmetic));
  }
  return nearest;
}

Verdict judge(const LinearAttentionProblem& problem, const std::vector<float>& o,
              Arithmetic arithmetic, PlainLoop plain_loop) {
  const ExpectedLinearAttention expected = reference::expected(problem, arithmetic);
  const Part part = parts(problem, expected, o, arithmetic).front();
  Verdict verdict = judge_part(part, [&] { return misconception(problem, o, expected.truth); });
  if (plain_loop == PlainLoop::kToo) {
    const std::vector<float> plain = linear_attention_plain(problem, arithmetic);
    add_plain_loop(verdict, parts(problem, expected, plain, arithmetic));
  }
  return verdict;
}

}  // namespace ladder::reference
