// The rows of a chunk's decay tree, that is, queries and keys at each level, and the decays outside
// a block. Then the scores, with keys as rows. Queries and keys of a level are in one tile, whose
// product with itself contains their scores.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/decay_tree.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"

namespace chunkwise::backward {

// ---- Rows ----

// q, k and the decays of a block of steps, by channel.
template <typename Tiles>
__device__ __forceinline__ void load_rows(Tiles& tiles_smem, const Part& part, int block, Sum& q,
                                          Sum& k, Sum& w) {
  const auto q_smem = square(tiles_smem.q), k_smem = square(tiles_smem.k);
  const auto log_w_smem = square(tiles_smem.log_w);
  q = load_values_transposed(q_smem, block * kBlock, part.row, part.lane);
  k = load_values_transposed(k_smem, block * kBlock, part.row, part.lane);
  w = load_values_transposed(log_w_smem, block * kBlock, part.row, part.lane);
  for_each([&](int j, int x) { w.d[j][x] = decay_of<typename Tiles::Element>(w.d[j][x]); });
}

// The bonus of each step, and level 0's scores, which need no product of blocks because each is of
// an even step's key and the next step's query.
template <typename Tiles>
__device__ __forceinline__ void put_bonus(Tiles& tiles_smem, const Part& part, const float (&u)[2],
                                          int block, const Sum& q, const Sum& k,
                                          const Decays& decays) {
  const auto sum_over_channels = [&](float sum) {
#pragma unroll
    for (int lanes = 4; lanes < kWarpSize; lanes *= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, lanes);
    return sum;
  };
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const int step = block * kBlock + part.lane % 4 * 2 + 8 * j;
    const auto product = [&](int y) { return u[y / 2] * q.d[j][y] * k.d[j][y]; };
    const auto next_product = [&](int y) {
      return q.d[j][y + 1] * decays.before.d[j][y + 1] * k.d[j][y];
    };
    const float even = sum_over_channels(product(0) + product(2));
    const float odd = sum_over_channels(product(1) + product(3));
    const float next = sum_over_channels(next_product(0) + next_product(2));
    if (part.lane < 4) {
      tiles_smem.bonus[part.warp % kBlocks][step] = even;
      tiles_smem.bonus[part.warp % kBlocks][step + 1] = odd;
      tiles_smem.next[part.warp % kBlocks][step] = next;
    }
  }
}

// The rows of levels 1 to 3 use the buffers of three later tiles, because only the scores need
// them.
template <typename Tiles>
__device__ __forceinline__ SquareTile<typename Tiles::Element> level_tile(Tiles& tiles_smem,
                                                                          int level) {
  return {level == 1 ? tiles_smem.d_scores : level == 2 ? tiles_smem.left : tiles_smem.scores};
}

// The rows of a block of steps at each level up to 3. Afterwards `decays` covers the whole block.
template <typename Tiles>
__device__ __forceinline__ void put_rows_of_block(Tiles& tiles_smem, const Part& part, int block,
                                                  const Sum& q, const Sum& k, const Sum& w,
                                                  Decays& decays) {
  climb(decays, w, 0, part.lane);
#pragma unroll
  for (int level = 1; level < kBlockLevels; ++level) {
    put(level_tile(tiles_smem, level), part.row, block * kBlock,
        rows_at(level, q, k, decays, part.lane), part.lane);
    climb(decays, w, level, part.lane);
  }
}

// The rows of levels 4 and 5, the halves of 32 and of 64 steps. `middle` is the decay between the
// block and the chunk's middle.
template <typename Tiles>
__device__ __forceinline__ void put_rows_of_halves(Tiles& tiles_smem, const Part& part, int block,
                                                   const Sum& read, const Sum& left,
                                                   const float (&middle)[2]) {
  const auto level4_smem = square(tiles_smem.level4), level5_smem = square(tiles_smem.level5);
  put(level4_smem, part.row, block * kBlock, block % 2 == 1 ? read : left, part.lane);
  Sum far = part.late ? read : left;
  for_each([&](int j, int y) { far.d[j][y] *= middle[y / 2]; });
  put(level5_smem, part.row, block * kBlock, far, part.lane);
}

// The rows of each level, the bonus and the decays of the warp's blocks of steps. `left` holds
// their keys, decayed to the end of the block.
template <bool kGla, typename Tiles>
__device__ __forceinline__ void put_rows(Tiles& tiles_smem, const Part& part, const int (&ik)[2],
                                         const float (&u)[2], Sum (&left)[kBlocksPerWarp]) {
  float middle[2] = {1.0f, 1.0f};
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x);
    Sum q, k, w;
    load_rows(tiles_smem, part, block, q, k, w);
    Decays decays = first_decays<kGla>(w);
    put_bonus(tiles_smem, part, u, block, q, k, decays);
    put_rows_of_block(tiles_smem, part, block, q, k, w, decays);
    left[x] = times(k, decays.after);
    put_rows_of_halves(tiles_smem, part, block, times(q, decays.before), left[x], middle);
    for (int i = 0; i < 2; ++i) {
      middle[i] = decays.total[0][i];
      if (part.lane % 4 == 0) tiles_smem.total[block][ik[i]] = middle[i];
    }
  }
}

// The decay of all of a chunk's steps before a block, and of those after it, by channel.
template <typename Tiles>
__device__ __forceinline__ void put_decays_around_blocks(Tiles& tiles_smem, int tid) {
  const int block = tid / kSide, channel = tid % kSide;
  float before = 1.0f, after = 1.0f;
  for (int other = 0; other < kBlocks; ++other) {
    if (other < block) before *= tiles_smem.total[other][channel];
    if (other > block) after *= tiles_smem.total[other][channel];
  }
  tiles_smem.before[block][channel] = before;
  tiles_smem.after[block][channel] = after;
}

// Decays k further, from the end of its block to the end of the chunk.
template <typename Tiles>
__device__ __forceinline__ void decay_to_the_end(const Tiles& tiles_smem, const Part& part,
                                                 const int (&ik)[2], Sum (&left)[kBlocksPerWarp]) {
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    for (int i = 0; i < 2; ++i) {
      float after = 1.0f;
      for (int other = 1; other < kBlocks; ++other)
        if (other > part.block_of(x)) after *= tiles_smem.total[other][ik[i]];
      for (int j = 0; j < 2; ++j) {
        left[x].d[j][2 * i] *= after;
        left[x].d[j][2 * i + 1] *= after;
      }
    }
  }
}

template <typename Tiles>
__device__ __forceinline__ void put_left(Tiles& tiles_smem, const Part& part,
                                         const Sum (&left)[kBlocksPerWarp]) {
  const auto left_smem = square(tiles_smem.left);
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x)
    put(left_smem, part.row, part.block_of(x) * kBlock, left[x], part.lane);
}

// ---- Scores ----

// Adds the scores of a block of steps with itself, first levels 1 to 3, then the bonus and level 0.
template <typename Tiles>
__device__ __forceinline__ void add_scores_within_block(Tiles& tiles_smem, const Part& part,
                                                        Sum& scores) {
  const int column = part.warp * kBlock;
#pragma unroll
  for (int level = 1; level < kBlockLevels; ++level) {
    Sum all = {};
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
      multiply_add(
          all, load_transposed(level_tile(tiles_smem, level), n * kBlock, column, part.lane),
          load_right_transposed(level_tile(tiles_smem, level), n * kBlock, column, part.lane));
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int s = part.lane / 4, p = part.lane % 4 * 2 + e;
      if (level == 3) {
        scores.d[1][e] = all.d[1][e];
      } else if (p > s && meet(level, p, s)) {
        scores.d[0][e] = all.d[0][e];
        scores.d[1][2 + e] = all.d[1][2 + e];
      }
    }
  }
  const auto add_up = [&](const float(&parts)[kBlocks][kSide], int step) {
    return parts[0][step] + parts[1][step] + parts[2][step] + parts[3][step];
  };
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const int s = part.lane / 4, p = part.lane % 4 * 2, step = column + s + 8 * j;
    if (p == s) {
      scores.d[j][2 * j] = add_up(tiles_smem.bonus, step);
      scores.d[j][2 * j + 1] = add_up(tiles_smem.next, step);
    } else if (p + 1 == s) {
      scores.d[j][2 * j + 1] = add_up(tiles_smem.bonus, step);
    }
  }
}

// Adds the scores of the pairs of blocks that meet at levels 4 and 5.
template <typename Tiles>
__device__ __forceinline__ void add_scores_between_blocks(Tiles& tiles_smem, const Part& part,
                                                          Sum (&scores)[kPairsPerWarp]) {
  const auto level4_smem = square(tiles_smem.level4), level5_smem = square(tiles_smem.level5);
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair < kBlocks || pair >= kPairs) continue;
    const int p = later_block(pair), s = earlier_block(pair);
    const auto rows_smem = p / 2 == s / 2 ? level4_smem : level5_smem;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
      multiply_add(scores[x], load_transposed(rows_smem, n * kBlock, s * kBlock, part.lane),
                   load_right_transposed(rows_smem, n * kBlock, p * kBlock, part.lane));
  }
}

template <typename Tiles>
__device__ __forceinline__ void put_scores(Tiles& tiles_smem, const Part& part, float scale,
                                           Sum (&scores)[kPairsPerWarp]) {
  const auto scores_smem = square(tiles_smem.scores);
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair >= kPairs) continue;
    for_each([&](int j, int y) { scores[x].d[j][y] *= scale; });
    put(scores_smem, earlier_block(pair) * kBlock, later_block(pair) * kBlock, scores[x],
        part.lane);
  }
}

}  // namespace chunkwise::backward
