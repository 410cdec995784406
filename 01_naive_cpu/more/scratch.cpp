// 01 naive_cpu: WKV as five nested loops.
// Change: none, this is the first rung: the two lines of the formula, one multiplication after the other.
// Why:    the slow version whose correctness can be seen by looking; every later rung must agree with it.
// Needs:  a C++20 compiler. Any B, T, H, K and V, initial and final state, both directions of time.
// Costs:  one thread; an exp per state element and step where one per key row would do; the state is walked
//         down its columns, V floats apart. See README for what was measured.
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;

  // TODO(1): roughly 30 lines; loops over batch, head and time (backwards if args.reverse), and where a step's rows begin. Each head
  // TODO(1): has a state of (K, V) floats: args.initial_state or zeros at first, and kept in args.final_state if that is wanted.
  // TODO(1): budget: one state of K * V floats for all heads.
  // TODO(2): roughly 12 lines; of each value column the sum over the key rows, then the state's decay and update.
  // TODO(2): budget: for each element of the state one product k * v and one exp per step.
}

const ladder::Registration registration{{.name = "wkv_naive",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
