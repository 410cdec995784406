// Gradients of queries and keys, from the pairs within a block of 16 steps and from the pairs
// between blocks. Also the gradient of log_w, from the sums over the rows of each level and over
// pairs across a whole block.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/chunk_scores.hpp"
#include "07_chunkwise/decay_tree.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "07_chunkwise/state_products.hpp"
#include "common/cuda/storage.hpp"

namespace chunkwise::backward {

// ---- The gradient of log_w ----

template <bool kGla, typename Tiles>
__device__ __forceinline__ void make_spans(Tiles& tiles_smem, int warp, int lane) {
  if (warp < kSpans) {
    // A named variable first, because the X-ray does not see a return value that is stored
    // directly.
    const Right<typename Tiles::Element> span =
        make_span<kGla, typename Tiles::Element>(warp, lane);
    tiles_smem.spans[warp][lane] = span;
  }
}

// Adds a product of rows with their gradient to every decay of the span.
template <typename Tiles>
__device__ __forceinline__ void add_to_d_log_w(Tiles& tiles_smem, const Part& part, Sum& d_log_w,
                                               const Sum& rows_times_gradient, int span) {
  multiply_add(d_log_w, as_factor<typename Tiles::Element>(rows_times_gradient),
               tiles_smem.spans[span][part.lane]);
  if constexpr (Tiles::kWithRest)
    multiply_add(d_log_w, as_factor<typename Tiles::Element>(rounding_of(rows_times_gradient)),
                 tiles_smem.spans[span][part.lane]);
}

// Adds the pairs across the whole block, from the chunk's other blocks, from the other half, and
// from S to D.
template <typename Tiles>
__device__ __forceinline__ void add_across(Tiles& tiles_smem, const Part& part, const int (&ik)[2],
                                           int block, Sum& d_log_w) {
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

// The sum over a block's steps in bounds, for a decay per head.
template <typename Tiles>
__device__ __forceinline__ void put_d_log_w_sums(Tiles& tiles_smem, const Part& part,
                                                 const int (&ik)[2], int block, int rows,
                                                 const Sum& d_log_w) {
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

// Completes d_log_w of the warp's blocks, and stores it in the tile of log_w.
template <typename Tiles>
__device__ __forceinline__ void put_d_log_w(Tiles& tiles_smem, const Part& part, const int (&ik)[2],
                                            int rows, bool per_head,
                                            Sum (&d_log_w)[kBlocksPerWarp]) {
  const auto d_log_w_smem = square(tiles_smem.log_w);
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x);
    add_across(tiles_smem, part, ik, block, d_log_w[x]);
    if (per_head) put_d_log_w_sums(tiles_smem, part, ik, block, rows, d_log_w[x]);
    put_transposed(d_log_w_smem, block * kBlock, part.row, d_log_w[x], part.lane);
  }
}

// ---- Gradients of queries and keys ----

// Both orders of a pair. The diagonal has no pairs, only the terms of the bonus.
template <typename Element>
__device__ __forceinline__ void put_both_orders(SquareTile<Element> tile, const Sum& sum, int p,
                                                int s, int lane) {
  if (p != s) {
    put(tile, p, s, sum, lane);
    put_transposed(tile, s, p, sum, lane);
    return;
  }
  for_each([&](int j, int y) {
    const int step_p = p + lane / 4 + y / 2 * 8, step_s = s + lane % 4 * 2 + j * 8 + y % 2;
    if (step_p < step_s) return;
    const float value = step_p > step_s ? sum.d[j][y] : 0.0f;
    ladder::cuda::store(tile.at(step_p, step_s), value);
    ladder::cuda::store(tile.at(step_s, step_p), value);
  });
}

template <typename Tiles>
__device__ __forceinline__ void put_d_scores(Tiles& tiles_smem, const Part& part, float scale,
                                             Sum (&d_scores)[kPairsPerWarp]) {
  const auto d_scores_smem = square(tiles_smem.d_scores), rest_smem = square(tiles_smem.left);
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair >= kPairs) continue;
    const int p = later_block(pair) * kBlock, s = earlier_block(pair) * kBlock;
    for_each([&](int j, int y) {
      d_scores[x].d[j][y] *= scale;
      const int step_p = p + part.lane / 4 + y / 2 * 8,
                step_s = s + part.lane % 4 * 2 + j * 8 + y % 2;
      if (step_p == step_s) tiles_smem.d_own[step_p] = d_scores[x].d[j][y];
    });
    put_both_orders(d_scores_smem, d_scores[x], p, s, part.lane);
    if constexpr (Tiles::kWithRest)
      put_both_orders(rest_smem, rounding_of(d_scores[x]), p, s, part.lane);
  }
}

// Level by level, rows times pairs are gradients of the queries and of the keys at once. A product
// of a row with its gradient belongs to every decay between the row and the other half.
template <bool kGla, typename Tiles>
__device__ __forceinline__ void add_gradients_within_block(Tiles& tiles_smem, const Part& part,
                                                           int column, const Sum& q, const Sum& k,
                                                           const Sum& w, Decays& decays, Sum& dq,
                                                           Sum& dk, Sum& d_log_w) {
  const auto d_scores_smem = square(tiles_smem.d_scores), rest_smem = square(tiles_smem.left);
  const auto own_d_scores = load_right(d_scores_smem, column, column, part.lane);
#pragma unroll
  for (int level = 0; level < kBlockLevels; ++level) {
    const Sum rows_reg = rows_at(level, q, k, decays, part.lane);
    Sum gradient = {};
    const auto rows_factor = as_factor<typename Tiles::Element>(rows_reg);
    multiply_add(gradient, rows_factor, meeting(own_d_scores, level, part.lane));
    if constexpr (Tiles::kWithRest)
      multiply_add(gradient, rows_factor,
                   meeting(load_right(rest_smem, column, column, part.lane), level, part.lane));
    if (kGla || level > 0)
      add_to_d_log_w(tiles_smem, part, d_log_w, times(rows_reg, gradient), level);
    for_each([&](int j, int y) {
      if (is_query(level, j, y % 2, part.lane)) {
        dq.d[j][y] += gradient.d[j][y] * decays.before.d[j][y];
      } else {
        dk.d[j][y] += gradient.d[j][y] * decays.after.d[j][y];
      }
    });
    climb(decays, w, level, part.lane);
  }
}

// gradient += rows times the pairs of the block's steps with the block of steps `other`.
template <typename Tiles>
__device__ __forceinline__ void add_wide(Tiles& tiles_smem, const Part& part, int column,
                                         Sum& gradient,
                                         const Factor<typename Tiles::Element>& rows_reg,
                                         int other) {
  const auto d_scores_smem = square(tiles_smem.d_scores), rest_smem = square(tiles_smem.left);
  multiply_add(gradient, rows_reg, load_right(d_scores_smem, column, other, part.lane));
  if constexpr (Tiles::kWithRest)
    multiply_add(gradient, rows_reg, load_right(rest_smem, column, other, part.lane));
}

// Adds a step's own pair, by the bonus, after which dq and dk are complete.
template <typename Tiles>
__device__ __forceinline__ void put_gradients(Tiles& tiles_smem, const Part& part,
                                              const float (&u)[2], int column, const Sum& q,
                                              const Sum& k, const Sum& wide_dq, const Sum& wide_dk,
                                              Sum& dq, Sum& dk, float (&du)[2]) {
  const auto dq_smem = square(tiles_smem.out[0]), dk_smem = square(tiles_smem.out[1]);
  Sum q_k_own;
  for_each([&](int j, int y) {
    const float own = tiles_smem.d_own[column + part.lane % 4 * 2 + j * 8 + y % 2];
    dq.d[j][y] += wide_dq.d[j][y] + u[y / 2] * k.d[j][y] * own;
    dk.d[j][y] += wide_dk.d[j][y] + u[y / 2] * q.d[j][y] * own;
    q_k_own.d[j][y] = q.d[j][y] * k.d[j][y] * own;
  });
  put_transposed(dq_smem, column, part.row, dq, part.lane);
  put_transposed(dk_smem, column, part.row, dk, part.lane);
  sum_over_steps(du, q_k_own);
}

// Sums over the block's steps.
template <typename Tiles>
__device__ __forceinline__ void put_sums(Tiles& tiles_smem, const Part& part, const int (&ik)[2],
                                         int block, const float (&from_before)[2],
                                         const float (&from_after)[2], const float (&from_half)[2],
                                         const float (&du)[2]) {
  ChannelSums& sums_smem = tiles_smem.sums;
  if (part.lane % 4 == 0) {
    for (int i = 0; i < 2; ++i) {
      sums_smem.from_before[block][ik[i]] = from_before[i];
      sums_smem.from_after[block][ik[i]] = from_after[i];
      sums_smem.from_half[block][ik[i]] = from_half[i];
      sums_smem.du[block][ik[i]] = du[i];
    }
  }
}

// Decays S d_o to the part of dq from keys before the chunk, and D v to the part of dk from queries
// after it.
template <typename Tiles>
__device__ __forceinline__ void decay_products_of_states(const Tiles& tiles_smem,
                                                         const int (&ik)[2], int block, float scale,
                                                         const Decays& decays, Sum& from_state,
                                                         Sum& from_adjoint, float (&to_middle)[2]) {
  for (int i = 0; i < 2; ++i) {
    const float before = scale * tiles_smem.before[block][ik[i]];
    const float after = tiles_smem.after[block][ik[i]];
    to_middle[i] = block == 0   ? tiles_smem.total[1][ik[i]]
                   : block == 3 ? tiles_smem.total[2][ik[i]]
                                : 1.0f;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int y = 2 * i; y < 2 * i + 2; ++y) {
        from_state.d[j][y] *= before * decays.before.d[j][y];
        from_adjoint.d[j][y] *= after * decays.after.d[j][y];
      }
    }
  }
}

// Levels 5 and 4, the pairs with the other half of the chunk, and with the other block of this
// half. `reaching` is the products of level 5's rows with their gradient, which belong to all
// decays between the row and the chunk's middle.
template <typename Tiles>
__device__ __forceinline__ void add_gradients_between_blocks(Tiles& tiles_smem, const Part& part,
                                                             const float (&to_middle)[2], int block,
                                                             const Sum& q, const Sum& k,
                                                             const Decays& decays, Sum& wide_dq,
                                                             Sum& wide_dk, Sum& reaching) {
  const auto level4_smem = square(tiles_smem.level4), level5_smem = square(tiles_smem.level5);
  const int column = block * kBlock;
  Sum far = {}, near = {};
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const int other = (part.late ? 0 : 2) * kBlock + n * kBlock;
    add_wide(tiles_smem, part, column, far, load(level5_smem, part.row, other, part.lane), other);
  }
  const int sibling = (block ^ 1) * kBlock;
  add_wide(tiles_smem, part, column, near, load(level4_smem, part.row, sibling, part.lane),
           sibling);
  const bool odd = block % 2 == 1;
  for_each([&](int j, int y) {
    const float before = decays.before.d[j][y], after = decays.after.d[j][y];
    const float far_change = far.d[j][y] * to_middle[y / 2] * (part.late ? before : after);
    const float near_change = near.d[j][y] * (odd ? before : after);
    reaching.d[j][y] = far_change * (part.late ? q.d[j][y] : k.d[j][y]);
    wide_dq.d[j][y] += (part.late ? far_change : 0.0f) + (odd ? near_change : 0.0f);
    wide_dk.d[j][y] += (part.late ? 0.0f : far_change) + (odd ? 0.0f : near_change);
  });
}

// Stores dq and dk of a block of steps in their tiles, and computes its d_log_w except for pairs
// across the whole block, which need the sums of other blocks. S d_o and D v of the block are
// overwritten. `wide` is the part from outside the block.
template <bool kGla, typename Tiles>
__device__ __forceinline__ void make_gradients_of_block(Tiles& tiles_smem, const Part& part,
                                                        const int (&ik)[2], const float (&u)[2],
                                                        int block, float scale, Sum& wide_dq,
                                                        Sum& wide_dk, Sum& d_log_w) {
  const int column = block * kBlock;
  Sum q, k, w, dq = {}, dk = {}, reaching;
  load_rows(tiles_smem, part, block, q, k, w);
  Decays decays = first_decays<kGla>(w);
  add_gradients_within_block<kGla>(tiles_smem, part, column, q, k, w, decays, dq, dk, d_log_w);

  float to_middle[2];
  decay_products_of_states(tiles_smem, ik, block, scale, decays, wide_dq, wide_dk, to_middle);
  float from_before[2], from_after[2], from_half[2], du[2];
  sum_over_steps(from_before, times(q, wide_dq));
  sum_over_steps(from_after, times(k, wide_dk));
  add_gradients_between_blocks(tiles_smem, part, to_middle, block, q, k, decays, wide_dq, wide_dk,
                               reaching);
  sum_over_steps(from_half, reaching);
  add_to_d_log_w(tiles_smem, part, d_log_w, times(q, wide_dq), kFromBefore);
  add_to_d_log_w(tiles_smem, part, d_log_w, times(k, wide_dk), kFromAfter);

  put_gradients(tiles_smem, part, u, column, q, k, wide_dq, wide_dk, dq, dk, du);
  put_sums(tiles_smem, part, ik, block, from_before, from_after, from_half, du);
}

// The warp's blocks, one at a time, to have enough registers.
template <bool kGla, typename Tiles>
__device__ __forceinline__ void make_gradients(Tiles& tiles_smem, const Part& part,
                                               const int (&ik)[2], const float (&u)[2], float scale,
                                               int tid, Sum (&from_state)[kBlocksPerWarp],
                                               Sum (&from_adjoint)[kBlocksPerWarp],
                                               Sum (&d_log_w)[kBlocksPerWarp]) {
  park(tiles_smem, tid, from_state[1], from_adjoint[1]);
#pragma unroll 1
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    Sum d_log_w_here = {};
    make_gradients_of_block<kGla>(tiles_smem, part, ik, u, part.block_of(x), scale, from_state[0],
                                  from_adjoint[0], d_log_w_here);
    unpark(tiles_smem, tid, from_state[0], from_adjoint[0]);
    d_log_w[0] = d_log_w[1];
    d_log_w[1] = d_log_w_here;
  }
}

}  // namespace chunkwise::backward
