// Sums over blocks, and the buffers of a call, for lessons 20 and 20d.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

// ---- Third kernel: sums over blocks, always in the same order ----

constexpr int kSumThreads = 256;

// to[i] is the sum over parts[n][i]. kShares threads share the parts of an element.
template <int kShares, typename Element>
__device__ void add_parts(float (&sum_smem)[kShares][kSumThreads / kShares], Element* to,
                          const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  const int x = threadIdx.x % kElements, share = threadIdx.x / kElements;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kElements + x;
  float sum = 0.0f;
  if (i < elements) {
#pragma unroll 4
    for (std::int64_t n = share; n < count; n += kShares)
      sum += parts[n * elements + i];
  }
  sum_smem[share][x] = sum;
  __syncthreads();
  if (share != 0 || i >= elements) return;
  for (int other = 1; other < kShares; ++other)
    sum += sum_smem[other][x];
  ladder::cuda::store(to + i, sum);
}

// ---- Buffers ----

template <typename Element, typename LogW>
bool has_decay_per_head(const BasicWkvArgs<Element, LogW>& args) {
  return args.log_w_stride_T == 0 && args.log_w_stride_B == 0;
}

// The work buffers of a call.
template <typename Element>
class Memory {
 public:
  template <typename LogW>
  Memory(const BasicWkvArgs<Element, LogW>& args, bool gla, bool rests)
      : chunks_((args.T + kSide - 1) / kSide),
        tiles_K_((args.K + kSide - 1) / kSide),
        tiles_V_((args.V + kSide - 1) / kSide),
        states_((1 + rests) * args.B * args.H * chunks_ * tiles_K_ * tiles_V_ * kTileSize),
        adjoints_((1 + rests) * args.B * args.H * chunks_ * tiles_K_ * tiles_V_ * kTileSize),
        dv_parts_(tiles_K_ > 1 ? tiles_K_ * args.B * args.T * args.H * args.V : 0),
        du_parts_(gla ? 0 : args.B * chunks_ * args.H * args.K),
        d_log_w_parts_(has_decay_per_head(args) ? args.B * chunks_ * args.H * args.K : 0) {}

  Work<Element> work() const {
    return {static_cast<int>(chunks_), static_cast<int>(tiles_K_), static_cast<int>(tiles_V_),
            states_.pointer(),         adjoints_.pointer(),        dv_parts_.pointer(),
            du_parts_.pointer(),       d_log_w_parts_.pointer()};
  }

 private:
  std::int64_t chunks_, tiles_K_, tiles_V_;
  ladder::cuda::Scratch<Element> states_, adjoints_;
  ladder::cuda::Scratch<float> dv_parts_, du_parts_, d_log_w_parts_;
};

}  // namespace chunkwise::backward
