#include <cmath>
#include <string>

#include "common/operators/wkv/mistakes.hpp"

namespace ladder {
namespace {

using S = WkvSwitches;

class List : public VariantList<S> {
 public:
  explicit List(const WkvCase& of)
      : c(of), gla(of.recurrence == Recurrence::kGla), square(of.K == of.V) {
    if (gla) {
      add_read("with the state read before the update", "sum += q[ik] * s; before s = ...",
               Read::kBefore, Bonus::kNone);
      add_read("with the state read after the decay, before the step's own key and value are added",
               "s *= w; sum += q[ik] * s; s += kv;", Read::kDecayed, Bonus::kNone);
    } else {
      moments_of_the_read();
      values_of_u();
      bonuses();
    }
    decay_factors();
    products();
    swapped_arrays();
    scales();
    if (c.final_state) {
      add("with the final state written transposed", "final_state[iv * K + ik] = state[ik]",
          &S::final_transposed, true);
    }
    if (!gla) {
      add("with the scale applied to the state as well", "s = w * s + args.scale * kv",
          &S::scale_in_state, true);
    }
    add("with time running the other way", "t = T - 1 - step for t = step", &S::time_turned, true);
  }

 private:
  using Read = S::Read;
  using Bonus = S::Bonus;
  using Array = S::Array;
  using enum S::Array;

  void add_read(const char* words, const char* line, Read read, Bonus bonus) {
    add(words, line, [=](S& s) { s.read = read, s.bonus = bonus; });
  }

  void moments_of_the_read() {
    add("with the bonus forgotten", "sum += q[ik] * s", &S::bonus, Bonus::kNone);
    add_read("with the decay applied before the read",
             "s *= w; sum += q[ik] * (s + u[ik] * kv); s += kv;", Read::kDecayed, Bonus::kSum);
    add_read("with the state read after the update, and the bonus added all the same",
             "s = w * s + kv; sum += q[ik] * (s + u[ik] * kv);", Read::kUpdated, Bonus::kSum);
    add_read("with the state read after the update", "s = w * s + kv; sum += q[ik] * s;",
             Read::kUpdated, Bonus::kNone);
    add("with the decay applied before the read and the bonus forgotten",
        "s *= w; sum += q[ik] * s; s += kv;",
        [](S& s) { s.read = Read::kDecayed, s.bonus = Bonus::kNone; });
  }

  void values_of_u() {
    add("with u forgotten: the bonus is q k v", "sum += q[ik] * (s + kv)", &S::of_u,
        [](double, double) { return 1.0; });
    add("with u applied twice", "u[ik] * u[ik] * kv", &S::of_u,
        [](double u, double) { return u * u; });
    add("with exp(u) in the place of u: u is no logarithm", "expf(u[ik]) * kv", &S::of_u,
        [](double u, double) { return std::exp(u); });
    add("with the decay factor in the place of u", "expf(log_w[ik]) * kv in the bonus", &S::of_u,
        [](double, double log_w) { return std::exp(log_w); });
    add("with log_w in the place of u", "log_w[ik] * kv in the bonus", &S::of_u,
        [](double, double log_w) { return log_w; });
    add("with the bonus decayed", "u[ik] * expf(log_w[ik]) * kv", &S::of_u,
        [](double u, double log_w) { return u * std::exp(log_w); });
    add("with 1 + u in the place of u: the step's own key and value count once more",
        "s + kv + u[ik] * kv", &S::of_u, [](double u, double) { return 1 + u; });
    add("with u in the place of the decay factor", "s = u[ik] * s + kv", &S::u_for_decay, true);
  }

  void bonuses() {
    add("with the bonus not multiplied by q", "sum += q[ik] * s + u[ik] * kv", &S::bonus,
        Bonus::kWithoutQ);
    add("with the bonus not multiplied by k", "sum += q[ik] * (s + u[ik] * v[iv])", &S::bonus,
        Bonus::kWithoutK);
    add("with the bonus not multiplied by v", "sum += q[ik] * (s + u[ik] * k[ik])", &S::bonus,
        Bonus::kWithoutV);
    add("with what the shuffles return in the place of the sum: it is not added",
        "bonus = __shfl_xor_sync for bonus +=", &S::bonus, Bonus::kMirroredLane);
    add("with the sum over the lanes in lane 0 only: every other lane has another sum",
        "__shfl_down_sync for __shfl_xor_sync", &S::bonus, Bonus::kSumInLane0);
    add("with each lane's own part of the bonus: the sum over the lanes is missing",
        "no __shfl_xor_sync", &S::bonus, Bonus::kOwnLane);
    add("with the bonus of half a warp: a distance is missing in the sum over the lanes",
        "distance = 8 for distance = 16", &S::bonus, Bonus::kHalfWarp);
    add("with the bonus of every second lane: a distance is missing in the sum over the lanes",
        "distance > 1 for distance > 0", &S::bonus, Bonus::kEverySecondLane);
    add("with u multiplied into the state as well", "kv = u[ik] * k[ik] * v[iv]; s = w * s + kv;",
        &S::u_in_state, true);
  }

  void decay_factors() {
    add("with log_w itself as the decay factor", "s = log_w[ik] * s + kv", &S::factor,
        [](double x) { return x; });
    add("with 2 to the power of log_w as the decay factor: exp2 for exp", "exp2f(log_w[ik])",
        &S::factor, [](double x) { return std::exp2(x); });
    add("with exp(-log_w) as the decay factor: the sign is wrong", "expf(-log_w[ik])", &S::factor,
        [](double x) { return std::exp(-x); });
    add("with exp(-exp(log_w)) as the decay factor: log_w is no raw decay",
        "expf(-expf(log_w[ik]))", &S::factor, [](double x) { return std::exp(-std::exp(x)); });
    add("with 1 + log_w as the decay factor", "s = (1.0f + log_w[ik]) * s + kv", &S::factor,
        [](double x) { return 1 + x; });
    add("with the decay forgotten", "s += kv", &S::factor, [](double) { return 1.0; });
    add("with the state added to the decayed one: += for =", "s += w * s + kv", &S::factor,
        [](double x) { return 1 + std::exp(x); });
    add("with the decay applied twice", "w * w * s", &S::factor,
        [](double x) { return std::exp(2 * x); });
    add("with 1 - exp(log_w) as the decay factor", "(1.0f - expf(log_w[ik])) * s", &S::factor,
        [](double x) { return 1 - std::exp(x); });
    add("with the state overwritten, not added to", "s = kv", &S::factor,
        [](double) { return 0.0; });
  }

  void products() {
    add("with the decay applied to the step's own key and value too", "s = w * (s + kv)",
        &S::decays_new, true);
  }

  void swapped_arrays() {
    const auto add_arrays = [&](const std::string& words, const std::string& line, Array q, Array k,
                                Array v) {
      add(words, line, [=](S& s) { s.q_from = q, s.k_from = k, s.v_from = v; });
    };
    add_arrays("with q and k swapped", "q = args.k + ..., k = args.q + ...", kK, kQ, kV);
    add_arrays("with k in the place of q", "q = args.k + ...", kK, kK, kV);
    add_arrays("with q in the place of k", "k = args.q + ...", kQ, kQ, kV);
    if (square) {
      add_arrays("with k and v swapped", "k = args.v + ..., v = args.k + ...", kQ, kV, kK);
      add_arrays("with q and v swapped", "q = args.v + ..., v = args.q + ...", kV, kK, kQ);
      add_arrays("with v in the place of k", "k = args.v + ...", kQ, kV, kV);
      add_arrays("with k in the place of v", "v = args.k + ...", kQ, kK, kK);
      add_arrays("with v in the place of q", "q = args.v + ...", kV, kK, kV);
      add_arrays("with q in the place of v", "v = args.q + ...", kQ, kK, kQ);
    }
  }

  void scales() {
    add("with the scale forgotten", "*o = sum", &S::scale, [](double) { return 1.0; });
    if (!gla) {
      add("with the scale on the state's part alone, not on the bonus",
          "q[ik] * (args.scale * s + u[ik] * kv)", &S::scale_of_bonus, false);
      add("with the scale on the bonus alone, not on the state's part",
          "q[ik] * (s + args.scale * u[ik] * kv)", &S::scale_of_state, false);
    }
    add(gla ? "with the scale applied twice, or to the state as well"
            : "with the scale applied twice",
        "args.scale * args.scale * sum", &S::scale, [](double x) { return x * x; });
    add("divided by the scale", "sum / args.scale", &S::scale, [](double x) { return 1 / x; });
  }

  const WkvCase& c;
  bool gla, square;
};

}  // namespace

Variants<WkvSwitches> wkv_variants(const WkvCase& c) {
  return List(c).list;
}

Variants<WkvGradSwitches> wkv_gradient_variants(const WkvCase& c) {
  using S = WkvGradSwitches;
  const bool gla = c.recurrence == Recurrence::kGla;
  VariantList<S> variants;
  const auto add = [&](const auto&... variant) { variants.add(variant...); };
  if (!gla) {
    add("with the bonus forgotten", "u left out", &S::u_forgotten, true);
    add("with the bonus forgotten in dq", "dq = S d_o", &S::bonus_in_dq, false);
    add("with the bonus forgotten in dk", "dk = G v", &S::bonus_in_dk, false);
    add("with the bonus forgotten in dv", "dv = G^T k", &S::bonus_in_dv, false);
    add("with du of the last step alone", "du = for du +=", &S::of_du, S::Sum::kLastStep);
    add("with du of the last batch alone", "du not summed over b", &S::of_du, S::Sum::kLastBatch);
    add("with the scale forgotten in du", "du += q d_o k v", &S::scale_in_du, false);
  }
  add(gla ? "of o read before the update" : "of o read after the update",
      gla ? "the gradients of WKV" : "the gradients of GLA",
      [](S& s) { s.other_recurrence = s.u_forgotten = true; });
  add(gla ? "with dq of the state before the update" : "with dq of the state after the update",
      "dq = S d_o with the state of the step beside", &S::read_by_dq, S::State::kOther);
  add("with dq of the state after the decay", "dq = w S d_o", &S::read_by_dq, S::State::kDecayed);
  add("with dk of the adjoint one read too far", "dk = G v on the other side of G += q d_o",
      &S::of_dk, S::Adjoint::kOther);
  add("with dv of the adjoint one read too far", "dv = G^T k on the other side of G += q d_o",
      &S::of_dv, S::Adjoint::kOther);
  add("with dk of the adjoint after the decay", "G *= w before dk", &S::of_dk,
      S::Adjoint::kDecayed);
  add("with dv of the adjoint after the decay", "G *= w before dv", &S::of_dv,
      S::Adjoint::kDecayed);
  add("with dk and dv of the adjoint after the decay", "G *= w before dk and dv",
      [](S& s) { s.of_dk = s.of_dv = S::Adjoint::kDecayed; });
  if (!gla) {
    add("with dk of the bonus alone", "dk = u q d_o v", &S::state_in_dk, false);
    add("with dv of the bonus alone", "dv = u q d_o k", &S::state_in_dv, false);
  }
  add("of the decay factor, not of its logarithm", "d_log_w without the factor w",
      &S::d_log_w_factor, [](double) { return 1.0; });
  add("with the decay factor twice in d_log_w", "w * w * G * S", &S::d_log_w_factor,
      [](double w) { return w * w; });
  add("with the sign of d_log_w turned", "d_log_w = -w * G * S", &S::d_log_w_factor,
      [](double w) { return -w; });
  add("with the state after the step in d_log_w", "G * S after S = w S + k v",
      &S::state_after_in_d_log_w, true);
  if (!gla) {
    add("with the step's own read in d_log_w", "G += q d_o before d_log_w", &S::read_in_d_log_w,
        true);
  }
  add("with the scale forgotten", "args.scale left out", &S::scale_forgotten, true);
  add("with the scale forgotten in dq", "dq without scale", &S::scale_in_dq, false);
  add("with the scale forgotten in the adjoint", "G += q d_o without scale", &S::scale_in_state,
      false);
  add("with the adjoint that does not decay", "G = w G left out", &S::adjoint_decays, false);
  add("with log_w itself as the decay factor", "w = log_w", &S::factor, [](double x) { return x; });
  add("with 2 to the power of log_w as the decay factor: exp2 for exp", "exp2f(log_w)", &S::factor,
      [](double x) { return std::exp2(x); });
  add("with exp(-log_w) as the decay factor: the sign is wrong", "expf(-log_w)", &S::factor,
      [](double x) { return std::exp(-x); });
  add("with the decay forgotten", "w = 1", &S::factor, [](double) { return 1.0; });
  add("with time running the other way", "t = T - 1 - step for t = step", &S::time_turned, true);
  return variants.list;
}

}  // namespace ladder
