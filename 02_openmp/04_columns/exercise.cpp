// 02.04 columns: several threads share a head's value columns.
// Change: rewrite of 02.03's outer loops. Threads get parts of heads, cut at cache lines.
// Why:    with fewer heads than cores, some cores have no work.
// Needs:  a compiler with OpenMP. All options of chapter 01.
// Costs:  each part computes the exps of all key rows, and allocates a whole state. See README.
#include "02_openmp/04_columns/columns.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace openmp {

constexpr std::int64_t kLine = 16;  // floats per cache line of 64 bytes

Columns columns_of(std::int64_t part, std::int64_t parts, std::int64_t V) {
  // TODO(1): roughly 3 lines; return this part's first column and the column after its last.
  // TODO(1): budget: no cache line of a row is in two parts, and parts differ by at most one line.
  return {0, V};  // until hole 1 is filled
}

std::int64_t parts_of(std::int64_t threads, std::int64_t heads, std::int64_t V) {
  // TODO(2): roughly 3 lines; return the number of parts of each head. With fewer heads than
  // TODO(2): threads, it is so large that each thread gets at least one part.
  // TODO(2): budget: no more parts than a row has cache lines, one part if there are enough heads.
  return 1;  // until hole 2 is filled
}

namespace {

void wkv(const ladder::WkvArgs& args) {
  ladder::validate(args);
  const std::int64_t B = args.B, T = args.T, H = args.H, K = args.K, V = args.V;
  if (B == 0) return;
  const std::int64_t parts = parts_of(omp_get_max_threads(), B * H, V);

#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t task = 0; task < H * parts; ++task) {
      const std::int64_t h = task / parts;
      const std::int64_t head = b * H + h;
      const Columns mine = columns_of(task % parts, parts, V);
      const std::int64_t first = mine.first, end = mine.end;

      // Declared inside the loop, so that no two threads share it.
      std::vector<float> state(
          K * V);  // S of the current head, (K, V), of which a part uses only its columns
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
        std::fill_n(o + first, end - first, 0.0f);
        for (std::int64_t ik = 0; ik < K; ++ik) {
          const float w = std::exp(log_w[ik]);
          const float q_ik = args.scale * q[ik], k_ik = k[ik], u_ik = u[ik];
          float* s = state.data() + ik * V;  // (V)
#pragma omp simd
          for (std::int64_t iv = first; iv < end; ++iv) {
            const float kv = k_ik * v[iv];
            o[iv] += q_ik * (s[iv] + u_ik * kv);
            // Only now, because the output reads the state before this step's decay and update:
            s[iv] = w * s[iv] + kv;
          }
        }
      }

      if (args.final_state != nullptr) {
        for (std::int64_t ik = 0; ik < K; ++ik)
          std::copy_n(state.data() + ik * V + first, end - first,
                      args.final_state + (head * K + ik) * V + first);
      }
    }
  }
}

const ladder::Registration registration{{.name = "wkv_columns",
                                         .device = ladder::DeviceKind::kCpu,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace openmp
