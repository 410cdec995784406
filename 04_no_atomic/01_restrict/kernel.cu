// 04.01 restrict: chapter 04's kernel with a promise to the compiler.
// Change: from 04.00. o is a separate __restrict__ parameter, so no other pointer reaches it.
// Why:    without the promise a store to o may change a later load's value, so the next loads wait.
// Needs:  as 04, and o overlaps no input.
// Costs:  registers for the values that are loaded ahead, nothing else.
//         See README for measurements.
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
__global__ void __launch_bounds__(kThreads)
    wkv_restrict(const WkvArgs args, float* __restrict__ all_o) {
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
    float* o = all_o + token * kHeadSize + iv;

    float sum = 0.0f;
    for (int ik = 0; ik < kHeadSize; ++ik) {
      const float kv = k[ik] * v;
      sum += q[ik] * (state[ik] + u[ik] * kv);
      state[ik] = expf(log_w[ik]) * state[ik] + kv;
    }
    *o = args.scale * sum;
  }
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  const std::int64_t blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  const unsigned grid = static_cast<unsigned>(blocks);
  wkv_restrict<kHeadSize><<<grid, kThreads>>>(args, args.o);
  // A launch returns no error, but this call does.
  CUDA_CHECK(cudaGetLastError());
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "this kernel");
  if (args.B == 0 || args.T == 0) return;
  for (const float* input : {args.q, args.k, args.v, args.log_w, args.u})
    ladder::require(args.o != input, "o is also an input; allowed: an array of its own");
  switch (args.K) {
    case 4: return launch<4>(args);
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 100: return launch<100>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{{.name = "wkv_restrict",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
