// The gradient of log_w: what the rows of each level add, and what crosses a whole block.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/pairs.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"

namespace chunkwise::backward {

template <bool kGla, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void make_spans(ChunkTiles<kRests, Element, LogW>& tiles_smem, int warp,
                                           int lane) {
  if (warp < kSpans) {
    // Named first: the X-ray does not see what a call returns straight into memory.
    const Right<Element> span = make_span<kGla, Element>(warp, lane);
    tiles_smem.spans[warp][lane] = span;
  }
}

// A product of rows with their gradient belongs to every decay of the span.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_to_d_log_w(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                               const Part& part, Sum& d_log_w,
                                               const Sum& rows_times_gradient, int span) {
  multiply_add(d_log_w, as_factor<Element>(rows_times_gradient), tiles_smem.spans[span][part.lane]);
  if constexpr (kWithRest<Element, LogW>)
    multiply_add(d_log_w, as_factor<Element>(rounding_of(rows_times_gradient)),
                 tiles_smem.spans[span][part.lane]);
}

// What crosses all of a block: from the chunk's other blocks, from the other half, and from S to D.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_across(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                           const Part& part, const int (&ik)[2], int block,
                                           Sum& d_log_w) {
  const ChannelSums& sums_smem = tiles_smem.sums;
  for (int i = 0; i < 2; ++i) {
    float across = tiles_smem.overlap[ik[i]];
    for (int other = 0; other < kBlocks; ++other) {
      if (other > block) across += sums_smem.from_before[other][ik[i]];
      if (other < block) across += sums_smem.from_after[other][ik[i]];
    }
    if (block == 1) across += sums_smem.from_half[0][ik[i]];
    if (block == 2) across += sums_smem.from_half[3][ik[i]];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      d_log_w.d[j][2 * i] += across;
      d_log_w.d[j][2 * i + 1] += across;
    }
  }
}

// The sum over a block's steps that exist, for a decay per head.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_d_log_w_sums(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                                 const Part& part, const int (&ik)[2], int block,
                                                 int rows, const Sum& d_log_w) {
  Sum existing;
  for_each([&](int j, int y) {
    const int step = block * kBlock + part.lane % 4 * 2 + j * 8 + y % 2;
    existing.d[j][y] = step < rows ? d_log_w.d[j][y] : 0.0f;
  });
  float total[2];
  sum_over_steps(total, existing);
  for (int i = 0; i < 2; ++i)
    if (part.lane % 4 == 0) tiles_smem.sums.d_log_w[block][ik[i]] = total[i];
}

// d_log_w of the warp's blocks is complete, and goes to the tile of log_w.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_d_log_w(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                            const Part& part, const int (&ik)[2], int rows,
                                            bool per_head, Sum (&d_log_w)[kBlocksPerWarp]) {
  const SquareTile<LogW> d_log_w_smem{tiles_smem.log_w};
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x);
    add_across(tiles_smem, part, ik, block, d_log_w[x]);
    if (per_head) put_d_log_w_sums(tiles_smem, part, ik, block, rows, d_log_w[x]);
    put_transposed(d_log_w_smem, block * kBlock, part.row, d_log_w[x], part.lane);
  }
}

}  // namespace chunkwise::backward
