// 02.03 simd: value columns in SIMD lanes, by the compiler.
// Change: rewrite of 02.02's inner loops. `omp simd` promises separate rows. Row factors load once.
// Why:    the compiler cannot see which arrays overlap, so it checks, or does one column at a time.
// Needs:  a compiler with OpenMP. All options of chapter 01.
// Costs:  every step still loads and stores the state in the cache. See README.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

// kLanes value columns at a time, as far as the machine's registers are that wide.
template <int kLanes>
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
        std::fill_n(o, V, 0.0f);
        for (std::int64_t ik = 0; ik < K; ++ik) {
          const float w = std::exp(log_w[ik]);
          // TODO(1): roughly 8 lines; write lesson 02.02's inner loop in vectors of kLanes columns.
          // TODO(1): Before it, load the numbers that are the same for all columns.
          // TODO(1): budget: no check at run time whether arrays overlap.
        }
      }

      if (args.final_state != nullptr) {
        for (std::int64_t i = 0; i < K * V; ++i)
          args.final_state[head * K * V + i] = state[i];
      }
    }
  }
}

const ladder::Registration registration{{.name = "wkv_simd",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv<16>)}};

const ladder::Registration narrower[] = {
    ladder::Registration{
        {.name = "wkv_simd_4", .launchers = ladder::launchers<ladder::Wkv>(wkv<4>)}},
    ladder::Registration{
        {.name = "wkv_simd_8", .launchers = ladder::launchers<ladder::Wkv>(wkv<8>)}},
};

}  // namespace
