// Sums over lanes, when each lane holds parts of several sums.
#pragma once

#include <cuda_runtime.h>

namespace shared_mem {

// Adds kCount sums over kLanes lanes of a warp, kStride apart. Partners share the work. Each gives
// half of its sums away and continues with the other half, so that kCount sums cost about kCount
// shuffles instead of kCount * log2(kLanes). Lane l of the kLanes then has the sums from l * kCount
// / kLanes on in sums[0], sums[1], ...
template <int kCount, int kLanes, int kStride = 1>
__device__ void sum_over_lanes(float* sums, int lane) {
  if constexpr (kLanes > 1) {
    constexpr int kHalf = kLanes / 2;
    if constexpr (kCount > 1) {
      const bool upper = lane / kStride % kLanes >= kHalf;
#pragma unroll
      for (int i = 0; i < kCount / 2; ++i) {
        const float give = upper ? sums[i] : sums[i + kCount / 2];
        const float keep = upper ? sums[i + kCount / 2] : sums[i];
        sums[i] = keep + __shfl_xor_sync(0xffffffff, give, kHalf * kStride);
      }
      sum_over_lanes<kCount / 2, kHalf, kStride>(sums, lane);
    } else {
      sums[0] += __shfl_xor_sync(0xffffffff, sums[0], kHalf * kStride);
      sum_over_lanes<1, kHalf, kStride>(sums, lane);
    }
  }
}

}  // namespace shared_mem
