// Wrong computations of WKV, GLA and their gradients: a loop for each formula with switches,
// variants that change them, and other known mistakes (common/judge/mistakes.hpp).
#pragma once

#include <cmath>
#include <vector>

#include "common/judge/mistakes.hpp"
#include "common/operators/wkv/truth.hpp"

namespace ladder {

// The defaults are right for WKV. right_switches() returns the right ones for either recurrence.
struct WkvSwitches {
  enum class Read { kBefore, kDecayed, kUpdated } read = Read::kBefore;
  // The terms of the key rows in the bonus: all, or those left by an incomplete reduction in warps.
  enum class Bonus {
    kSum,
    kNone,
    kWithoutQ,
    kWithoutK,
    kWithoutV,
    kSumInLane0,
    kOwnLane,
    kHalfWarp,
    kEverySecondLane,
    kMirroredLane
  } bonus = Bonus::kSum;
  enum class Array { kQ, kK, kV };
  Array q_from = Array::kQ, k_from = Array::kK, v_from = Array::kV;
  double (*factor)(double log_w) = [](double log_w) { return std::exp(log_w); };
  double (*scale)(double scale) = [](double scale) { return scale; };
  double (*of_u)(double u, double log_w) = [](double u, double) { return u; };
  bool u_for_decay = false;
  bool u_in_state = false;  // kv is multiplied by u before it is added to the state
  bool scale_of_state = true, scale_of_bonus = true;  // scale this part of o
  bool scale_in_state = false;                        // likewise, by the scale
  bool decays_new = false;                            // likewise, by the decay
  bool final_transposed = false;
  bool time_turned = false;
  bool bf16_operands = false;  // o reads a state rounded to bf16
  bool bf16_state = false;     // the state is rounded to bf16 in every step
};

WkvSwitches right_switches(const WkvArgs& args);

// `Number` is double or float. In float with the right switches it is a plain implementation.
template <typename Number = double>
BasicWkvOutputs<Number> wkv_loop(const WkvArgs& args, const WkvSwitches& s);

// The variants that a case can reveal.
Variants<WkvSwitches> wkv_variants(const WkvCase& c);

// The defaults are right for both recurrences.
struct WkvGradSwitches {
  bool other_recurrence = false;
  enum class State {
    kOwn,
    kOther,
    kDecayed
  } read_by_dq = State::kOwn;  // kOther: as in the other recurrence
  bool bonus_in_dq = true, bonus_in_dk = true, bonus_in_dv = true, state_in_dk = true,
       state_in_dv = true;
  enum class Adjoint { kOwn, kDecayed, kOther } of_dk = Adjoint::kOwn, of_dv = Adjoint::kOwn;
  double (*factor)(double log_w) = [](double log_w) { return std::exp(log_w); };
  double (*d_log_w_factor)(double w) = [](double w) { return w; };
  bool state_after_in_d_log_w = false, read_in_d_log_w = false;
  enum class Sum { kOwn, kLastStep, kLastBatch } of_du = Sum::kOwn;
  bool scale_in_state = true, scale_in_dq = true, scale_in_du = true;
  bool adjoint_decays = true;
  bool time_turned = false;
  bool u_forgotten = false, scale_forgotten = false;
  bool bf16_operands = false;  // rounds states and gradients in products to bf16
};

template <typename Number = double>
BasicWkvGradients<Number> wkv_gradient_loop(const WkvGradArgs& args, const WkvGradSwitches& s);

Variants<WkvGradSwitches> wkv_gradient_variants(const WkvCase& c);

// The results refer to `problem` and `truth`.
Mistakes wkv_mistakes(const WkvProblem& problem, const std::vector<Truth>& truth,
                      Arithmetic arithmetic);
Mistakes wkv_gradient_mistakes(const WkvGradProblem& problem, const std::vector<Truth>& truth,
                               Arithmetic arithmetic);

// Results of the right loops in float, rounded to storage.
Outputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic);
Outputs wkv_gradients_plain(const WkvGradProblem& problem, Arithmetic arithmetic);

}  // namespace ladder
