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

const ladder::Registration registration{{.name = "wkv_naive",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
