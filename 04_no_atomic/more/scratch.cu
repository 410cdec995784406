// 04 no_atomic: WKV on a GPU, one thread per output channel.
// Change: from 03.00: the terms of an output are summed in a register, and o is stored once per step.
// Why:    nobody else adds to this thread's output, so global memory need not hold the sum.
// Needs:  K = V in {4, 32, 64, 100, 128, 256}; forward in time, no states in or out; any CUDA GPU.
// Costs:  no atomics; every thread still reads all of q, k, w, u itself, 4 bytes at a time.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// One warp per block: the smallest block the hardware schedules, so that few heads still spread over all multiprocessors.
constexpr int kThreads = 32;

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_no_atomic(const WkvArgs args) {
  // TODO(1): roughly 25 lines; a thread for each channel, with column iv of the state in an array of its own. At each step the terms
  // TODO(1): of all key rows are summed in a register, and the state takes its step.
  // TODO(1): budget: per key row one global read each of k, q, u and log_w; one read of v per step.
  // TODO(1): The output of a step: one store, no atomic.
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  std::int64_t blocks = 0;
  blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  const unsigned grid = static_cast<unsigned>(blocks);
  // TODO(1): roughly 1 line; the launch, a thread for each channel; budget: nothing else touches o.
  // A launch returns no error; this call does.
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
