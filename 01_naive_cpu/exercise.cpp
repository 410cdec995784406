// 01 naive_cpu: WKV as five nested loops.
// Change: none, this is the first kernel. Element after element, the two lines of the formula.
// Why:    a reader can check the slow version by eye, and every later kernel must agree with it.
// Needs:  a C++20 compiler. Any B, T, H, K and V, initial and final state, both directions of time.
// Costs:  one thread. An exp per state element and step, not one per key row. The state is read
//         down its columns, V floats apart. See README for measurements.
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;

  std::vector<float> state(K * V);  // S of the current head, (K, V)
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t head = b * H + h;

      // TODO(1): roughly 3 lines; set `state` to this head's part of args.initial_state, or to
      // TODO(1): zeros if that pointer is null.
      // TODO(1): budget: K * V elements, those of head number `head`.

      for (std::int64_t step = 0; step < T; ++step) {
        const std::int64_t t = args.reverse ? T - 1 - step : step;
        const std::int64_t row = (b * T + t) * H + h;
        // TODO(2): roughly 4 lines here, 3 below; declare q, k and v, pointers to this step's rows,
        // TODO(2): and u, a pointer to this head's row.
        // RWKV-5's decay is per head and channel, so its strides over batch and time are zero.
        // TODO(3): roughly 2 lines here, 1 below; declare log_w, a pointer to this step's row.
        // TODO(3): budget: no `if`, because log_w's two strides are zero in RWKV-5.

        float* o = args.o + row * V;  // (V)
        for (std::int64_t iv = 0; iv < V; ++iv) {
          float sum = 0.0f;
          for (std::int64_t ik = 0; ik < K; ++ik) {
            // TODO(2): roughly 3 lines; add key row ik's term to `sum`; budget: one product k * v.
            // Only now, because the output reads the state before this step's decay and update:
            // TODO(3): roughly 1 line; decay and update this element of the state.
          }
          o[iv] = args.scale * sum;
        }
      }

      if (args.final_state != nullptr) {
        for (std::int64_t i = 0; i < K * V; ++i)
          args.final_state[head * K * V + i] = state[i];
      }
    }
  }
}

const ladder::Registration registration{{.name = "wkv_naive",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
