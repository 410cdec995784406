// 03 cuda_baseline: WKV on a GPU, one thread per output channel.
// Change: rewrite of 01.00. Batch, head and value column become threads. Time and rows stay loops.
// Why:    the columns of a head's state are independent, so each can have its own thread.
// Needs:  K = V in {4, 32, 64, 100, 128, 256}, forward in time, no states in or out, any CUDA GPU.
// Costs:  B*T*H*K*V atomics on o in global memory. Every thread loads all of q, k, w and u.
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
__global__ void __launch_bounds__(kThreads) wkv_atomic(const WkvArgs args) {
  // o(b, t, h, iv) is this thread's, for all t.
  std::int64_t channel = 0;  // until hole 1 is filled
  // TODO(1): roughly 4 lines, at two places; declare this thread's `channel` among all B * H * V;
  // The last block may have more threads than there are channels left.
  // TODO(2): roughly 1 line; end a thread that has no channel; budget: no access past the end of an
  // TODO(2): array.
  // channel = (b * H + h) * V + iv
  std::int64_t iv = 0, h = 0, b = 0;  // until hole 1 is filled
  // TODO(1): then declare that channel's column iv, head h and batch b; budget: no global read.

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
      // TODO(3): roughly 3 lines; add key row ik's term to *o, then update state[ik]; budget: one
      // TODO(3): global read each of k, q, u and log_w, one atomic.
    }
  }
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  std::int64_t blocks = 0;  // until hole 4 is filled
  // TODO(4): roughly 1 line; declare `blocks`, so many that each channel has a thread; budget: no
  // TODO(4): block without a channel.
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  // TODO(5): roughly 1 line; set all of args.o to the value with which the kernel must begin;
  // TODO(5): budget: each element of o is written once.
  const unsigned grid = static_cast<unsigned>(blocks);
  // TODO(6): roughly 1 line; launch the kernel for heads of this size; budget: one launch.
  // A launch returns no error, but this call does.
  // TODO(7): roughly 1 line; make the call that returns the launch's error; budget: one call, which
  // TODO(7): does not wait for the kernel.
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

const ladder::Registration registration{{.name = "wkv_atomic",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
