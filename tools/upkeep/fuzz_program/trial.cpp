#include "tools/upkeep/fuzz_program/trial.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>
#include <stdexcept>

#include "common/operators/attention/operator.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"

namespace ladder::fuzz {
namespace {

constexpr std::size_t kMostImplementations = 3;

Precision precision_of(const WkvProblem& p) {
  return p.wkv_case.precision;
}
Precision precision_of(const LinearAttentionProblem& p) {
  return p.attention_case.precision;
}
Precision precision_of(const AttentionProblem& p) {
  return p.attention_case.precision;
}
template <typename GradProblem>
Precision precision_of(const GradProblem& p) requires requires {
  p.forward;
}
{ return precision_of(p.forward); }

template <typename Problem>
auto run_it(const Implementation& implementation, const Problem& problem) {
  if constexpr (requires { problem.forward; }) {
    return run_backward(implementation, problem);
  } else {
    return run(implementation, problem);
  }
}

template <typename Problem>
bool computes(const Implementation& implementation, const Problem& problem) {
  const std::string precision = to_string(precision_of(problem));
  const auto has = [&]<typename Op>() {
    return with_storage<Op>(
        precision, [&]<typename Args>() { return launcher<Op, Args>(implementation) != nullptr; });
  };
  if constexpr (std::is_same_v<Problem, WkvProblem>) {
    return with_forward(problem.wkv_case.recurrence, has);
  } else if constexpr (std::is_same_v<Problem, WkvGradProblem>) {
    return with_backward(problem.forward.wkv_case.recurrence, has);
  } else if constexpr (std::is_same_v<Problem, AttentionProblem>) {
    return has.template operator()<Attention>();
  } else if constexpr (std::is_same_v<Problem, AttentionGradProblem>) {
    return has.template operator()<AttentionBackward>();
  } else {
    return has.template operator()<LinearAttention>();
  }
}

// An output, and to which head and sequence each element belongs; sequence -1: it is a sum over all of them.
struct Part {
  std::string name;
  const std::vector<float>* values;
  std::function<std::int64_t(std::int64_t)> head, sequence;
};

std::int64_t found(const Tensor<std::int64_t>& cu_seqlens, std::int64_t row, std::int64_t T) {
  if (cu_seqlens.empty()) return row / T;
  std::int64_t n = 0;
  while (cu_seqlens.data[n + 1] <= row)
    ++n;
  return n;
}

Part rows(const std::string& name, const std::vector<float>& values, std::int64_t heads,
          std::int64_t width, const Tensor<std::int64_t>& cu_seqlens, std::int64_t T,
          std::int64_t group = 1) {
  return {name, &values, [=](std::int64_t i) { return i / width % heads / group; },
          [=, &cu_seqlens](std::int64_t i) { return found(cu_seqlens, i / width / heads, T); }};
}

Part states(const std::string& name, const std::vector<float>& values, const WkvCase& c) {
  const std::int64_t state = c.K * c.V, H = c.H;
  return {name, &values, [=](std::int64_t i) { return i / state % H; },
          [=](std::int64_t i) { return i / state / H; }};
}

Part sums(const std::string& name, const std::vector<float>& values, std::int64_t K) {
  return {name, &values, [=](std::int64_t i) { return i / K; }, [](std::int64_t) { return -1; }};
}

std::vector<Part> parts(const WkvProblem& p, const WkvOutputs& out) {
  const WkvCase& c = p.wkv_case;
  return {rows("o", out.o, c.H, c.V, p.cu_seqlens, c.T), states("final_state", out.final_state, c)};
}

std::vector<Part> parts(const WkvGradProblem& problem, const WkvGradients& out) {
  const WkvProblem& p = problem.forward;
  const WkvCase& c = p.wkv_case;
  return {rows("dq", out.dq, c.H, c.K, p.cu_seqlens, c.T),
          rows("dk", out.dk, c.H, c.K, p.cu_seqlens, c.T),
          rows("dv", out.dv, c.H, c.V, p.cu_seqlens, c.T),
          c.decay_per_head ? sums("d_log_w", out.d_log_w, c.K)
                           : rows("d_log_w", out.d_log_w, c.H, c.K, p.cu_seqlens, c.T),
          sums("du", out.du, c.K),
          states("d_initial_state", out.d_initial_state, c)};
}

std::vector<Part> parts(const LinearAttentionProblem& p, const std::vector<float>& o) {
  static const Tensor<std::int64_t> not_packed;
  const LinearAttentionCase& c = p.attention_case;
  return {rows("o", o, c.H, c.V, not_packed, c.T_q)};
}

std::vector<Part> parts(const AttentionProblem& p, const AttentionOutputs& out) {
  const AttentionCase& c = p.attention_case;
  const std::int64_t group = c.H_q / c.H_kv, H_q = c.H_q, T_q = c.T_q;
  const auto& packed = p.cu_seqlens_q;
  return {
      rows("o", out.o, H_q, c.D, packed, T_q, group),
      {"lse", &out.lse, [=](std::int64_t i) { return i / T_q % H_q / group; },
       [=, &packed](std::int64_t i) { return found(packed, i / T_q / H_q * T_q + i % T_q, T_q); }}};
}

std::vector<Part> parts(const AttentionGradProblem& problem, const AttentionGradients& out) {
  const AttentionProblem& p = problem.forward;
  const AttentionCase& c = p.attention_case;
  return {rows("dq", out.dq, c.H_q, c.D, p.cu_seqlens_q, c.T_q, c.H_q / c.H_kv),
          rows("dk", out.dk, c.H_kv, c.D, p.cu_seqlens_k, c.T_k),
          rows("dv", out.dv, c.H_kv, c.D, p.cu_seqlens_k, c.T_k)};
}

// What of another head or sequence the bad value has changed; empty: nothing. Kernels that add in any order may differ in a rounding.
std::string spread(const std::vector<Part>& clean, const std::vector<Part>& dirty,
                   const BadValue& bad, double tolerance) {
  for (std::size_t n = 0; n < clean.size(); ++n) {
    const std::vector<float>&before = *clean[n].values, &after = *dirty[n].values;
    float largest = 0;
    for (const float x : before) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::int64_t of = clean[n].sequence(static_cast<std::int64_t>(i));
      const bool same_sequence = of == -1 || bad.sequence == -1 || of == bad.sequence;
      if (same_sequence && clean[n].head(static_cast<std::int64_t>(i)) == bad.head) continue;
      if (before[i] == after[i]) continue;  // infinite lse too
      if (!(std::abs(before[i] - after[i]) <= tolerance * largest)) {
        return clean[n].name + " element " + std::to_string(i) + " was " +
               std::to_string(before[i]) + " and is " + std::to_string(after[i]);
      }
    }
  }
  return "";
}

// A sentence that names an argument of some operator, and says what is allowed.
bool is_clear(const std::string& message) {
  static const std::regex argument(
      R"(\b(B|T|H|K|V|D|T_q|T_k|H_q|H_kv|q|k|v|o|u|lse|log_w|scale|reverse|initial_state|final_state|)"
      R"(d_\w+|dq|dk|dv|du|sequences|cu_seqlens\w*|key_lengths|causal|feature_map|normalize|eps)\b)");
  return std::regex_search(message, argument) && message.find("allow") != std::string::npos;
}

template <typename P>
Trial tried(const Implementation& implementation, const std::string& schedule, const P& problem,
            const std::optional<BadValue>& bad) {
  Trial trial{.implementation = implementation.name, .schedule = schedule};
  const bool fp32 = precision_of(problem) == Precision::kFp32;
  const double wide = fp32 ? kWideFp32 : kWide16Bit;
  try {
    const auto outputs = run_it(implementation, problem);
    if (bad) {
      const P with_bad = std::get<P>(spoiled(problem, *bad));
      const auto of_bad = run_it(implementation, with_bad);
      trial.message = spread(parts(problem, outputs), parts(with_bad, of_bad), *bad, wide);
      trial.outcome = trial.message.empty() ? "right" : "spread";
      return trial;
    }
    const reference::Verdict verdict =
        reference::judge(problem, outputs, arithmetic_of(implementation, precision_of(problem)));
    trial.error = verdict.error.whole;
    trial.limit = verdict.limit.whole;
    trial.share = verdict.share;
    trial.message = verdict.message;
    const bool near =
        verdict.error.finite && verdict.error.whole <= std::max(wide, 2 * verdict.limit.whole);
    trial.outcome = verdict.right ? "right" : near ? "complaint" : "wrong";
  } catch (const std::invalid_argument& error) {
    trial.message = error.what();
    trial.outcome = is_clear(trial.message) ? "refused" : "failed";
  } catch (const std::exception& error) {
    trial.message = error.what();
    trial.outcome = "failed";
  }
  return trial;
}

}  // namespace

std::vector<Trial> try_out(const Draw& draw, std::uint64_t seed, std::uint64_t index,
                           const std::string& only,
                           const std::function<void(const Trial&)>& announce) {
  Random random(~seed, index);
  return std::visit(
      [&](const auto& problem) {
        std::vector<Implementation> able;
        for (const Implementation& implementation : implementations()) {
          if (computes(implementation, problem)) able.push_back(implementation);
        }
        while (only.empty() && able.size() > kMostImplementations)
          able.erase(able.begin() + static_cast<std::ptrdiff_t>(random.below(able.size())));
        std::vector<Trial> trials;
        for (const Implementation& implementation : able) {
          Device& where = device(implementation.device);
          const std::vector<std::string> schedules = where.schedules();
          const std::string schedule = schedules[random.below(schedules.size())];
          if (!only.empty() && implementation.name != only) continue;
          where.use_schedule(schedule);
          announce({.implementation = implementation.name, .schedule = schedule});
          trials.push_back(tried(implementation, schedule, problem, draw.bad));
        }
        return trials;
      },
      draw.problem);
}

}  // namespace ladder::fuzz
