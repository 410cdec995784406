// WKV and GLA as they are computed wrongly: one loop with switches, and their changes (common/operators/variants.hpp).
#pragma once

#include <cmath>
#include <functional>

#include "common/operators/variants.hpp"
#include "common/operators/wkv/reference.hpp"

namespace ladder::reference {

// As they stand here: WKV. right_switches has those of either recurrence.
struct WkvSwitches {
  enum class Read { kBefore, kDecayed, kUpdated } read = Read::kBefore;
  // Of the terms of the key rows: all, or what warps of 32 lanes make of them that exchange too little.
  enum class Bonus {
    kSum,
    kNone,
    kWithoutQ,
    kWithoutK,
    kWithoutV,
    kFirstRow,
    kLastRow,
    kSumInLane0,
    kOwnLane,
    kHalfWarp,
    kEverySecondLane,
    kMirroredLane
  } bonus = Bonus::kSum;
  enum class Array { kQ, kK, kV };
  Array q_from = Array::kQ, k_from = Array::kK, v_from = Array::kV;
  Taken q, k, v, log_w, u;
  double (*factor)(double log_w) = [](double log_w) { return std::exp(log_w); };
  double (*scale)(double scale) = [](double scale) { return scale; };
  double (*of_u)(double u, double log_w) = [](double u, double) { return u; };
  bool u_for_decay = false;
  bool bonus_exact = false;  // whatever v is taken for the state
  bool u_in_state = false;   // what is added to the state is multiplied by u
  bool scale_of_state = true, scale_of_bonus = true;  // whether that part of o is multiplied by it
  bool scale_in_state = false;  // what is added to the state is multiplied by the scale
  bool decays_new = false;      // so is what is added decayed
  double (*kv)(double k, double v) = nullptr;  // in the place of k v
  bool state_read = true, q_read = true;
  double state_sign = 1, bonus_sign = 1;  // of what is added to the state, and of the bonus
  bool read_transposed = false;           // q multiplies the state's columns
  std::int64_t read_rows = 0, source_rows = 0,
               written_rows = 0;              // row ik % 4 of the state for row ik; 0: its own
  std::function<bool(std::int64_t)> arrives;  // of the key rows, in o; empty: all
  enum class Kept { kNever, kInBatch, kAlways } state_kept = Kept::kNever;  // from the head before
  bool initial_ignored = false, initial_transposed = false, final_transposed = false;
  bool time_turned = false;
  Stored stored = Stored::kOwn;
};

WkvSwitches right_switches(Recurrence recurrence);
WkvResult wkv_loop(const WkvProblem& problem, const WkvSwitches& s, Look look = Look::kThorough);

// Those that a case can show.
Variants<WkvSwitches> wkv_variants(const WkvCase& c);

}  // namespace ladder::reference
