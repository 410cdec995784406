// 05 float4: WKV on a GPU, one thread per output channel.
// Change: from 04.00. q, k, log_w and u are loaded four at a time, and added to four sums.
// Why:    one 16-byte request replaces four of 4 bytes, and the four sums are independent.
// Needs:  as 04, and q, k, log_w, u aligned to 16 bytes (every K allowed is a multiple of four).
// Costs:  a quarter of the requests. Every thread still reads all of q, k, w, u itself.
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

// Floats in the widest load of a thread, 16 bytes.
constexpr int kVec = 4;

__device__ void load(float* to, const float* from) {
  // TODO(1): roughly 1 line; copy kVec floats from `from` to `to`; budget: one request for all of
  // TODO(1): them.
}

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_float4(const WkvArgs args) {
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

    float sums[kVec] = {};
    for (int ik = 0; ik < kHeadSize; ik += kVec) {
      alignas(sizeof(float4)) float q4[kVec], k4[kVec], log_w4[kVec], u4[kVec];
      load(q4, q + ik), load(k4, k + ik), load(log_w4, log_w + ik), load(u4, u + ik);
      for (int i = 0; i < kVec; ++i) {
        const float kv = k4[i] * v;
        sums[i] += q4[i] * (state[ik + i] + u4[i] * kv);
        state[ik + i] = expf(log_w4[i]) * state[ik + i] + kv;
      }
    }
    // TODO(2): roughly 2 lines; store this step's output, computed from `sums`; budget: one store.
  }
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  const std::int64_t blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  const unsigned grid = static_cast<unsigned>(blocks);
  wkv_float4<kHeadSize><<<grid, kThreads>>>(args);
  // A launch returns no error, but this call does.
  CUDA_CHECK(cudaGetLastError());
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "this kernel");
  if (args.B == 0 || args.T == 0) return;
  // TODO(3): roughly 1 line; reject a caller's array that load() cannot read; budget: nothing is
  // TODO(3): launched before the check.
  switch (args.K) {
    case 4: return launch<4>(args);
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 100: return launch<100>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{{.name = "wkv_float4",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
