// WKV, GLA and their gradients as they are computed wrongly: one plain loop for each formula, with switches; the changes of its switches
// that somebody makes; and what else is known of wrong results (common/judge/mistakes.hpp). In float and with the right switches a loop
// is what somebody who writes down the formula gets with fp32 sums and states.
#pragma once

#include <cmath>
#include <vector>

#include "common/judge/mistakes.hpp"
#include "common/operators/wkv/truth.hpp"

namespace ladder {

// As they stand here: WKV. right_switches has those of either recurrence.
struct WkvSwitches {
  enum class Read { kBefore, kDecayed, kUpdated } read = Read::kBefore;
  // Which of the terms of the key rows it has: all, or what warps of 32 lanes make of them that exchange too little.
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
  bool u_in_state = false;  // what is added to the state is multiplied by u
  bool scale_of_state = true, scale_of_bonus = true;  // whether that part of o is multiplied by it
  bool scale_in_state = false;  // what is added to the state is multiplied by the scale
  bool decays_new = false;      // so is what is added decayed
  bool final_transposed = false;
  bool time_turned = false;
  bool bf16_operands = false;  // o is made of a state that is rounded to bf16
  bool bf16_state = false;     // the state itself is, in every step
};

WkvSwitches right_switches(const WkvArgs& args);

// `Number` is double or float.
template <typename Number = double>
BasicWkvOutputs<Number> wkv_loop(const WkvArgs& args, const WkvSwitches& s);

// Those that a case can show.
Variants<WkvSwitches> wkv_variants(const WkvCase& c);

// As they stand here: right, for either recurrence.
struct WkvGradSwitches {
  bool other_recurrence = false;
  enum class State {
    kOwn,
    kOther,
    kDecayed
  } read_by_dq = State::kOwn;  // kOther: of the other recurrence
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
  bool bf16_operands = false;  // states and gradients are rounded to bf16 where they are multiplied
};

template <typename Number = double>
BasicWkvGradients<Number> wkv_gradient_loop(const WkvGradArgs& args, const WkvGradSwitches& s);

Variants<WkvGradSwitches> wkv_gradient_variants(const WkvCase& c);

// They refer to the problem and to the truth.
Mistakes wkv_mistakes(const WkvProblem& problem, const std::vector<Truth>& truth,
                      Arithmetic arithmetic);
Mistakes wkv_gradient_mistakes(const WkvGradProblem& problem, const std::vector<Truth>& truth,
                               Arithmetic arithmetic);

// The loops in float, stored.
Outputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic);
Outputs wkv_gradients_plain(const WkvGradProblem& problem, Arithmetic arithmetic);

}  // namespace ladder
