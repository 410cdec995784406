// 04 no_atomic: WKV on a GPU, a thread per output channel; begins with 03_cuda_baseline/kernel.cu.
// TODO(1): roughly 5 lines change; replace the K atomics for each output of a step by one store;
// TODO(1): budget: no atomic, no cudaMemset, one store per output of a step; the loads as before.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// One warp per block, the smallest block, so that few heads still spread over all SMs.
constexpr int kThreads = 32;

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_no_atomic(const WkvArgs args) {
  // o(b, t, h, iv) is this thread's, for all t.
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  // The last block may have more threads than there are channels left.
  if (channel >= args.B * args.H * kHeadSize) return;
  // channel = (b * H + h) * V + iv
  const std::int64_t iv = channel % kHeadSize;
  const std::int64_t h = channel / kHeadSize % args.H;
  const std::int64_t b = channel / kHeadSize / args.H;

  float state[kHeadSize] = {};  // column iv of S

  for (std::int64_t t = 0; t < args.T; ++t) {
    const std::int64_t token = (b * args.T + t) * args.H + h;
    const float* q = args.q + token * kHeadSize;
    const float* k = args.k + token * kHeadSize;
    const float* log_w =
        args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * kHeadSize;
    const float* u = args.u + h * kHeadSize;
    const float v = args.v[token * kHeadSize + iv];
    float* o = args.o + token * kHeadSize + iv;

    for (int ik = 0; ik < kHeadSize; ++ik) {
      const float kv = k[ik] * v;
      atomicAdd(o, args.scale * q[ik] * (state[ik] + u[ik] * kv));
      state[ik] = expf(log_w[ik]) * state[ik] + kv;
    }
  }
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  const std::int64_t blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  // The kernel accumulates into o, so o must start at 0.
  CUDA_CHECK(cudaMemsetAsync(args.o, 0, args.T * channels * sizeof(float)));
  const unsigned grid = static_cast<unsigned>(blocks);
  wkv_no_atomic<kHeadSize><<<grid, kThreads>>>(args);
  // A launch returns no error, but this call does.
  CUDA_CHECK(cudaGetLastError());
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "this kernel");
  if (args.B == 0 || args.T == 0) return;
  switch (args.K) {
    case 4: return launch<4>(args);
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 100: return launch<100>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{{.name = "wkv_no_atomic",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
