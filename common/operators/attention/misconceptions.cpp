#include "common/operators/misconceptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/operators/attention/gradient_variants.hpp"
#include "common/operators/attention/variants.hpp"
#include "common/operators/attention/walk.hpp"

namespace ladder::reference {
namespace {

using Gradients = BasicAttentionGradients<double>;

// Keys are taken a tile at a time: the last tile is lost, or masked keys count.
void add_tiles(Misconceptions<AttentionResult>& list, const AttentionProblem& problem) {
  using Sequence = AttentionProblem::Sequence;
  using Behind = AttentionSwitches::Behind;
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
  const auto add_loop = [&](const std::string& words, std::int64_t tile,
                            const AttentionSwitches& wrong) {
    list.push_back({words, [&problem, wrong] { return attention_loop(problem, wrong); }, tile});
  };
  for (const auto& [behind, words] :
       {std::pair{Behind::kZeros, "keys of zeros"}, {Behind::kLastKey, "the last key again"}}) {
    for (const std::int64_t tile : kUsualTiles) {
      if (!causal && behind == Behind::kZeros) continue;  // a walk's, below
      AttentionSwitches wrong;
      wrong.mask = causal ? Mask::kTurned : Mask::kOwn;
      wrong.behind = behind;
      wrong.tile = tile;
      add_loop(std::string("equals the result of a mask without effect, or of none: whole tiles of "
                           "* keys count, with ") +
                   words + " behind the last one",
               tile, wrong);
    }
  }
  for (const std::int64_t tile : kUsualTiles) {
    if (!causal) break;
    AttentionSwitches wrong;
    wrong.divisor = AttentionSwitches::Divisor::kSumOfAll;
    wrong.behind = Behind::kLastKey;
    wrong.tile = tile;
    add_loop(
        "equals the result with masked keys counted in the sum, in tiles of * keys, with the last "
        "key again behind the last one",
        tile, wrong);
  }
  for (const std::int64_t tile : {8, 16, 32, 64, 128}) {
    AttentionSwitches wrong;
    wrong.parts_by_exp = tile;
    add_loop("equals the result with exp for exp2 where parts of * keys are put together", tile,
             wrong);
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

void ignore_key_lengths(AttentionProblem& problem) {
  problem.key_lengths = {};
  problem.attention_case.key_lengths = false;
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
                                               const AttentionResult&, Arithmetic) {
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
  const auto add_switches = [&](const std::string& what,
                                const std::function<void(AttentionSwitches&)>& change) {
    add(what, [&problem, change] {
      AttentionSwitches switches;
      change(switches);
      return attention_loop(problem, switches);
    });
  };
  for (const auto& variant : attention_variants(c))
    add_switches(variant.words, variant.change);
  add_switches("without the maximum subtracted: exp overflows", [](AttentionSwitches& s) {
    s.weight = [](double score, double) {
      const double weight = std::exp(score);
      return weight > std::numeric_limits<float>::max() ? kUnwritten : weight;
    };
  });
  if (c.key_lengths) add_change("with the key lengths ignored", ignore_key_lengths);
  if (!c.lengths.empty()) {
    add_change("with the sequences running into each other", [](AttentionProblem& p) {
      p.attention_case.lengths = {};
      p.cu_seqlens_q = p.cu_seqlens_k = {};
    });
  }
  add_tiles(list, problem);
  if (c.precision == Precision::kFp32) {
    add_change("of operands rounded to TF32", [](AttentionProblem& p) {
      to_tf32({&p.q, &p.k, &p.v});
    });
    list.back().slight = "tf32";
  }
  return list;
}

Misconceptions<Gradients> misconceptions(const AttentionGradProblem& problem, const Gradients&,
                                         Arithmetic) {
  const AttentionCase& c = problem.forward.attention_case;
  Misconceptions<Gradients> list;
  const auto add = [&](const std::string& what, const std::function<Gradients()>& answer,
                       std::int64_t tile = 0) {
    list.push_back({"equals the gradient " + what, answer, tile});
  };
  for (const auto& variant : attention_gradient_variants(c)) {
    add(variant.words, [&problem, change = variant.change] {
      AttentionGradSwitches switches;
      change(switches);
      return attention_gradient_loop(problem, switches);
    });
  }
  if (c.key_lengths) {
    add("with the key lengths ignored", [&problem] {
      AttentionGradProblem changed = problem;
      ignore_key_lengths(changed.forward);
      return attention_gradients(changed, attention_closed_sum(problem.forward),
                                 keys_seen(changed.forward));
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
