// Decoding, the rows of queries that share the keys of one kv head, their indices in q, o and lse,
// and a row's partial result.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "08_flash_attention/all_options.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/storage.hpp"

namespace flash_attention::decode {

constexpr int kRows = 16;  // rows of a tile of queries, one MMA's
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// The rows that share the keys of one kv head. Query l, head g of the group is row l * group + g.
// Packed sequences are in one batch, and their rows are contiguous.
struct Rows {
  int group = 1, count = 0;
  int tiles = 0;  // of kRows, or slots if packed
};

// The index of row `row` of kv head h in q and o, counted in rows.
template <typename Args>
__device__ std::int64_t query_of(const Args& args, const Rows& rows, std::int64_t b, std::int64_t h,
                                 int row) {
  return (b * args.T_q + row / rows.group) * args.H_q + h * rows.group + row % rows.group;
}

// A block's work, `count` rows of kv head h in batch b, and the keys of one of `splits` splits.
struct BlockRows {
  std::int64_t b, h;
  int first, count;
  int split, splits;
};

// The result of some of a row's keys, in four columns. It consists of the maximum score (base 2),
// the sum of the weights exp2(score - m), and the sum of the values with these weights.
struct Partial {
  float m = kNothing, l = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};
};

// Writes four columns of the final result.
template <typename Args>
__device__ void finish(const Args& args, const Rows& rows, std::int64_t b, std::int64_t h, int row,
                       int column, const Partial& p) {
  const std::int64_t D_v = value_channels(args);
  if (column >= D_v) return;
  const float share = p.l > 0.0f ? 1.0f / p.l : 0.0f;
  auto* const o = args.o + query_of(args, rows, b, h, row) * D_v + column;
  ladder::cuda::store(o, p.acc.x * share);
  ladder::cuda::store(o + 1, p.acc.y * share);
  ladder::cuda::store(o + 2, p.acc.z * share);
  ladder::cuda::store(o + 3, p.acc.w * share);
  if (column == 0) {
    const std::int64_t head = h * rows.group + row % rows.group;
    args.lse[(b * args.H_q + head) * args.T_q + row / rows.group] =
        p.l > 0.0f ? p.m * ladder::cuda::kLn2 + logf(p.l) : kNothing;
  }
}

}  // namespace flash_attention::decode
