#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "common/judge/judging.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::reference {
namespace {

using Faults = AttentionFaults;
using Mask = Faults::Mask;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A misconception is recognised by computing what it gives, and there are about a hundred of them. Multiply-adds:
constexpr double kMostExplained = 1e7;
constexpr const char* kTooLarge = "no misconception is looked for in a case as large as this\n";

double rounding_of(const AttentionCase& c) {
  return c.precision == Precision::kFp32 ? 0 : kBf16Rounding;
}

// Whether each of `queries`, (B * T_q) x H_q, sees a key, and each of `keys`, (B * T_k) x H_kv, is seen.
struct Involved {
  std::vector<bool> queries, keys;

  explicit Involved(const AttentionProblem& p)
      : queries(p.attention_case.B * p.attention_case.T_q * p.attention_case.H_q),
        keys(p.attention_case.B * p.attention_case.T_k * p.attention_case.H_kv) {
    const AttentionCase& c = p.attention_case;
    for (std::int64_t n = 0; n < c.sequences(); ++n) {
      const AttentionProblem::Sequence s = p.sequence(n);
      for (std::int64_t l = 0; l < s.queries; ++l) {
        if (p.keys_seen(s, l) > 0)
          std::fill_n(queries.begin() + (s.first_query + l) * c.H_q, c.H_q, true);
      }
      if (s.queries > 0) std::fill_n(keys.begin() + s.first_key * c.H_kv, s.keys * c.H_kv, true);
    }
  }
};

// Says which row of an uninvolved query or key is not exactly 0; nothing where they all are.
std::string not_zero(const Layout& layout, const std::vector<float>& result,
                     const std::vector<bool>& involved, const char* rule) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (involved[i / layout.row()] || result[i] == 0) continue;
    std::ostringstream text;
    text << "WRONG RESULT in " << layout.array << "\n"
         << layout.position(i) << " is " << result[i] << "; " << rule << "\n";
    return text.str();
  }
  return "";
}

Verdict wrong(const std::string& message) {
  Verdict verdict;
  verdict.message = message;
  return verdict;
}

// Equal, or neither of them a number.
bool same(std::vector<float> result, std::vector<double> other, double rounding) {
  if (result.size() != other.size()) return false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!std::isfinite(other[i]) && !std::isfinite(result[i])) result[i] = other[i] = 0;
  }
  return roughly_equal(result, other, 1, rounding);
}

// The problem of somebody whose query head h uses key head `used(h)`.
AttentionProblem with_key_heads(AttentionProblem problem,
                                const std::function<std::int64_t(std::int64_t)>& used) {
  AttentionCase& c = problem.attention_case;
  for (Tensor<float>* tensor : {&problem.k, &problem.v}) {
    Tensor<float> spread({c.B, c.T_k, c.H_q, c.D});
    for (std::int64_t row = 0; row < c.B * c.T_k * c.H_q; ++row) {
      const std::int64_t from = row / c.H_q * c.H_kv + used(row % c.H_q);
      std::copy_n(tensor->data.begin() + from * c.D, c.D, spread.data.begin() + row * c.D);
    }
    *tensor = std::move(spread);
  }
  c.H_kv = c.H_q;
  return problem;
}

// What somebody makes of the masks, of the forward pass or of a gradient. `equals(faults)` says whether the result is that.
std::string mask_misconception(const AttentionCase& c, const char* result,
                               const std::function<bool(const Faults&)>& equals) {
  const std::string equal = std::string("equals the ") + result;
  if (c.causal) {
    if (equals({.mask = Mask::kNone})) return equal + " without the causal mask\n";
    if (equals({.mask = Mask::kFirstWithFirst}))
      return equal +
             " with the first query aligned with the first key, not the last with the last\n";
  } else if (equals({.mask = Mask::kCausal}) || equals({.mask = Mask::kFirstWithFirst})) {
    return equal + " with a causal mask\n";
  }
  if (c.key_lengths && equals({.key_lengths_ignored = true}))
    return equal + " with the key lengths ignored\n";
  if (equals({.keys_lost = 1})) return equal + " without the last key\n";
  return "";
}

// What somebody gets wrong who takes the keys a tile at a time.
std::string tile_misconception(const AttentionCase& c,
                               const std::function<bool(const Faults&)>& equals) {
  const std::string partial = fitting_chunks(
      [&](std::int64_t tile) { return equals({.key_tile = tile, .whole_tiles_only = true}); });
  if (!partial.empty())
    return "equals the result with the last partial tile of " + partial + " keys missing\n";
  const std::string masked = fitting_chunks([&](std::int64_t tile) {
    return !fitting_chunks([&](std::int64_t query_tile) {
              return equals(
                  {.key_tile = tile, .masked_keys_count = true, .query_tile = query_tile});
            }).empty();
  });
  if (!masked.empty()) {
    return c.causal ? "equals the result with masked keys counted in the sum, in tiles of " +
                          masked + "\n"
                    : "equals the result with keys of zeros behind the last one, in tiles of " +
                          masked + "\n";
  }
  for (const bool carried : {true, false}) {
    for (const auto& [o, sum] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      if (carried && o && sum) continue;
      const std::string tiles = fitting_chunks(
          [&](std::int64_t tile) {
            Faults faults{
                .key_tile = tile, .maximum_carried = carried, .o_rescaled = o, .sum_rescaled = sum};
            if (equals(faults)) return true;
            faults.last_tile_first = true;
            return equals(faults);
          },
          {1, 8, 16, 32, 64, 128});
      if (tiles.empty()) continue;
      const std::string what = o && sum ? "" : o ? "the sum" : sum ? "o" : "o and the sum";
      return (carried ? "equals the result without rescaling " + what + " when the maximum grows"
              : what.empty() ? "equals the result with the maximum not carried from tile to tile"
                             : "equals the result with the maximum not carried from tile to tile "
                               "and without rescaling " +
                                   what) +
             ", in tiles of " + tiles + "\n";
    }
  }
  return "";
}

std::string lse_misconception(const AttentionResult& truth,
                              const std::function<bool(const std::vector<double>&)>& equals) {
  const auto is = [&](double of_largest, double of_log_sum) {
    std::vector<double> other = truth.largest;
    for (std::size_t i = 0; i < other.size(); ++i)
      other[i] = of_largest * truth.largest[i] + of_log_sum * (truth.lse[i] - truth.largest[i]);
    return equals(other);
  };
  const double to_base_2 = 1 / std::log(2.0);
  if (is(to_base_2, to_base_2)) return "equals lse in base 2: it must be the natural logarithm\n";
  if (is(to_base_2, 1) || is(1, to_base_2))
    return "equals lse with one of its two parts in base 2: both must be natural logarithms\n";
  if (is(0, 1)) return "equals lse without the maximum\n";
  if (is(1, 0)) return "equals lse without the logarithm of the sum\n";
  return "";
}

std::string misconception(const AttentionProblem& problem, const AttentionOutputs& outputs,
                          const AttentionResult& truth) {
  if (attention_fma_count(problem.args()) > kMostExplained) return kTooLarge;
  const AttentionCase& c = problem.attention_case;
  const double rounding = rounding_of(c);
  // Where o hides it behind its rounding, lse does not.
  const bool o_is_right = same(outputs.o, truth.o, rounding);
  const auto equals_result = [&](const AttentionResult& other) {
    return o_is_right ? same(outputs.lse, other.lse, 0) && !same(outputs.lse, truth.lse, 0)
                      : same(outputs.o, other.o, rounding);
  };
  const auto equals = [&](const Faults& faults) {
    return equals_result(attention_recurrence(problem, faults));
  };
  if (o_is_right) {
    const std::string of_lse = lse_misconception(
        truth, [&](const std::vector<double>& lse) { return same(outputs.lse, lse, 0); });
    if (!of_lse.empty() && !same(outputs.lse, truth.lse, 0)) return of_lse;
  }
  const std::string mask = mask_misconception(c, "result", equals);
  if (!mask.empty()) return mask;
  AttentionProblem changed = problem;
  changed.attention_case.scale = 1.0f;
  if (equals_result(attention_closed_sum(changed)))
    return "equals the result with the scale forgotten\n";
  if (!c.lengths.empty()) {
    changed = problem;
    changed.attention_case.lengths = {};
    changed.cu_seqlens_q = changed.cu_seqlens_k = {};
    if (equals_result(attention_closed_sum(changed)))
      return "equals the result with the sequences running into each other\n";
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    const auto modulo = [&](std::int64_t h) { return h % c.H_kv; };
    if (equals_result(attention_closed_sum(with_key_heads(problem, modulo))))
      return "equals the result with query head h at key head h % H_kv, not h / (H_q / H_kv)\n";
  }
  if (c.H_kv > 1 &&
      equals_result(attention_closed_sum(with_key_heads(problem, [](std::int64_t) { return 0; }))))
    return "equals the result with every query head at key head 0\n";
  AttentionResult undivided = truth;
  for (std::size_t i = 0; i < undivided.o.size(); ++i) {
    const std::size_t at = problem.lse_index(i / c.D / c.H_q, i / c.D % c.H_q);
    if (truth.o[i] != 0) undivided.o[i] *= std::exp(truth.lse[at] - truth.largest[at]);
  }
  if (equals_result(undivided)) return "equals the result without the division by the sum\n";
  return tile_misconception(c, equals);
}

// The problem of a loss that does not look at the queries for which `looks(l, h)` is false.
AttentionGradProblem without_queries(AttentionGradProblem problem,
                                     const std::function<bool(const AttentionProblem::Sequence&,
                                                              std::int64_t, std::int64_t)>& looks) {
  const AttentionCase& c = problem.forward.attention_case;
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    const AttentionProblem::Sequence s = problem.forward.sequence(n);
    for (std::int64_t row = 0; row < s.queries * c.H_q; ++row) {
      if (!looks(s, row / c.H_q, row % c.H_q))
        std::fill_n(problem.d_o.data.begin() + (s.first_query * c.H_q + row) * c.D, c.D, 0.0f);
    }
  }
  return problem;
}

using Gradients = BasicAttentionGradients<double>;

// Of one gradient.
std::string misconception(const AttentionGradProblem& problem, const std::vector<float>& result,
                          const Gradients& truth, std::vector<double> Gradients::*array) {
  if (attention_fma_count(problem.forward.args()) > kMostExplained) return kTooLarge;
  const AttentionCase& c = problem.forward.attention_case;
  const double rounding = rounding_of(c);
  const auto equals_array = [&](const std::vector<double>& other) {
    return same(result, other, rounding) && !same(result, truth.*array, rounding);
  };
  const auto equals = [&](const Faults& faults) {
    return equals_array(attention_gradients(problem, faults).*array);
  };
  if (equals({.delta_forgotten = true})) return "equals the gradient with delta forgotten\n";
  if (array != &Gradients::dv) {
    std::vector<double> unscaled = truth.*array;
    for (double& x : unscaled)
      x /= problem.forward.args().scale;
    if (equals_array(unscaled)) return "equals the gradient without the scale\n";
  }
  if (equals({.lse_in_base_2 = true}))
    return "equals the gradient with lse taken for a logarithm in base 2\n";
  const std::string mask = mask_misconception(c, "gradient", equals);
  if (!mask.empty() || array == &Gradients::dq) return mask;
  const std::int64_t group = c.H_q / c.H_kv;
  for (const std::int64_t head : {group - 1, std::int64_t{0}}) {
    const auto looks = [&](const auto&, std::int64_t, std::int64_t h) { return h % group == head; };
    if (group > 1 && equals_array(attention_gradients(without_queries(problem, looks)).*array))
      return std::string("equals the gradient of the ") + (head == 0 ? "first" : "last") +
             " query head of each group alone\n";
  }
  const std::string tiles = fitting_chunks([&](std::int64_t tile) {
    const auto looks = [&](const AttentionProblem::Sequence& s, std::int64_t l, std::int64_t) {
      return l < s.queries / tile * tile;
    };
    return equals_array(attention_gradients(without_queries(problem, looks)).*array);
  });
  return tiles.empty()
             ? ""
             : "equals the gradient with the last partial tile of " + tiles + " queries missing\n";
}

}  // namespace

Verdict judge(const AttentionProblem& problem, const AttentionOutputs& outputs,
              Arithmetic arithmetic, PlainLoop plain_loop) {
  ExpectedAttention expected = reference::expected(problem, arithmetic);
  const AttentionResult truth = expected.truth;
  const auto explain = [&] { return misconception(problem, outputs, truth); };
  AttentionOutputs finite = outputs;
  const std::vector<Part> both = parts(problem, expected, finite, arithmetic);
  const Part &o = both[0], &lse = both[1];
  if (outputs.o.size() == truth.o.size() && outputs.lse.size() == truth.lse.size()) {
    const std::string message =
        not_zero(o.layout, outputs.o, Involved(problem).queries,
                 "a query that sees no key must have o = 0 and lse = -inf, exactly");
    if (!message.empty()) return wrong(message + explain());
    // What must be -inf is, from here on, as good as 0 where it is.
    for (std::size_t i = 0; i < truth.lse.size(); ++i) {
      if (truth.lse[i] == -kInfinity && outputs.lse[i] == -kInfinity)
        expected.truth.lse[i] = finite.lse[i] = 0;
    }
  }
  Verdict of_o = judge_part(o, explain);
  if (!of_o.right) return of_o;
  for (std::size_t i = 0; i < finite.lse.size() && finite.lse.size() == truth.lse.size(); ++i) {
    if (expected.truth.lse[i] != -kInfinity) continue;
    std::ostringstream text;
    text << "WRONG RESULT in lse\n"
         << lse.layout.position(i) << " is " << outputs.lse[i]
         << "; a query that sees no key must have o = 0 and lse = -inf, exactly\n";
    return wrong(text.str() + explain());
  }
  const Verdict of_lse = judge_part(lse, explain);
  if (!of_lse.right) return of_lse;
  if (plain_loop == PlainLoop::kToo) {
    const AttentionOutputs plain = attention_plain(problem, arithmetic);
    add_plain_loop(of_o, parts(problem, expected, plain, arithmetic));
  }
  return of_o;
}

Verdict judge(const AttentionGradProblem& problem, const AttentionGradients& gradients,
              Arithmetic arithmetic, PlainLoop plain_loop) {
  const ExpectedAttentionGradients expected = reference::expected(problem, arithmetic);
  const Gradients& truth = expected.truth;
  const Involved involved(problem.forward);
  Verdict nearest;
  nearest.right = true;
  for (const Part& part : parts(problem, expected, gradients, arithmetic)) {
    const bool of_query = part.layout.array == "dq";
    const auto member = of_query                    ? &Gradients::dq
                        : part.layout.array == "dk" ? &Gradients::dk
                                                    : &Gradients::dv;
    const auto explain = [&] { return misconception(problem, *part.result, truth, member); };
    if (part.result->size() == part.truth->size()) {
      const std::string message =
          not_zero(part.layout, *part.result, of_query ? involved.queries : involved.keys,
                   of_query ? "the gradient of a query that sees no key must be 0, exactly"
                            : "the gradient of a key that no query sees must be 0, exactly");
      if (!message.empty()) return wrong(message + explain());
    }
    const Verdict verdict = judge_part(part, explain);
    if (!verdict.right) return verdict;
    if (verdict.share > nearest.share) nearest = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const AttentionGradients plain = attention_gradients_plain(problem, arithmetic);
    add_plain_loop(nearest, parts(problem, expected, plain, arithmetic));
  }
  return nearest;
}

}  // namespace ladder::reference
