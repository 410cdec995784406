#include "common/operators/misconceptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/operators/attention/walk.hpp"

namespace ladder::reference {
namespace {

using Gradients = BasicAttentionGradients<double>;

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

// What somebody makes of the mask: another problem, whose keys are seen in another way.
struct Masked {
  std::string words;
  AttentionProblem problem;
  KeysSeen seen;
};

std::vector<Masked> wrong_masks(const AttentionProblem& problem) {
  using Sequence = AttentionProblem::Sequence;
  const AttentionCase& c = problem.attention_case;
  std::vector<Masked> list;
  const auto add_seen = [&](const std::string& words, const auto& seen) {
    list.push_back({words, problem, keys_seen(problem, seen)});
  };
  const auto add_change = [&](const std::string& words, const auto& change) {
    AttentionProblem changed = problem;
    change(changed);
    const KeysSeen seen = keys_seen(changed);
    list.push_back({words, std::move(changed), seen});
  };
  const auto first_with_first = [](const Sequence& s, std::int64_t l) {
    return std::min(l + 1, s.keys);
  };
  add_change(c.causal ? "without the causal mask" : "with a causal mask",
             [&](AttentionProblem& p) { p.attention_case.causal = !c.causal; });
  add_seen(c.causal ? "with the first query aligned with the first key, not the last with the last"
                    : "with a causal mask",
           first_with_first);
  if (c.key_lengths) {
    add_change("with the key lengths ignored", [](AttentionProblem& p) {
      p.key_lengths = {};
      p.attention_case.key_lengths = false;
    });
  }
  add_seen("without the last key", [&](const Sequence& s, std::int64_t l) {
    return std::min(problem.keys_seen(s, l), std::max<std::int64_t>(0, s.keys - 1));
  });
  return list;
}

// Keys are taken a tile at a time: the last tile is lost, or masked keys count.
void add_tiles(Misconceptions<AttentionResult>& list, const AttentionProblem& problem) {
  using Sequence = AttentionProblem::Sequence;
  const bool causal = problem.attention_case.causal;
  for (const std::int64_t tile : kUsualTiles) {
    list.push_back({"equals the result with the last partial tile of * keys missing",
                    [&problem, tile] {
                      const auto whole = [&](const Sequence& s, std::int64_t l) {
                        return std::min(problem.keys_seen(s, l), s.keys / tile * tile);
                      };
                      return attention_closed_sum(problem, keys_seen(problem, whole));
                    },
                    tile});
  }
  for (const std::int64_t tile : kUsualTiles) {
    for (const std::int64_t query_tile : kUsualTiles) {
      list.push_back(
          {causal ? "equals the result with masked keys counted in the sum, in tiles of *"
                  : "equals the result with keys of zeros behind the last one, in tiles of *",
           [&problem, tile, query_tile] {
             return walk(problem, {.tile = tile, .query_tile = query_tile});
           },
           tile});
    }
  }
  for (const bool carried : {true, false}) {
    for (const auto& [o, sum] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      if (carried && o && sum) continue;
      const std::string what = o && sum ? "" : o ? "the sum" : sum ? "o" : "o and the sum";
      const std::string words =
          carried ? "equals the result without rescaling " + what + " when the maximum grows"
          : what.empty()
              ? "equals the result with the maximum not carried from tile to tile"
              : "equals the result with the maximum not carried from tile to tile and without "
                "rescaling " +
                    what;
      for (const std::int64_t tile : {1, 8, 16, 32, 64, 128}) {
        for (const bool last_first : {false, true}) {
          const Walk wrong{.tile = tile,
                           .last_first = last_first,
                           .maximum_carried = carried,
                           .o_rescaled = o,
                           .sum_rescaled = sum};
          list.push_back({words + ", in tiles of *",
                          [&problem, wrong] { return walk(problem, wrong); }, tile});
        }
      }
    }
  }
}

// lse made of its two parts: `of_largest` times the maximum, and `of_log_sum` times the logarithm of the sum.
void add_lse(Misconceptions<AttentionResult>& list, const AttentionResult& truth) {
  const auto add = [&](const char* words, double of_largest, double of_log_sum) {
    list.push_back({words, [&truth, of_largest, of_log_sum] {
                      AttentionResult other = truth;
                      for (std::size_t i = 0; i < other.lse.size(); ++i)
                        other.lse[i] = of_largest * truth.largest[i] +
                                       of_log_sum * (truth.lse[i] - truth.largest[i]);
                      return other;
                    }});
  };
  const char* one_part =
      "equals lse with one of its two parts in base 2: both must be natural logarithms";
  const double to_base_2 = 1 / std::log(2.0);
  add("equals lse in base 2: it must be the natural logarithm", to_base_2, to_base_2);
  add(one_part, to_base_2, 1);
  add(one_part, 1, to_base_2);
  add("equals lse without the maximum", 0, 1);
  add("equals lse without the logarithm of the sum", 1, 0);
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

}  // namespace

Misconceptions<AttentionResult> misconceptions(const AttentionProblem& problem,
                                               const AttentionResult& truth, Arithmetic) {
  const AttentionCase& c = problem.attention_case;
  Misconceptions<AttentionResult> list;
  const auto add = [&](const std::string& what, const std::function<AttentionResult()>& answer) {
    list.push_back({"equals the result " + what, answer});
  };
  const auto add_change = [&](const std::string& what,
                              const std::function<void(AttentionProblem&)>& change) {
    add(what, [&problem, change] {
      AttentionProblem changed = problem;
      change(changed);
      return attention_closed_sum(changed);
    });
  };
  add_lse(list, truth);
  for (const Masked& masked : wrong_masks(problem)) {
    add(masked.words, [masked] { return attention_closed_sum(masked.problem, masked.seen); });
  }
  add_change("with the scale forgotten",
             [](AttentionProblem& p) { p.attention_case.scale = 1.0f; });
  if (!c.lengths.empty()) {
    add_change("with the sequences running into each other", [](AttentionProblem& p) {
      p.attention_case.lengths = {};
      p.cu_seqlens_q = p.cu_seqlens_k = {};
    });
  }
  if (c.H_kv > 1 && c.H_q > c.H_kv) {
    add_change("with query head h at key head h % H_kv, not h / (H_q / H_kv)",
               [&c](AttentionProblem& p) {
                 p = with_key_heads(p, [&c](std::int64_t h) { return h % c.H_kv; });
               });
  }
  if (c.H_kv > 1) {
    add_change("with every query head at key head 0",
               [](AttentionProblem& p) { p = with_key_heads(p, [](std::int64_t) { return 0; }); });
  }
  add("without the division by the sum", [&problem, &truth, &c] {
    AttentionResult undivided = truth;
    for (std::size_t i = 0; i < undivided.o.size(); ++i) {
      const std::size_t at = problem.lse_index(i / c.D / c.H_q, i / c.D % c.H_q);
      if (truth.o[i] != 0) undivided.o[i] *= std::exp(truth.lse[at] - truth.largest[at]);
    }
    return undivided;
  });
  add_tiles(list, problem);
  if (c.precision == Precision::kFp32) {
    add_change("of operands rounded to TF32", [](AttentionProblem& p) {
      to_tf32({&p.q, &p.k, &p.v});
    });
    list.back().slight = "tf32";
  }
  return list;
}

Misconceptions<Gradients> misconceptions(const AttentionGradProblem& problem,
                                         const Gradients& truth, Arithmetic) {
  const AttentionCase& c = problem.forward.attention_case;
  Misconceptions<Gradients> list;
  const auto add = [&](const std::string& what, const std::function<Gradients()>& answer,
                       std::int64_t tile = 0) {
    list.push_back({"equals the gradient " + what, answer, tile});
  };
  // From another forward pass than the exact one.
  const auto add_forward = [&](const std::string& what,
                               const std::function<void(AttentionResult&)>& change) {
    add(what, [&problem, change] {
      AttentionResult forward = attention_closed_sum(problem.forward);
      change(forward);
      return attention_gradients(problem, forward, keys_seen(problem.forward));
    });
  };
  // delta is the sum of d_o o.
  add_forward("with delta forgotten",
              [](AttentionResult& f) { std::fill(f.o.begin(), f.o.end(), 0.0); });
  add("without the scale", [&problem, &truth] {
    Gradients unscaled = truth;
    for (std::vector<double>* gradient : {&unscaled.dq, &unscaled.dk}) {
      for (double& x : *gradient)
        x /= problem.forward.args().scale;
    }
    return unscaled;
  });
  add_forward("with lse taken for a logarithm in base 2", [](AttentionResult& f) {
    for (double& lse : f.lse)
      lse *= std::log(2.0);
  });
  for (const Masked& masked : wrong_masks(problem.forward)) {
    add(masked.words, [&problem, masked] {
      AttentionGradProblem changed = problem;
      changed.forward = masked.problem;
      return attention_gradients(changed, attention_closed_sum(problem.forward), masked.seen);
    });
  }
  const std::int64_t group = c.H_q / c.H_kv;
  for (const std::int64_t head : {group - 1, std::int64_t{0}}) {
    if (group == 1) break;
    add(std::string("of the ") + (head == 0 ? "first" : "last") + " query head of each group alone",
        [&problem, group, head] {
          return attention_gradients(without_queries(
              problem,
              [&](const auto&, std::int64_t, std::int64_t h) { return h % group == head; }));
        });
  }
  for (const std::int64_t tile : kUsualTiles) {
    add(
        "with the last partial tile of * queries missing",
        [&problem, tile] {
          return attention_gradients(
              without_queries(problem, [&](const AttentionProblem::Sequence& s, std::int64_t l,
                                           std::int64_t) { return l < s.queries / tile * tile; }));
        },
        tile);
  }
  if (c.precision == Precision::kFp32) {
    add("of operands rounded to TF32", [&problem] {
      AttentionGradProblem changed = problem;
      to_tf32({&changed.forward.q, &changed.forward.k, &changed.forward.v, &changed.d_o});
      return attention_gradients(changed);
    });
    list.back().slight = "tf32";
  }
  return list;
}

}  // namespace ladder::reference
