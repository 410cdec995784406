// Wrong computations of linear attention: a loop with switches, and variants that change them
// (common/judge/variants.hpp).
#pragma once

#include <vector>

#include "common/judge/variants.hpp"
#include "common/operators/linear_attention/cases.hpp"

namespace ladder {

// The defaults are right. Feature map, mask and normaliser come from the case.
struct LinearAttentionSwitches {
  enum class Map {
    kOwn,
    kNone,
    kElu,
    kExp,
    kRelu,
    kTwice
  } map_of_q = Map::kOwn,
    map_of_k = Map::kOwn;
  enum class Mask { kOwn, kTurned, kStrict, kOneMore, kFromBehind } mask = Mask::kOwn;
  enum class Normaliser {
    kOwn,
    kTurned,
    kOfFirstKey,
    kOfLastKey,
    kWithoutLastKey,
    kOfAllKeys,
    kOfRawKeys,
    kWithoutQ,
    kOfKForQ,
    kMean,
    kTwice,
    kMultiplied
  };
  Normaliser normaliser = Normaliser::kOwn;
  enum class Array { kQ, kK, kV };
  Array q_from = Array::kQ, k_from = Array::kK, v_from = Array::kV;
  double (*add_eps)(double normaliser, double eps) = [](double n, double eps) { return n + eps; };
  double factor = 1;
  bool lengths_ignored = false;
  bool read_transposed = false;
  bool state_overwritten = false;
  // Rounding of the state in every step, and of product operands, to bf16 or fp16.
  double (*kept_state)(double) = nullptr;
  double (*operand)(double) = nullptr;
};

// o, with sums and states in Number. In float with the defaults it is a plain fp32 implementation.
template <typename Number = double>
std::vector<Number> linear_attention_loop(const LinearAttentionProblem& problem,
                                          const LinearAttentionSwitches& s);

// The variants that a case can reveal.
Variants<LinearAttentionSwitches> linear_attention_variants(const LinearAttentionCase& c);

}  // namespace ladder
