// The gradients of WKV and GLA as they are computed wrongly: one loop with switches, and their changes (common/operators/variants.hpp).
#pragma once

#include <cmath>

#include "common/operators/variants.hpp"
#include "common/operators/wkv/reference.hpp"

namespace ladder::reference {

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
  bool adjoint_decays = true, adjoint_kept = false;  // from one sequence to the next
  bool d_final_state_ignored = false, initial_ignored = false;
  bool time_turned = false;
  bool u_forgotten = false, scale_forgotten = false;
};

BasicWkvGradients<double> wkv_gradient_loop(const WkvGradProblem& problem,
                                            const WkvGradSwitches& s);

// Those that a case can show.
Variants<WkvGradSwitches> wkv_gradient_variants(const WkvCase& c);

}  // namespace ladder::reference
