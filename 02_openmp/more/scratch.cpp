// 02 openmp: WKV's heads on all cores.
// Change: from 01.00: one line of OpenMP over batch and head, and a state of its own for each head.
// Why:    heads do not need each other, and chapter 01 leaves all cores but one idle.
// Needs:  a compiler with OpenMP. All options of chapter 01.
// Costs:  at most B * H threads have work; each still does what chapter 01's one thread does. See README.
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;

  // TODO(1): roughly 40 lines; chapter 01's five loops, the heads of all batches dealt out to the threads: two batches of two heads give
  // TODO(1): work to four. A head's state of (K, V) floats begins as args.initial_state or zeros, and is kept in args.final_state if that is
  // TODO(1): wanted; time runs backwards if args.reverse.
  // TODO(1): budget: no two threads share a variable that one of them changes; one product k * v and one exp per element and step.
}

const ladder::Registration registration{{.name = "wkv_threads",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
