// Scores, with keys as rows. Queries and keys of a level lie in one tile: its product with itself has their scores.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/20_backward/chunk_rows.hpp"
#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/pairs.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"

namespace chunkwise::backward {

// Adds the scores of a block of steps with itself: levels 1 to 3, then the bonus and level 0.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_scores_within_block(
    ChunkTiles<kRests, Element, LogW>& tiles_smem, const Part& part, Sum& scores) {
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
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_scores_between_blocks(
    ChunkTiles<kRests, Element, LogW>& tiles_smem, const Part& part, Sum (&scores)[kPairsPerWarp]) {
  const SquareTile<Element> level4_smem{tiles_smem.level4}, level5_smem{tiles_smem.level5};
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair < kBlocks || pair >= kPairs) continue;
    const int p = later_block(pair), s = earlier_block(pair);
    const SquareTile<Element> rows_smem = p / 2 == s / 2 ? level4_smem : level5_smem;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
      multiply_add(scores[x], load_transposed(rows_smem, n * kBlock, s * kBlock, part.lane),
                   load_right_transposed(rows_smem, n * kBlock, p * kBlock, part.lane));
  }
}

template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_scores(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                           const Part& part, float scale,
                                           Sum (&scores)[kPairsPerWarp]) {
  const SquareTile<Element> scores_smem{tiles_smem.scores};
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
