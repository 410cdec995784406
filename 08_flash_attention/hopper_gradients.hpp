// Shared by the Hopper kernels of the gradients. It contains the kernels before and after, the five
// products, the computation of P and dS from S, and the stores. A block keeps 128 keys and values.
// Each of two warpgroups has 64 of them, and all queries of a step.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "08_flash_attention/hopper_tiles.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

namespace hopper = ladder::cuda::hopper;

constexpr int kKeys = 128;    // of a block
constexpr int kQueries = 64;  // of a step, so that its S and dP fit into registers beside dk and dv

constexpr int kConsumers = 2;                   // warpgroups that compute,
constexpr int kGroupKeys = kKeys / kConsumers;  // with this many keys each
constexpr int kConsumerThreads = kConsumers * hopper::kWarpgroup;

constexpr int kRowBytes = 2 * hopper::kPanel;                                     // of a panel
constexpr int kQueryPanel = kQueries * kRowBytes, kKeyPanel = kKeys * kRowBytes;  // in bytes
constexpr int kUnit = 8;  // elements of a 16-byte vector

constexpr int kEndThreads = 256;  // of a block of the kernels before and after

enum Named { kBothGroups = 1, kOwnGroup = 2 };  // named barriers, also kOwnGroup + 1

// A tile of rows of kD elements, in panels of 64 columns.
template <typename Element, int kD, int kRows>
using Panels = Element[kD / hopper::kPanel][kRows][hopper::kPanel];

// Rows in memory have D elements, which is kD, or fewer if the tile is wider. Then TMA fills the
// tile with zeros, and no thread stores these.
template <int kD>
struct WholeRows {
  __host__ __device__ constexpr operator int() const { return kD; }
};

// ---- Before: lse and delta of each query ----
//
// A block per query tile and head, which has a slot. A slot holds 64 pairs (lse, delta) in `stats`,
// and a tile of sums of dq, in the order of the warpgroups' registers.

// A sequence's first row in q and in lse, its number of queries, the tile's first row among these,
// and the tile's head and slot.
struct QueryTile {
  std::int64_t first_query, first_lse, queries;
  std::int64_t first_row;
  unsigned h, slot;
};

template <typename Element, int kD, typename Columns = WholeRows<kD>>
__device__ void prepare_tile(const ladder::BasicAttentionGradArgs<Element>& args,
                             const QueryTile& tile, float* stats, Columns D = {}) {
  constexpr int kLanes = kD / kUnit, kRows = kEndThreads / kLanes, kPasses = kQueries / kRows;
  const ladder::BasicAttentionArgs<Element>& forward = args.forward;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int first = static_cast<int>(threadIdx.x) / kLanes;
  const bool is_column = lane * kUnit < D;

  // All loads are issued before any is used. Rows past the last query load that query again, and
  // columns past the last one load the first, because a branch would serialize the loads.
  uint4 o[kPasses], d_o[kPasses];
  float lse[kPasses];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::int64_t l = min(tile.first_row + first + pass * kRows, tile.queries - 1);
    const std::int64_t at =
        ((tile.first_query + l) * forward.H_q + tile.h) * D + (is_column ? lane * kUnit : 0);
    o[pass] = *reinterpret_cast<const uint4*>(forward.o + at);
    d_o[pass] = *reinterpret_cast<const uint4*>(args.d_o + at);
    lse[pass] = forward.lse[tile.first_lse + tile.h * forward.T_q + l];
  }
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row = first + pass * kRows;
    float delta = 0;
#pragma unroll
    for (int i = 0; i < kUnit; ++i)
      delta += ladder::cuda::load(reinterpret_cast<const Element*>(&o[pass]) + i) *
               ladder::cuda::load(reinterpret_cast<const Element*>(&d_o[pass]) + i);
    if (!is_column) delta = 0;
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2)
      delta += __shfl_xor_sync(~0u, delta, step);
    if (lane != 0) continue;
    // With lse = inf every key's weight is exp2(.. - inf) = 0, for a query that sees no key or is
    // out of bounds.
    const bool sees_keys = tile.first_row + row < tile.queries && lse[pass] != -INFINITY;
    float* const pair = stats + (std::int64_t{tile.slot} * kQueries + row) / 2 * 4 + row % 2;
    pair[0] = sees_keys ? lse[pass] * ladder::cuda::kLog2e : INFINITY;
    pair[2] = sees_keys ? delta : 0.0f;
  }
}

// ---- After: dq in 16 bits ----

// A tile's rows, padded, so that the pairs of a warp's stores are in different banks.
template <typename Element, int kD>
using PaddedRows = Element[kQueries][kD + kUnit];

template <typename Element, int kD, typename Columns = WholeRows<kD>>
__device__ void finish_tile(PaddedRows<Element, kD>& rows_smem,
                            const ladder::BasicAttentionGradArgs<Element>& args,
                            const QueryTile& tile, const float* dq_sums, Columns D = {}) {
  const ladder::BasicAttentionArgs<Element>& forward = args.forward;
  const float4* const sums =
      reinterpret_cast<const float4*>(dq_sums + std::int64_t{tile.slot} * (kQueries * kD));
#pragma unroll
  for (int i = 0; i < kQueries * kD / 4; i += kEndThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    const float4 x = sums[at];
    // Each warpgroup has half of the columns, 8 by 8. hopper.hpp explains the four floats of a
    // thread.
    const int thread = at % hopper::kWarpgroup, block = at / hopper::kWarpgroup;
    const int row = thread / 32 * 16 + thread % 32 / 4, column = block * 8 + thread % 4 * 2;
    *reinterpret_cast<std::uint32_t*>(&rows_smem[row][column]) =
        ladder::cuda::pack<Element>(x.x * forward.scale, x.y * forward.scale);
    *reinterpret_cast<std::uint32_t*>(&rows_smem[row + 8][column]) =
        ladder::cuda::pack<Element>(x.z * forward.scale, x.w * forward.scale);
  }
  __syncthreads();
  constexpr int kUnits = kD / kUnit;
  for (int i = static_cast<int>(threadIdx.x); i < kQueries * kUnits; i += kEndThreads) {
    const int row = i / kUnits, column = i % kUnits * kUnit;
    const std::int64_t l = tile.first_row + row;
    if (l >= tile.queries) break;
    if (column >= D) continue;
    *reinterpret_cast<uint4*>(args.dq + ((tile.first_query + l) * forward.H_q + tile.h) * D +
                              column) = *reinterpret_cast<const uint4*>(&rows_smem[row][column]);
  }
}

// ---- The products of a step ----
//
// Each warpgroup has 64 of the keys. It computes S and dP transposed, keys by queries, so that P^T
// and dS^T, packed, are the A of dv += P^T d_o and dk += dS^T q, and never leave the registers.
// Only dq = dS k, a sum over both warpgroups' keys, needs dS in shared memory.

// S^T = k q^T, or dP^T = v d_o^T.
template <typename Element, int kD>
__device__ void multiply_rows(float (&d)[kQueries / 2], std::uint64_t keys, std::uint64_t queries) {
  hopper::wgmma_fence();
#pragma unroll
  for (int s = 0; s < kD / 16; ++s) {
    const int panel = s / 4, inside = s % 4 * hopper::kNextK;
    hopper::wgmma<Element, kQueries, hopper::Major::kK, hopper::Major::kK>(
        d, hopper::advance(keys, panel * kKeyPanel + inside),
        hopper::advance(queries, panel * kQueryPanel + inside), s > 0);
  }
  hopper::wgmma_commit_group();
}

// dv += P^T d_o, or dk += dS^T q.
template <typename Element, int kD>
__device__ void add_weighted_rows(float (&sum)[kD / 2],
                                  const std::uint32_t (&weights)[kQueries / 16][4],
                                  std::uint64_t queries) {
  hopper::wgmma_fence();
#pragma unroll
  for (int s = 0; s < kQueries / 16; ++s)
    hopper::wgmma<Element, kD, hopper::Major::kMN>(sum, weights[s],
                                                   hopper::advance(queries, s * hopper::kNextMN));
  hopper::wgmma_commit_group();
}

// dq = dS k, for the warpgroup's half of the columns.
template <typename Element, int kD>
__device__ void multiply_ds(float (&dq)[kD / 4], std::uint64_t ds, std::uint64_t keys) {
  hopper::wgmma_fence();
#pragma unroll
  for (int s = 0; s < kKeys / 16; ++s)
    hopper::wgmma<Element, kD / 2, hopper::Major::kMN, hopper::Major::kMN>(
        dq, hopper::advance(ds, s * hopper::kNextMN), hopper::advance(keys, s * hopper::kNextMN),
        s > 0);
  hopper::wgmma_commit_group();
}

template <int kD>
__device__ void add_to_memory(float* sums, const float (&dq)[kD / 4]) {
#pragma unroll
  for (int b = 0; b < kD / 16; ++b)
    hopper::add_floats(sums + b * (4 * hopper::kWarpgroup), dq[4 * b], dq[4 * b + 1], dq[4 * b + 2],
                       dq[4 * b + 3]);
}

// ---- From S to P and dS, in registers ----
//
// `stats` holds the step's values, from the thread's own pair of queries on.

// P^T = exp2(S^T c - lse).
inline __device__ void weigh(float (&p)[kQueries / 2], const float4* stats, float log2_scale) {
#pragma unroll
  for (int b = 0; b < kQueries / 8; ++b) {
    const float4 x = stats[4 * b];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      p[4 * b + j] =
          ladder::cuda::exp2_flushed(p[4 * b + j] * log2_scale - (j % 2 == 0 ? x.x : x.y));
  }
}

// dS^T = P^T o (dP^T - delta), which replaces dP^T.
inline __device__ void differentiate(float (&ds)[kQueries / 2], const float (&p)[kQueries / 2],
                                     const float4* stats) {
#pragma unroll
  for (int b = 0; b < kQueries / 8; ++b) {
    const float4 x = stats[4 * b];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      ds[4 * b + j] = p[4 * b + j] * (ds[4 * b + j] - (j % 2 == 0 ? x.z : x.w));
  }
}

// ---- Stores ----

// A block's rows of dk and dv, `count` from `first` on, of one of H heads.
struct KeyRows {
  std::int64_t first;
  int H, head, count;
};

// Stores the warpgroup's rows of dk or dv, through shared memory, so that whole rows are stored.
template <typename Element, int kD, typename Columns = WholeRows<kD>>
__device__ void store_rows(Panels<Element, kD, kKeys>& tile_smem, const KeyRows& rows, int group,
                           const float (&sum)[kD / 2], float scale, Element* to, Columns D = {}) {
  const int tid = static_cast<int>(threadIdx.x) % hopper::kWarpgroup;
  const int row = group * kGroupKeys + tid / 32 * 16 + tid % 16, unit = tid % 32 / 16;
#pragma unroll
  for (int s = 0; s < kD / 16; ++s) {
    std::uint32_t packed[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      packed[j] =
          ladder::cuda::pack<Element>(sum[8 * s + 2 * j] * scale, sum[8 * s + 2 * j + 1] * scale);
    hopper::store_matrices(&tile_smem[s / 4][row][((s % 4 * 2 + unit) ^ row % 8) * kUnit], packed);
  }
  hopper::named_barrier_sync(kOwnGroup + group, hopper::kWarpgroup);
  constexpr int kUnits = kD / kUnit;
  for (int i = tid; i < kGroupKeys * kUnits; i += hopper::kWarpgroup) {
    const int r = group * kGroupKeys + i / kUnits, u = i % kUnits;
    if (r >= rows.count) break;
    if (u * kUnit >= D) continue;
    const std::int64_t at = (rows.first + r) * rows.H + rows.head;
    *reinterpret_cast<uint4*>(to + at * D + u * kUnit) =
        *reinterpret_cast<const uint4*>(&tile_smem[u / 8][r][(u % 8 ^ r % 8) * kUnit]);
  }
}

// ---- On the host ----

inline void require_at_most(const char* name, std::int64_t value, std::int64_t most) {
  ladder::require(value <= most, std::string(name) + " is " + std::to_string(value) +
                                     "; allowed in this kernel: up to " + std::to_string(most));
}

// The alignment that copies and wide loads need.
template <typename Element>
void require_copyable(const ladder::BasicAttentionGradArgs<Element>& args) {
  const ladder::BasicAttentionArgs<Element>& forward = args.forward;
  const auto require_all =
      [](std::initializer_list<std::pair<const char*, const Element*>> pointers) {
        for (const auto& [name, pointer] : pointers)
          ladder::require_pointer(name, pointer, kUnit * sizeof(Element));
      };
  if (forward.B * forward.T_q > 0)
    require_all({{"q", forward.q}, {"o", forward.o}, {"d_o", args.d_o}, {"dq", args.dq}});
  if (forward.B * forward.T_k > 0)
    require_all({{"k", forward.k}, {"v", forward.v}, {"dk", args.dk}, {"dv", args.dv}});
}

}  // namespace flash_attention
