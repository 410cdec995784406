// 05 float4: WKV on a GPU, one thread per output channel.
// Change: from 04.00: q, k, log_w and u are read four at a time, and four sums grow side by side.
// Why:    one request for 16 bytes replaces four for 4 bytes; the four terms that arrive together go to four sums.
// Needs:  as 04, and q, k, log_w, u aligned to 16 bytes (every K allowed is a multiple of four).
// Costs:  a quarter of the requests; every thread still reads all of q, k, w, u itself.
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

// Floats in the widest load a thread can ask for, 16 bytes.
constexpr int kVec = 4;

__device__ void load(float* to, const float* from) {
  // TODO(1): roughly 1 line; copy kVec floats; budget: one load of 16 bytes.
}

template <int kHeadSize>
__global__ void __launch_bounds__(kThreads) wkv_float4(const WkvArgs args) {
  // TODO(2): roughly 30 lines; a thread for each channel, as in chapter 04; q, k, log_w and u come kVec at a time, by load(), into
  // TODO(2): arrays aligned to 16 bytes. Key rows ik to ik + 3 have a sum each, which waits for no other; o is stored once per step.
  // TODO(2): budget: for four key rows one load of 16 bytes each of q, k, log_w and u; one store per step.
}

template <int kHeadSize>
void launch(const WkvArgs& args) {
  const std::int64_t channels = args.B * args.H * kHeadSize;
  std::int64_t blocks = 0;
  blocks = (channels + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX,
                  "B * H is too large; allowed: B * H * V / 32 up to 2^31 - 1");
  const unsigned grid = static_cast<unsigned>(blocks);
  // TODO(2): roughly 1 line; the launch, a thread for each channel.
  // A launch returns no error; this call does.
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

const ladder::Registration registration{{.name = "wkv_float4",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
