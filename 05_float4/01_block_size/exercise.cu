// 05.01 block_size: chapter 05's kernel in blocks of 128 threads.
// Change: from 05.00. A block has four warps instead of one, and a function counts how they spread.
// Why:    larger blocks supposedly put more warps on an SM. This lesson counts and measures it.
// Needs:  as 05.
// Costs:  the same requests. Fewer and larger blocks spread over fewer SMs.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "05_float4/01_block_size/block_size.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

std::int64_t block_size::warps_on_busiest(std::int64_t channels, int threads, int multiprocessors) {
  // TODO(1): roughly 2 lines; return the number of warps on the SM that gets the most blocks;
  // TODO(1): budget: no loop.
  return 0;  // until hole 1 is filled
}

namespace {

using ladder::WkvArgs;

// Four warps, one for each scheduler of an SM.
constexpr int kThreads = 128;

// Floats in the widest load of a thread, 16 bytes.
constexpr int kVec = 4;

__device__ void load(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_block_128(const WkvArgs args) {
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
    const float sum = sums[0] + sums[1] + sums[2] + sums[3];
    *o = args.scale * sum;
  }
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  const std::int64_t blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 128 up to 2^31 - 1");
  const unsigned grid = static_cast<unsigned>(blocks);
  wkv_block_128<kHeadSize><<<grid, kThreads>>>(args);
  // A launch returns no error, but this call does.
  CUDA_CHECK(cudaGetLastError());
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "this kernel");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_aligned_rows(args, sizeof(float4));
  switch (args.K) {
    case 4: return launch<4>(args);
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 100: return launch<100>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{{.name = "wkv_block_128",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
