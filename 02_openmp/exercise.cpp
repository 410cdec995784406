// 02 openmp: WKV's heads on all cores.
// Change: from 01.00, with one line of OpenMP over batch and head. Each head has its own state.
// Why:    heads are independent of each other, and chapter 01 leaves all cores but one idle.
// Needs:  a compiler with OpenMP. All options of chapter 01.
// Costs:  at most B * H threads have work. Each runs chapter 01's loops. See README.
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;

  // TODO(1): roughly 1 line; divide the heads of all batches among the threads; budget: one line,
  // TODO(1): no other changes.
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
        for (std::int64_t iv = 0; iv < V; ++iv) {
          float sum = 0.0f;
          for (std::int64_t ik = 0; ik < K; ++ik) {
            float& s = state[ik * V + iv];
            const float kv = k[ik] * v[iv];
            sum += q[ik] * (s + u[ik] * kv);
            // Only now, because the output reads the state before this step's decay and update:
            s = std::exp(log_w[ik]) * s + kv;
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

const ladder::Registration registration{{.name = "wkv_threads",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
