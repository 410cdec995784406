// 02.02 loop_order: one exp for each key row and step, and a row of the state from left to right.
// Change: from 02.00. The loops over columns and key rows are swapped, with exp between them.
// Why:    02.00 computes each exp V times, and reads down the state's columns, V floats apart.
// Needs:  a compiler with OpenMP. All options of chapter 01.
// Costs:  every key row loads and stores the output's row. See README.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;

#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t head = b * H + h;

      // Declared inside the loop, so that no two threads share it.
      std::vector<float> state(K * V);  // S of the current head, (K, V)
      for (std::int64_t i = 0; i < K * V; ++i) {
        state[i] = args.initial_state != nullptr ? args.initial_state[head * K * V + i] : 0.0f;
      }

      for (std::int64_t step = 0; step < T; ++step) {
        const std::int64_t t = args.reverse ? T - 1 - step : step;
        const std::int64_t row = (b * T + t) * H + h;
        const float* q = args.q + row * K;  // (K)
        const float* k = args.k + row * K;  // (K)
        const float* v = args.v + row * V;  // (V)
        const float* u = args.u + h * K;    // (K)
        // RWKV-5's decay is per head and channel, so its strides over batch and time are zero.
        const float* log_w =
            args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * K;  // (K)

        float* o = args.o + row * V;  // (V)
        // TODO(1): roughly 1 line here, 8 below; set this step's row of o to zeros.
        for (std::int64_t ik = 0; ik < K; ++ik) {
          // TODO(1): roughly 8 lines; compute key row ik's decay, then loop over the value columns
          // TODO(1): with the formula's two lines, the output's and the state's.
          // TODO(1): budget: one exp for each key row and step.
        }
      }

      if (args.final_state != nullptr) {
        for (std::int64_t i = 0; i < K * V; ++i)
          args.final_state[head * K * V + i] = state[i];
      }
    }
  }
}

const ladder::Registration registration{{.name = "wkv_loop_order",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
