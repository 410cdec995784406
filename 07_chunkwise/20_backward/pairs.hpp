// Pairs of steps: which blocks they form, at which level of the tree they meet, and which decays lie between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"

namespace chunkwise::backward {

// Pairs of blocks of 16 steps: the diagonal, then level 4, then level 5. One hexadecimal digit for each pair, from the right.
constexpr int kPairs = kBlocks * (kBlocks + 1) / 2;
constexpr int kPairsPerWarp = (kPairs + kWarps - 1) / kWarps;  // warp + 8 x
inline __device__ int later_block(int pair) {
  return 0x3232313210 >> 4 * pair & 15;
}
inline __device__ int earlier_block(int pair) {
  return 0x1100203210 >> 4 * pair & 15;
}

// Whether the pair [t][r] of a block meets at `level`: the highest bit in which t and r differ is that one.
inline __device__ bool meet(int level, int t, int r) {
  return (t ^ r) >> level == 1;
}

// Only they stay. Level 3 is the pairs between the block's halves, the others are within one half, the same in both.
inline __device__ Right<bfloat16> meeting(Right<bfloat16> pairs, int level, int lane) {
  const int t = lane / 4, r = lane % 4 * 2;
  const std::uint32_t mask =
      (meet(level, t, r) ? 0xffffu : 0u) | (meet(level, t, r + 1) ? 0xffff0000u : 0u);
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    const bool same_half = ij % 2 == ij / 2;
    pairs.pair[ij] = same_half == (level == 3) ? 0u
                     : same_half               ? pairs.pair[ij] & mask
                                               : pairs.pair[ij];
  }
  return pairs;
}
inline __device__ Right<float> meeting(Right<float> pairs, int level, int lane) {
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (meet(level, lane / 4 + ij % 2 * 8, lane % 4 * 2 + ij / 2 * 8 + e)) continue;
      pairs.big[ij][e] = pairs.small[ij][e] = 0;
    }
  }
  return pairs;
}

// [t][r]: 1 where the decay of step t lies between row r and where it comes from or goes to.
template <bool kGla, typename Element>
__device__ Right<Element> make_span(int span, int lane) {
  const int level = span < kBlockLevels ? span : kBlockLevels;
  Sum ones;
  for_each([&](int j, int x) {
    const int t = lane / 4 + x / 2 * 8, r = lane % 4 * 2 + j * 8 + x % 2;
    const bool query = span == level ? span == kFromBefore || (t >> level) % 2 == 1 : false;
    const bool between = query ? (kGla ? r >= t : r > t) : r < t;
    ones.d[j][x] = t >> level == r >> level && between ? 1.0f : 0.0f;
  });
  return as_right<Element>(ones);
}

}  // namespace chunkwise::backward
