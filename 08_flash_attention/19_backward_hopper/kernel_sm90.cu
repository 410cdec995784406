// 08 flash attention, the gradients on Hopper: wgmma and TMA, with all options.
// Change: rewrite of 08.18d for all options, which are masks, lengths, packed sequences, fp16, any
//         D and scale. dv is computed before dS is stored.
// Why:    a block has to find its keys and steps for any lengths, and rows past a sequence's end
//         must not contribute.
// Needs:  compute capability 9.0, bf16 or fp16, D and D_v up to 128, multiples of 8, all options,
//         tensors aligned to 16 bytes.
// Costs:  many blocks add to a row of dq, in fp32 and in any order, so the sum is not bitwise
//         repeatable. See README for measurements.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/clear_gradients.hpp"
#include "08_flash_attention/hopper_gradients.hpp"
#include "08_flash_attention/hopper_tiles.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/softcap.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using hopper::phase_of;
using hopper::stage_of;
using ladder::BasicAttentionArgs;
using ladder::BasicAttentionGradArgs;
using ladder::FullAttentionGradArgs;

constexpr int kStages = 2;  // steps whose queries are in use or in flight

constexpr int kThreads = hopper::kWarpgroup + kConsumerThreads;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;

// A window that hides nothing. With at most half as many rows, sums of rows and windows fit into 32
// bits.
constexpr std::int64_t kNoWindow = 1 << 30;

// With kPadded D is below kD and known only from the arguments. With kBent there is a window, a
// softcap, a scale that is not above 0, or a D_v unlike D. Without these options their code is not
// compiled in.
template <typename Element, bool kBent>
using ArgsOf =
    std::conditional_t<kBent, FullAttentionGradArgs<Element>, BasicAttentionGradArgs<Element>>;

template <int kD, bool kPadded>
__host__ __device__ auto columns_of(std::int64_t D) {
  if constexpr (kPadded) {
    return static_cast<int>(D);
  } else {
    return WholeRows<kD>();
  }
}

// ---- A block's tile ----

struct Tile {
  std::int64_t sequence = 0;
  std::int64_t first_row = 0;  // in the sequence
};

template <int kRows>
__device__ std::int64_t first_tile(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t n) {
  return cu_seqlens != nullptr ? first_slot<kRows>(T, cu_seqlens, n) : (T + kRows - 1) / kRows * n;
}

template <int kRows>
__device__ Tile find_tile(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t sequences,
                          unsigned tile) {
  std::int64_t n = 0;
  if (cu_seqlens == nullptr) {
    n = tile / static_cast<unsigned>((T + kRows - 1) / kRows);
  } else {
    n = sequence_of_slot<kRows, 0>(T, cu_seqlens, sequences, std::int64_t{tile});
  }
  const std::int64_t first_row = (tile - first_tile<kRows>(T, cu_seqlens, n)) * kRows;
  return {n, first_row < 0 ? T : first_row};  // if negative, cu_seqlens decreases
}

// ---- Before and after ----
//
// Each query tile and head has a block and a slot, number tile * H_q + head.

template <typename Element, int kD, bool kPadded>
__global__ void __launch_bounds__(kEndThreads)
    prepare(const BasicAttentionGradArgs<Element> args, std::int64_t sequences, float* stats) {
  const unsigned slot = blockIdx.x, h = slot % static_cast<unsigned>(args.forward.H_q);
  const Tile tile = find_tile<kQueries>(args.forward.T_q, args.forward.cu_seqlens_q, sequences,
                                        slot / static_cast<unsigned>(args.forward.H_q));
  const Sequence s = sequence_of(args.forward, tile.sequence);
  if (tile.first_row >= s.queries) return;
  prepare_tile<Element, kD>(args, {s.first_query, s.first_lse, s.queries, tile.first_row, h, slot},
                            stats, columns_of<kD, kPadded>(args.forward.D));
}

template <typename Element, int kD, bool kPadded>
__global__ void __launch_bounds__(kEndThreads)
    finish(const BasicAttentionGradArgs<Element> args, std::int64_t sequences,
           const float* dq_sums) {
  __shared__ alignas(16) PaddedRows<Element, kD> rows_smem;
  const unsigned slot = blockIdx.x, h = slot % static_cast<unsigned>(args.forward.H_q);
  const Tile tile = find_tile<kQueries>(args.forward.T_q, args.forward.cu_seqlens_q, sequences,
                                        slot / static_cast<unsigned>(args.forward.H_q));
  const Sequence s = sequence_of(args.forward, tile.sequence);
  if (tile.first_row >= s.queries) return;
  finish_tile<Element, kD>(rows_smem, args,
                           {s.first_query, s.first_lse, s.queries, tile.first_row, h, slot},
                           dq_sums, columns_of<kD, kPadded>(args.forward.D));
}

// ---- A block's work ----

// Shared memory, with tiles in panels of 64 columns.
template <typename Element, int kD>
struct Shared {
  static constexpr int kPanels = kD / hopper::kPanel;
  alignas(hopper::kTileAlign) Panels<Element, kD, kKeys> k, v;
  alignas(hopper::kTileAlign) Panels<Element, kD, kQueries> q[kStages], d_o[kStages];
  // Transposed, of this step and of the previous one.
  alignas(hopper::kTileAlign) Element ds[2][kKeys][kQueries];
  float4 stats[kStages][kQueries / 2];  // for each pair of queries, lse, lse, delta, delta
  hopper::Barrier keys_full, q_full[kStages], d_o_full[kStages], free[kStages], ds_full[2];
  hopper::Barrier
      ragged_full;  // full, for q and d_o of a partial tile, whose tail is then set to zero
};

// The block's keys, and its steps, which are the query tiles first_tile to tiles - 1 of each query
// head of the group.
template <bool kBent>
struct Work {
  std::conditional_t<kBent, WindowedSequence, Sequence> s;
  std::int64_t first_key = 0;  // in the sequence
  int first_slot = 0;          // of the sequence's first query tile and head 0
  int kv_head = 0;
  int first_head = 0, H_q = 0;
  int first_tile = 0, tiles = 0;
  int steps = 0;
};

template <bool kBent, typename Args>
__device__ Work<kBent> find_work(const Args& args, std::int64_t sequences) {
  Work<kBent> w;
  const Tile tile = find_tile<kKeys>(args.T_k, args.cu_seqlens_k, sequences, blockIdx.x);
  w.s = sequence_of(args, tile.sequence);
  if constexpr (kBent) w.s.window = w.s.causal ? min(w.s.window, kNoWindow) : kNoWindow;
  w.first_key = tile.first_row;
  w.first_slot =
      static_cast<int>(first_tile<kQueries>(args.T_q, args.cu_seqlens_q, tile.sequence) * args.H_q);
  w.kv_head = static_cast<int>(blockIdx.y);
  w.H_q = static_cast<int>(args.H_q);
  const int group = static_cast<int>(args.H_q / args.H_kv);
  w.first_head = w.kv_head * group;
  if (w.first_key >= w.s.keys) return w;
  w.tiles = static_cast<int>((w.s.queries + kQueries - 1) / kQueries);
  if (w.s.causal) {  // begins with the first query that sees the first key
    const std::int64_t hidden = w.first_key + w.s.queries - w.s.keys;
    w.first_tile = static_cast<int>(hidden > 0 ? min(hidden / kQueries, std::int64_t{w.tiles}) : 0);
    if constexpr (kBent) {  // and ends with the last one whose window holds the last key
      const std::int64_t keys = min(w.first_key + kKeys, w.s.keys);
      const std::int64_t end = keys + w.s.window - 1 + w.s.queries - w.s.keys;
      const std::int64_t tiles = end > 0 ? (end + kQueries - 1) / kQueries : 0;
      w.tiles = max(w.first_tile, static_cast<int>(min(tiles, std::int64_t{w.tiles})));
    }
  }
  w.steps = (w.tiles - w.first_tile) * group;
  return w;
}

// A step is a head and a tile. Steps go through a head's tiles, then to the next head.
struct Step {
  int head, tile;
  template <bool kBent>
  __device__ explicit Step(const Work<kBent>& w) : head(w.first_head), tile(w.first_tile) {}
  template <bool kBent>
  __device__ void next(const Work<kBent>& w) {
    if (++tile < w.tiles) return;
    tile = w.first_tile;
    ++head;
  }
  template <bool kBent>
  __device__ int slot(const Work<kBent>& w) const {
    return w.first_slot + tile * w.H_q + head;
  }
};

// Sets rows from `first` on to 0. The copy loaded rows past the sequence's end there, and 0 times a
// NaN would be NaN. `threads` threads share the work.
template <typename Element, int kPanels, int kRows>
__device__ void blank_rows(Element (&tile_smem)[kPanels][kRows][hopper::kPanel], int first,
                           int thread, int threads) {
  for (int i = first * 8 + thread; i < kRows * 8; i += threads)
    for (int p = 0; p < kPanels; ++p)
      *reinterpret_cast<uint4*>(&tile_smem[p][i / 8][i % 8 * kUnit]) = make_uint4(0, 0, 0, 0);
}

// One warp keeps the copies ahead of the products.
template <typename Element, int kD, bool kBent>
__device__ void produce(Shared<Element, kD>& smem, const Work<kBent>& w, const CUtensorMap& q_map,
                        const CUtensorMap& k_map, const CUtensorMap& v_map,
                        const CUtensorMap& d_o_map, const float4* stats) {
  constexpr int kPanels = Shared<Element, kD>::kPanels;
  const int lane = static_cast<int>(threadIdx.x);
  if (lane == 0) {
    const int row = static_cast<int>(w.s.first_key + w.first_key);
    hopper::arrive_expect_tx(&smem.keys_full, 2 * sizeof(smem.k));
    for (int p = 0; p < kPanels; ++p) {
      const int column = p * hopper::kPanel;
      hopper::tma_load(smem.k[p], &k_map, &smem.keys_full, column, w.kv_head, row);
      hopper::tma_load(smem.v[p], &v_map, &smem.keys_full, column, w.kv_head, row);
    }
  }
  const int last_rows = static_cast<int>(w.s.queries % kQueries);
  const int last_tile = kBent ? static_cast<int>(w.s.queries / kQueries) : w.tiles - 1;
  int ragged = 0;  // partial tiles so far
  Step step(w);
  for (int i = 0; i < w.steps; ++i, step.next(w)) {
    const int stage = stage_of<kStages>(i);
    const bool is_ragged = last_rows > 0 && step.tile == last_tile;
    hopper::wait(&smem.free[stage], phase_of<kStages>(i) ^ 1);
    if (lane == 0) {
      const int row = static_cast<int>(w.s.first_query) + step.tile * kQueries;
      hopper::Barrier* const q_full = is_ragged ? &smem.ragged_full : &smem.q_full[stage];
      hopper::Barrier* const d_o_full = is_ragged ? &smem.ragged_full : &smem.d_o_full[stage];
      hopper::arrive_expect_tx(q_full, sizeof(smem.q[0]) + sizeof(smem.stats[0]));
      copy_panels(smem.q[stage], &q_map, q_full, 0, step.head, row);
      hopper::bulk_copy(smem.stats[stage], stats + std::int64_t{step.slot(w)} * (kQueries / 2),
                        sizeof(smem.stats[0]), q_full);
      hopper::arrive_expect_tx(d_o_full, sizeof(smem.d_o[0]));
      copy_panels(smem.d_o[stage], &d_o_map, d_o_full, 0, step.head, row);
    }
    __syncwarp();
    if (!is_ragged) continue;
    hopper::wait(&smem.ragged_full, phase_of<1>(ragged++));
    blank_rows(smem.q[stage], last_rows, lane, 32);
    blank_rows(smem.d_o[stage], last_rows, lane, 32);
    hopper::fence_proxy_async();
    __syncwarp();
    if (lane == 0) {
      hopper::arrive(&smem.q_full[stage]);
      hopper::arrive(&smem.d_o_full[stage]);
    }
  }
}

// ---- The work of the two warpgroups ----

// Scales the scores, or replaces them with their tanh if there is a softcap.
inline __device__ void bend(float (&scores)[kQueries / 2], float factor, bool is_capped) {
#pragma unroll
  for (int j = 0; j < kQueries / 2; ++j) {
    scores[j] *= factor;
    if (is_capped) scores[j] = 1 - tanh_term(2.0f, ladder::cuda::exp2_flushed(scores[j]));
  }
}

// P^T by weigh(), packed. `p` keeps P^T o (1 - tanh^2), with which dP^T becomes dS^T.
template <typename Element>
__device__ void weigh_bent(std::uint32_t (&p16)[kQueries / 16][4], float (&p)[kQueries / 2],
                           const float4* stats, float log2_scale, bool is_capped) {
  float weights[kQueries / 2];
#pragma unroll
  for (int j = 0; j < kQueries / 2; ++j)
    weights[j] = p[j];
  weigh(weights, stats, log2_scale);
  pack_sums<Element>(p16, weights);
#pragma unroll
  for (int j = 0; j < kQueries / 2; ++j) {
    const float tanh = is_capped ? fmaxf(p[j], -1.0f) : 0.0f;  // a masked score is -inf
    p[j] = weights[j] * (1 - tanh * tanh);
  }
}

// The steps. The tensor cores execute a warpgroup's products in the order of issue, and its warps
// do other work meanwhile:
//
//   tensor cores  dk(i-1)  S(i)  dP(i)                                dv(i)  dq(i-1)  dk(i) S(i+1)
//   warps                  wait  P(i) = exp2(..)  dS(i) = P (dP - ..)        wait     store dq(i-1)
//
// The other warpgroup's products fill the rest of the gap after dP. Neither waits long for the
// other, because dq comes a step late, and by then the other's half of dS is complete.
template <typename Element, int kD, bool kBent>
__device__ void walk(Shared<Element, kD>& smem, const Work<kBent>& w, float scale, float softcap,
                     float* dq_sums, int group, float (&dk)[kD / 2], float (&dv)[kD / 2]) {
  const int tid = static_cast<int>(threadIdx.x) % hopper::kWarpgroup;
  const int lane = tid % 32, pair = lane % 4;
  // With kBent scores are multiplied by `factor` before the mask, because 0 times a masked score
  // would be NaN. The result times log2_scale is the exponent.
  const bool is_capped = softcap > 0;
  const float factor = is_capped ? 2 * ladder::cuda::kLog2e / softcap * scale : scale;
  const float log2_scale = (is_capped ? softcap : (kBent ? 1.0f : scale)) * ladder::cuda::kLog2e;
  const int keys = static_cast<int>(min(w.s.keys - w.first_key, std::int64_t{kKeys}));
  const int group_row = tid / 32 * 16 + group * kGroupKeys;       // the warp's first key
  const int key = group_row + lane / 4;                           // this thread has key and key + 8
  const int ds_row = group_row + lane % 16, ds_unit = lane / 16;  // where it stores ds
  // Query l of the sequence sees the block's keys 0 to l + diagonal - 1.
  const int diagonal = static_cast<int>(w.s.keys - w.s.queries - w.first_key) + 1;
  int window = 0;  // it sees only the last `window` of these keys
  if constexpr (kBent) window = static_cast<int>(w.s.window);

  const int thread = group * hopper::kWarpgroup + tid;
  blank_rows(smem.ds, 0, thread, kConsumerThreads);  // while the keys are in flight
  hopper::wait(&smem.keys_full, 0);
  if (keys < kKeys) {
    blank_rows(smem.k, keys, thread, kConsumerThreads);
    blank_rows(smem.v, keys, thread, kConsumerThreads);
  }
  hopper::fence_proxy_async();
  hopper::named_barrier_sync(kBothGroups, kConsumerThreads);
  const std::uint64_t k_rows = hopper::matrix_descriptor(smem.k[0][group * kGroupKeys]);
  const std::uint64_t v_rows = hopper::matrix_descriptor(smem.v[0][group * kGroupKeys]);
  const std::uint64_t k_columns =  // from this warpgroup's half on
      hopper::matrix_descriptor(
          &smem.k[group * (kD / 2) / hopper::kPanel][0][group * (kD / 2) % hopper::kPanel]);
  const std::uint64_t ds_begin = hopper::matrix_descriptor(smem.ds);
  const std::uint64_t q_begin = hopper::matrix_descriptor(smem.q, kQueryPanel);
  const std::uint64_t d_o_begin = hopper::matrix_descriptor(smem.d_o, kQueryPanel);
  dq_sums += group * (kQueries * kD / 2) + tid * 4;

  Step step(w);
  int slot = 0;  // of the previous step
  for (int i = 0; i < w.steps; ++i, step.next(w)) {
    const int stage = stage_of<kStages>(i);
    const std::uint32_t parity = phase_of<kStages>(i);
    const std::uint64_t q = hopper::advance(q_begin, stage * static_cast<int>(sizeof(smem.q[0])));
    const std::uint64_t d_o =
        hopper::advance(d_o_begin, stage * static_cast<int>(sizeof(smem.q[0])));
    float p[kQueries / 2], ds[kQueries / 2], dq[kD / 4];
    std::uint32_t p16[kQueries / 16][4], ds16[kQueries / 16][4];

    hopper::wait(&smem.q_full[stage], parity);
    multiply_rows<Element, kD>(p, k_rows, q);
    hopper::wgmma_wait_group<1>();  // dk of the previous step
    hopper::pin(dv);
    hopper::pin(dk);
    if (i > 0)
      hopper::arrive(&smem.free[stage_of<kStages>(i - 1)]);  // every lane has read its stats
    hopper::wait(&smem.d_o_full[stage], parity);
    multiply_rows<Element, kD>(ds, v_rows, d_o);

    hopper::wgmma_wait_group<1>();  // S
    hopper::pin(p);
    if constexpr (kBent) bend(p, factor, is_capped);
    const int first_query = step.tile * kQueries;
    // The last query's window is the first to begin after the block's first key.
    const bool has_front = kBent && first_query + kQueries - 1 + diagonal > window;
    if (keys < kKeys || (w.s.causal && first_query + diagonal < kKeys) || has_front) {
      const int seen = w.s.causal ? first_query + pair * 2 + diagonal : kKeys;
#pragma unroll
      for (int j = 0; j < kQueries / 2; ++j) {
        const int down = (j & 2) * 4, right = j / 4 * 8 + j % 2;
        if (key + down >= keys || key + down - right >= seen) p[j] = -INFINITY;
        if (kBent && key + down - right < seen - window) p[j] = -INFINITY;
      }
    }
    const float4* const stats = smem.stats[stage] + pair;
    if constexpr (kBent) {
      weigh_bent<Element>(p16, p, stats, log2_scale, is_capped);
      // Issued here, because dv in flight together with dq needs too many registers, and the
      // compiler would serialize the products.
      add_weighted_rows<Element, kD>(dv, p16, d_o);
    } else {
      weigh(p, stats, log2_scale);
    }
    hopper::wgmma_wait_group<0>();  // dP
    if constexpr (kBent) hopper::pin(dv);
    hopper::pin(ds);
    differentiate(ds, p, stats);
    if constexpr (!kBent) pack_sums<Element>(p16, p);
    pack_sums<Element>(ds16, ds);
    if constexpr (!kBent) add_weighted_rows<Element, kD>(dv, p16, d_o);
    // The previous step's dS is complete, and the buffer of the one before may be overwritten.
    if (i > 0) hopper::wait(&smem.ds_full[stage_of<2>(i - 1)], phase_of<2>(i - 1));
#pragma unroll
    for (int s = 0; s < kQueries / 16; ++s)
      hopper::store_matrices(
          &smem.ds[stage_of<2>(i)][ds_row][((s * 2 + ds_unit) ^ ds_row % 8) * kUnit], ds16[s]);
    hopper::fence_proxy_async();
    // In the first step that dS is 0 and dq is not used, because a branch around the product would
    // serialize the others.
    multiply_ds<Element, kD>(
        dq, hopper::advance(ds_begin, (i + 1) % 2 * static_cast<int>(sizeof(smem.ds[0]))),
        k_columns);
    add_weighted_rows<Element, kD>(dk, ds16, q);
    hopper::wgmma_wait_group<1>();  // dq
    hopper::pin(dq);
    __syncwarp();
    if (lane == 0) hopper::arrive(&smem.ds_full[stage_of<2>(i)]);
    if (i > 0) add_to_memory<kD>(dq_sums + std::int64_t{slot} * (kQueries * kD), dq);
    slot = step.slot(w);
  }

  const int last = w.steps - 1;
  float dq[kD / 4];
  hopper::wait(&smem.ds_full[stage_of<2>(last)], phase_of<2>(last));
  multiply_ds<Element, kD>(
      dq, hopper::advance(ds_begin, stage_of<2>(last) * static_cast<int>(sizeof(smem.ds[0]))),
      k_columns);
  hopper::wgmma_wait_group<0>();
  hopper::pin(dv);
  hopper::pin(dk);
  hopper::pin(dq);
  add_to_memory<kD>(dq_sums + std::int64_t{slot} * (kQueries * kD), dq);
}

template <typename Element, int kD, bool kPadded, bool kBent>
__device__ void consume(Shared<Element, kD>& smem, const Work<kBent>& w,
                        const ArgsOf<Element, kBent>& args, float* dq_sums) {
  // From lane 0, so that the compiler sees a warp-uniform value.
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / hopper::kWarpgroup, 0) - 1;
  float dk[kD / 2] = {}, dv[kD / 2] = {};
  float softcap = 0.0f;
  if constexpr (kBent) softcap = args.forward.softcap;
  if (w.steps > 0) walk<Element, kD>(smem, w, args.forward.scale, softcap, dq_sums, group, dk, dv);
  hopper::named_barrier_sync(kBothGroups, kConsumerThreads);  // both have read k and v

  // Rows of keys past key_lengths get gradients of zero.
  const std::int64_t keys = args.forward.cu_seqlens_k != nullptr ? w.s.keys : args.forward.T_k;
  const int rows = static_cast<int>(min(keys - w.first_key, std::int64_t{kKeys}));
  const int H_kv = static_cast<int>(args.forward.H_kv);
  const KeyRows to{w.s.first_key + w.first_key, H_kv, w.kv_head, rows};
  const auto D = columns_of<kD, kPadded>(args.forward.D);
  const auto D_v = columns_of<kD, kPadded>(value_channels(args.forward));
  store_rows<Element, kD>(smem.v, to, group, dv, 1.0f, args.dv, D_v);
  store_rows<Element, kD>(smem.k, to, group, dk, args.forward.scale, args.dk, D);
}

// A block per tile of keys and key head. Neighbouring blocks read the same queries and add to the
// same dq, in L2.
template <typename Element, int kD, bool kPadded, bool kBent>
__global__ void __launch_bounds__(kThreads, 1)
    gradients(const __grid_constant__ CUtensorMap q_map, const __grid_constant__ CUtensorMap k_map,
              const __grid_constant__ CUtensorMap v_map,
              const __grid_constant__ CUtensorMap d_o_map,
              const __grid_constant__ ArgsOf<Element, kBent> args, std::int64_t sequences,
              const float4* stats, float* dq_sums) {
  extern __shared__ unsigned char memory_smem[];
  const unsigned misaligned = hopper::shared_address(memory_smem) % hopper::kTileAlign;
  auto& smem = *reinterpret_cast<Shared<Element, kD>*>(
      memory_smem + (misaligned > 0 ? hopper::kTileAlign - misaligned : 0));
  const Work<kBent> w = find_work<kBent>(args.forward, sequences);
  if (threadIdx.x == 0) {
    hopper::init(&smem.keys_full, 1);
    hopper::init(&smem.ragged_full, 2);
    for (int s = 0; s < kStages; ++s) {
      hopper::init(&smem.q_full[s], 1);
      hopper::init(&smem.d_o_full[s], 1);
      hopper::init(&smem.free[s], kConsumerThreads);
    }
    for (hopper::Barrier& barrier : smem.ds_full)
      hopper::init(&barrier, kConsumerThreads / 32);
    hopper::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x < hopper::kWarpgroup) {
    hopper::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x < 32 && w.steps > 0)
      produce<Element, kD>(smem, w, q_map, k_map, v_map, d_o_map, stats);
  } else {
    hopper::setmaxnreg_inc<kConsumerRegisters>();
    consume<Element, kD, kPadded, kBent>(smem, w, args, dq_sums);
  }
}

// ---- The launcher ----

template <typename Element, int kD, bool kPadded, bool kBent>
void launch_as(const FullAttentionGradArgs<Element>& args) {
  const BasicAttentionArgs<Element>& forward = args.forward;
  const std::int64_t sequences = sequence_count(forward), D = forward.D, D_v = args.forward.D_v;
  const std::int64_t query_rows = forward.B * forward.T_q, key_rows = forward.B * forward.T_k;
  if (query_rows == 0) return clear_gradients(args);
  constexpr int kSharedBytes = sizeof(Shared<Element, kD>) + hopper::kTileAlign;
  const auto kernel = gradients<Element, kD, kPadded, kBent>;
  ladder::cuda::allow_shared_memory("attention_backward_sm90", kernel, kSharedBytes);
  const std::int64_t query_tiles =
      count_slots<kQueries>(forward.T_q, forward.cu_seqlens_q, sequences);
  const std::int64_t slots = query_tiles * forward.H_q;
  require_at_most("H_q times the tiles of 64 queries", slots, std::numeric_limits<int>::max());
  const ladder::cuda::Scratch<float> stats(slots * kQueries * 2);
  const ladder::cuda::Scratch<float> dq_sums(slots * kQueries * kD);
  CUDA_CHECK(cudaMemsetAsync(dq_sums.pointer(), 0,
                             static_cast<std::size_t>(slots) * kQueries * kD * sizeof(float),
                             ladder::cuda::stream()));
  const auto blocks = static_cast<unsigned>(slots);
  BasicAttentionGradArgs<Element> of_o = args;
  of_o.forward.D = D_v;  // prepare reads only o and d_o
  prepare<Element, kD, kPadded>
      <<<blocks, kEndThreads, 0, ladder::cuda::stream()>>>(of_o, sequences, stats.pointer());
  CUDA_CHECK(cudaGetLastError());
  if (key_rows > 0) {
    const std::int64_t key_tiles = count_slots<kKeys>(forward.T_k, forward.cu_seqlens_k, sequences);
    const dim3 key_grid(static_cast<unsigned>(key_tiles), static_cast<unsigned>(forward.H_kv));
    kernel<<<key_grid, kThreads, kSharedBytes, ladder::cuda::stream()>>>(
        hopper::make_tensor_map(forward.q, query_rows, forward.H_q, D, kQueries),
        hopper::make_tensor_map(forward.k, key_rows, forward.H_kv, D, kKeys),
        hopper::make_tensor_map(forward.v, key_rows, forward.H_kv, D_v, kKeys),
        hopper::make_tensor_map(args.d_o, query_rows, forward.H_q, D_v, kQueries), args, sequences,
        reinterpret_cast<const float4*>(stats.pointer()), dq_sums.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  finish<Element, kD, kPadded>
      <<<blocks, kEndThreads, 0, ladder::cuda::stream()>>>(args, sequences, dq_sums.pointer());
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element, int kD>
void launch(const FullAttentionGradArgs<Element>& args) {
  const ladder::FullAttentionArgs<Element>& forward = args.forward;
  if (forward.window > 0 || forward.softcap > 0.0f || !(forward.scale > 0.0f) ||
      forward.D_v != forward.D) {
    const std::int64_t rows = forward.B * std::max(forward.T_q, forward.T_k);
    require_at_most("with these options B * T_q or B * T_k", rows, kNoWindow / 2);
    return launch_as<Element, kD, true, true>(args);
  }
  forward.D == kD ? launch_as<Element, kD, false, false>(args)
                  : launch_as<Element, kD, true, false>(args);
}

template <typename Element>
void attention_backward(const FullAttentionGradArgs<Element>& given) {
  validate(given, ladder::ChannelsOfV::kAny);
  require_units_of_all_channels(given.forward, 128);
  FullAttentionGradArgs<Element> args = given;
  args.forward = with_value_channels(given.forward);
  const ladder::FullAttentionArgs<Element>& forward = args.forward;
  constexpr std::int64_t kMostHeads = 65535;
  require_at_most("B * T_q", forward.B * forward.T_q, kMostRows);
  require_at_most("B * T_k", forward.B * forward.T_k, kMostRows);
  require_at_most("H_q", forward.H_q, kMostHeads);
  require_copyable(args.part());
  hopper::require_hopper("attention_backward_sm90");
  if (sequence_count(forward) == 0) return clear_gradients(args);
  most_channels(forward) <= 64 ? launch<Element, 64>(args) : launch<Element, 128>(args);
}

const ladder::Registration registration{
    {.name = "attention_backward_sm90",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::AttentionBackward>(
         attention_backward<ladder::bfloat16>, attention_backward<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
