// Decoding, the partial results of a row from the warps and splits, and how they are merged.
//
// kMerge(one, other) updates `one` as if it had seen the keys of `other` too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/decode_rows.hpp"
#include "08_flash_attention/decode_tile.hpp"
#include "common/cuda/tiles/fragment.hpp"

namespace flash_attention::decode {

using Merge = void(Partial& one, const Partial& other);

// The merge of lesson 20, for the lessons after it.
inline __device__ void merge_partials(Partial& one, const Partial& other) {
  const float m = fmaxf(one.m, other.m);
  const float origin = m == kNothing ? 0.0f : m;  // -inf - -inf would be NaN
  const float keep = exp2f(one.m - origin), add = exp2f(other.m - origin);
  one.m = m;
  one.l = keep * one.l + add * other.l;
  one.acc.x = keep * one.acc.x + add * other.acc.x;
  one.acc.y = keep * one.acc.y + add * other.acc.y;
  one.acc.z = keep * one.acc.z + add * other.acc.z;
  one.acc.w = keep * one.acc.w + add * other.acc.w;
}

// The splits' results for `merge_splits`, or null if there is only one split.
struct Partials {
  float4* acc = nullptr;         // (B, H_kv, rows, splits, kD / 4)
  float2* statistics = nullptr;  // (B, H_kv, rows, splits), m and l
};
// The maximum score of a row outside all packed sequences is a NaN, which no maximum can be.
constexpr std::uint32_t kNobody = 0xffffffffu;

// ---- The warps of a block ----

// A warp's result is in its own stages. The padding of rows avoids bank conflicts.
template <int kD>
constexpr int kAccStride = kD + 8;

template <int kD>
__device__ void store_result(OnlineSoftmax<kD>& result, float* acc_smem,
                             float2 (&statistics_smem)[kRows], int lane) {
  static_assert(kRows * kAccStride<kD> <= Cut<kD>::kStages * Cut<kD>::kTile);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    result.l[i] = quad_sum(result.l[i]);
    if (lane % 4 == 0) statistics_smem[row] = make_float2(result.m[i], result.l[i]);
#pragma unroll
    for (int c = 0; c < kD / 8; ++c)
      *reinterpret_cast<float2*>(acc_smem + row * kAccStride<kD> + c * 8 + lane % 4 * 2) =
          make_float2(result.acc[c][2 * i], result.acc[c][2 * i + 1]);
  }
}

// Merges the results of the block's warps, into the final result or one split's part of it.
template <int kD, Merge* kMerge, typename Args, int kWarps>
__device__ void merge_warps(const Args& args, const Rows& rows, const BlockRows& at,
                            const Partials& partials, const float* acc_smem,
                            const float2 (&statistics_smem)[kWarps][kRows]) {
  using C = Cut<kD>;
  for (int i = threadIdx.x; i < at.count * (kD / 4); i += C::kThreads) {
    const int row = i / (kD / 4), column = i % (kD / 4);
    Partial all;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float* const other = acc_smem + w * C::kStages * C::kTile + row * kAccStride<kD>;
      const float2 statistics = statistics_smem[w][row];
      kMerge(all,
             {statistics.x, statistics.y, *reinterpret_cast<const float4*>(other + column * 4)});
    }
    if (partials.acc == nullptr) {
      finish(args, rows, at.b, at.h, at.first + row, column * 4, all);
      continue;
    }
    const std::int64_t to =
        ((at.b * args.H_kv + at.h) * rows.count + at.first + row) * at.splits + at.split;
    partials.acc[to * (kD / 4) + column] = all.acc;
    if (column == 0) partials.statistics[to] = make_float2(all.m, all.l);
  }
}

// ---- The splits of a row ----

constexpr int kParts = 8;  // threads of `merge_splits` that share a column
template <int kD>
constexpr int kMergeThreads = kD / 4 * kParts;

// Merges the splits of a block's row, unless the row is in no packed sequence. Threads take the
// splits round-robin, then merge their parts.
template <int kD, Merge* kMerge, bool kPacked, typename Args>
__device__ void merge_row(const Args& args, const Rows& rows, int splits, const Partials& partials,
                          float4 (&acc_smem)[kParts][kD / 4], float2 (&statistics_smem)[kParts]) {
  constexpr int kColumns = kD / 4;
  const int part = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
  const int row = static_cast<int>(blockIdx.x);
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const std::int64_t first = ((b * args.H_kv + h) * rows.count + row) * splits;
  if (kPacked && __float_as_uint(partials.statistics[first].x) == kNobody) return;

  Partial mine;
#pragma unroll 8
  for (int split = part; split < splits; split += kParts) {
    const float2 statistics = partials.statistics[first + split];
    kMerge(mine, {statistics.x, statistics.y, partials.acc[(first + split) * kColumns + column]});
  }
  acc_smem[part][column] = mine.acc;
  if (column == 0) statistics_smem[part] = make_float2(mine.m, mine.l);
  __syncthreads();  // all parts are in shared memory
  if (part > 0) return;
#pragma unroll
  for (int other = 1; other < kParts; ++other)
    kMerge(mine, {statistics_smem[other].x, statistics_smem[other].y, acc_smem[other][column]});
  finish(args, rows, b, h, row, column * 4, mine);
}

}  // namespace flash_attention::decode
