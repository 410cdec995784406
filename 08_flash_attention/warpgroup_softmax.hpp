// The work between a warpgroup's two products, in registers. The softmax of its scores gives the
// weights as the A of the next product, and the result is stored.
//
// A thread holds two of the 64 rows, 16 (warp % 4) + lane / 4 and that + 8. Element i of its scores
// and sums belongs to the first if i % 4 < 2, otherwise to the second, and to column 8 (i / 4) + 2
// (lane % 4) + i % 2 (common/cuda/hopper.hpp). A quad of lanes shares a row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "08_flash_attention/hopper_tiles.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"

namespace flash_attention {

// A thread's first column in each 8 columns of its quad.
inline __device__ int lane_column() {
  return static_cast<int>(threadIdx.x % 4 * 2);
}

// Masks the scores. The two rows see `seen` keys, and the scores begin at key `first_key`.
template <int kCount>
__device__ void mask(float (&s)[kCount], const int (&seen)[2], int first_key) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int key = first_key + i / 4 * 8 + lane_column() + i % 2;
    if (key >= seen[i % 4 / 2]) s[i] = -INFINITY;
  }
}

// Online softmax for a thread's two rows, with the maximum score so far (unscaled) and this lane's
// part of the sum.
struct Softmax {
  float m[2] = {-INFINITY, -INFINITY}, l[2] = {0.0f, 0.0f};

  // Scores become exp2(factor * (score - m)), and older sums are to be multiplied by `keep`.
  template <int kCount>
  __device__ void step(float (&s)[kCount], float (&keep)[2], float factor) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = m[r];
#pragma unroll
      for (int i = 0; i < kCount; i += 4)
        top = fmaxf(top, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
      top = ladder::cuda::tiles::quad_max(top);
      // For a row without a visible key nothing is subtracted, because -inf - -inf is NaN.
      const float offset = top == -INFINITY ? 0.0f : __fmul_rn(top, factor);
      // Rounded like the old offset, without an FMA, because the difference matters for scores of
      // 1e4.
      keep[r] = ladder::cuda::exp2_flushed(__fmul_rn(m[r], factor) - offset);
      m[r] = top;
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[i + 2 * r + e];
          x = ladder::cuda::exp2_flushed(x * factor - offset);
          sum += x;
        }
      }
      l[r] = l[r] * keep[r] + sum;
    }
  }
};

// Rescales older sums to the new maximum.
template <int kCount>
__device__ void rescale(float (&sums)[kCount], const float (&keep)[2]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    sums[i] *= keep[i % 4 / 2];
  ladder::cuda::hopper::pin(sums);
}

// Stores a thread's two rows, `row` and `row` + 8 of a tile whose first `rows` are in bounds, to o
// and lse. The tile's first row begins at `o`, and rows are `stride` elements apart.
template <typename Element, int kCount>
__device__ void store_rows(Element* o, std::int64_t stride, float* lse, int row, int rows,
                           const float (&sums)[kCount], const Softmax& softmax, float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r, row += 8) {
    const float total = ladder::cuda::tiles::quad_sum(softmax.l[r]);
    if (row >= rows) continue;
    const float share = total == 0.0f ? 0.0f : 1.0f / total;  // zeros for a row without keys
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float* const x = sums + i + 2 * r;
      *reinterpret_cast<std::uint32_t*>(o + row * stride + i * 2 + lane_column()) =
          ladder::cuda::pack<Element>(x[0] * share, x[1] * share);
    }
    if (lane_column() == 0) lse[row] = softmax.m[r] * scale + logf(total);
  }
}

}  // namespace flash_attention
