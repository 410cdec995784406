// Decays between any two of 16 steps, without positive exponents and without a division.
//
// Let a key be at step s and a query at step p > s. Their highest differing bit, the level, names
// the smallest aligned block whose lower half contains s and whose upper half contains p. The decay
// between them is a product of two factors, the decay of k_s up to the end of its half, and the
// decay of a state from there to p. Both are products of decays, at most 1. A complete reset is a
// factor of 0, here as in the recurrence. Therefore at each level a step has one role, key or
// query, and one row for the product:
//
//     level 0    k q k q k q k q k q k q k q k q
//     level 1    k k q q k k q q k k q q k k q q
//     level 2    k k k k q q q q k k k k q q q q
//     level 3    k k k k k k k k q q q q q q q q
//
// Blocks are distributed over the lanes of a warp as in gradient_blocks.hpp. Rows are channels and
// columns are steps. Bit 0 of a step is e, bits 1 and 2 are the lane's, bit 3 is j.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_chunkwise/gradient_blocks.hpp"

namespace chunkwise::backward {

constexpr int kBlockLevels = 4;  // of 16 steps

// Whether a lane's element [j][2 i + e] is in the upper half of its block at `level`.
inline __device__ bool is_query(int level, int j, int e, int lane) {
  return level == 0 ? e == 1 : level == 3 ? j == 1 : (lane >> (level - 1) & 1) != 0;
}

// Products of decays within an aligned block of 2^level steps, of the steps before a step, of the
// steps after it, and of all.
struct Decays {
  Sum before, after;
  float total[2][2];  // [j][i], from level 1 on
};

// Level 0. WKV reads the state before its step's decay, GLA after it.
template <bool kGla>
__device__ Decays first_decays(const Sum& w) {
  Decays decays;
  for_each([&](int j, int x) {
    decays.before.d[j][x] = kGla ? w.d[j][x] : 1.0f;
    decays.after.d[j][x] = 1.0f;
  });
  return decays;
}

// Updates the products from `level` to the next.
inline __device__ void climb(Decays& decays, const Sum& w, int level, int lane) {
  float sibling[2][4], total[2][2];
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float across = level == 0   ? 0.0f
                           : level == 3 ? decays.total[1 - j][i]
                                        : __shfl_xor_sync(kAllLanes, decays.total[j][i], level);
#pragma unroll
      for (int e = 0; e < 2; ++e)
        sibling[j][2 * i + e] = level == 0 ? w.d[j][2 * i + 1 - e] : across;
      total[j][i] = level == 0 ? w.d[j][2 * i] * w.d[j][2 * i + 1] : decays.total[j][i] * across;
    }
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (is_query(level, j, x % 2, lane)) {
        decays.before.d[j][x] *= sibling[j][x];
      } else {
        decays.after.d[j][x] *= sibling[j][x];
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
      decays.total[j][i] = total[j][i];
  }
}

// The row that each step has at `level`.
inline __device__ Sum rows_at(int level, const Sum& q, const Sum& k, const Decays& decays,
                              int lane) {
  Sum rows;
  for_each([&](int j, int x) {
    if (is_query(level, j, x % 2, lane)) {
      rows.d[j][x] = q.d[j][x] * decays.before.d[j][x];
    } else {
      rows.d[j][x] = k.d[j][x] * decays.after.d[j][x];
    }
  });
  return rows;
}

// exp(log_w), with the accuracy of the elements. Near 1 expf may be off by a unit in the last
// place, always in the same direction for the same decay, and a chunk has its 64th power.
template <typename Element>
__device__ float decay_of(float log_w) {
  if constexpr (std::is_same_v<Element, float>) {
    return log_w > -0.25f ? 1.0f + expm1f(log_w) : expf(log_w);
  } else {
    return __expf(log_w);
  }
}

// Whether the pair [t][r] of a block meets at `level`, the highest bit in which t and r differ.
inline __device__ bool meet(int level, int t, int r) {
  return (t ^ r) >> level == 1;
}

// Keeps only the pairs that meet at `level`. The pairs of level 3 are between the block's halves,
// and all others are within one half, the same in both.
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

// Spans describe which rows reach across which steps. There is one per level in a block, and two
// for pairs with steps outside the block.
constexpr int kFromBefore = kBlockLevels, kFromAfter = kBlockLevels + 1, kSpans = kBlockLevels + 2;

// [t][r] is 1 if the decay of step t is between row r and its source or target.
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
