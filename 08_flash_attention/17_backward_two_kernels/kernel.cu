// 08 flash attention, backward: the gradients on tensor cores, by two kernels that each compute P.
// Change: rewrite of 08.16, with tiles of P and dS on chip, and tensor cores.
// Why:    dK and dV are sums over queries, and dQ is a sum over keys. A block that keeps its sums
//         on chip needs no atomics.
// Needs:  D and D_v up to 256, multiples of 8, bf16 or fp16, all options, any scale, window and
//         softcap. 16-byte rows and tensor cores (sm_80).
// Costs:  seven products instead of five, since S and dO V^T are computed twice. Repeatable. See
//         README.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "08_flash_attention/gradient_tiles.hpp"
#include "08_flash_attention/key_gradients.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using namespace flash_attention::gradients;
using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::Scratch;

// ---- First kernel: a block keeps a tile of keys, and queries are streamed ----

// The grid is key_grid().
template <typename Element, typename S>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks)
    key_gradients(const typename S::template Args<Element> args,
                  const QueryRows<S::kQueries>* rows_of_queries) {
  constexpr int kKeys = S::kKeys, kQueries = S::kQueries;
  constexpr int kM = S::kWarpKeys / 16, kScores = S::kWarpQueries / 8;
  constexpr int kChannels = S::kWarpChannels / 8, kSteps = S::kWarpQueries / 16;
  extern __shared__ uint4 smem[];
  auto& memory = *reinterpret_cast<Memory<Element, S>*>(smem);
  const auto& forward = args.forward;
  const KeyTile<S> block(forward);
  if (block.first_key >= block.keys_written) return;

  const HeadLayout<S> layout(forward);
  const std::int64_t key_stride = layout.key_stride;
  const std::int64_t key_offset = block.offset(layout);
  const WarpPart<Element, S> warp;
  const float scale = forward.scale * kLog2e;

  using Rows = Tile<Element, S::kD>;
  using Scores = Tile<Element, kQueries>;
  const Rows k_smem{memory.k}, v_smem{memory.v};
  const Scores p_smem{memory.scores[0]}, ds_smem{memory.scores[S::kScoreTiles - 1]};
  const PassingQueries<Element, S> passing(args, rows_of_queries, block, layout);

  fetch<S::kThreads, kKeys>(k_smem, forward.k + key_offset, key_stride,
                            block.keys - block.first_key, layout.channels);
  fetch<S::kThreads, kKeys>(v_smem, forward.v + block.v_offset(layout), layout.v_stride,
                            block.keys - block.first_key, layout.v_channels);
  QueryTile next = passing.first();
  if (passing.tiles > 0) passing.fetch_to(memory, 0, next);
  __pipeline_commit();

  float dk[kM][kChannels][4], dv[kM][kChannels][4];
  clear(dk);
  clear(dv);

  for (int i = 0; i < passing.tiles; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile i has arrived, and the buffer of tile i - 1 may be refilled
    const int first_query = next.tile * kQueries;
    next = passing.after(next);
    if (i + 1 < passing.tiles) passing.fetch_to(memory, (i + 1) % 2, next);
    __pipeline_commit();
    const Rows q_smem{memory.q[i % 2]}, d_o_smem{memory.d_o[i % 2]};
    const QueryRows<kQueries>& of_queries_smem = memory.rows[i % 2];

    // The scores and P. Keys are rows, queries columns.
    float p[kM][kScores][4], ds[kM][kScores][4];
    multiply_rows(p, k_smem, warp.key_place, q_smem, warp.query_place);
    if constexpr (S::kAllOptions) {
      multiply_rows(ds, v_smem, warp.key_place, d_o_smem, warp.query_place);
      take_weights_and_slopes(p, ds, Bend(forward), of_queries_smem, warp);
    } else {
      take_weights(p, scale, of_queries_smem.lse, warp);
    }
    mask(p, block, first_query, warp);

    // dV is added from this warp's part of P, and its partner's part goes through shared memory.
    std::uint32_t factor[kSteps][kM][4];
    pack_and_put(factor, p, p_smem, warp);
    add_own_part(dv, factor, d_o_smem, warp);
    if constexpr (S::kScoreTiles == 1) {
      __syncthreads();  // P is in shared memory
      add_partners_part(dv, factor, p_smem, d_o_smem, warp);
      __syncthreads();  // all warps have finished P, which dS may overwrite
    }

    // dP, and dS from it. dK uses dS as dV used P.
    if constexpr (S::kAllOptions) {
      take_product(ds, p);
    } else {
      multiply_rows(ds, v_smem, warp.key_place, d_o_smem, warp.query_place);
      take_ds(ds, p, of_queries_smem.delta, warp);
    }
    pack_and_put(factor, ds, ds_smem, warp);
    add_own_part(dk, factor, q_smem, warp);
    __syncthreads();  // P and dS are in shared memory
    if constexpr (S::kScoreTiles == 2) add_partners_part(dv, factor, p_smem, d_o_smem, warp);
    add_partners_part(dk, factor, ds_smem, q_smem, warp);
  }
  __pipeline_wait_prior(0);

  const KeyTile<S> same(forward);  // `block` again, which no register held in the loop
  const int rows = same.keys_written - same.first_key - warp.key_row;
  const std::int64_t to_k = same.offset(layout) + warp.key_row * key_stride + warp.channel;
  store<S::kPartners>(dk, forward.scale, args.dk + to_k, key_stride, rows, warp.channel,
                      layout.channels, warp.lane);
  const std::int64_t to_v = same.v_offset(layout) + warp.key_row * layout.v_stride + warp.channel;
  store<S::kPartners>(dv, 1.0f, args.dv + to_v, layout.v_stride, rows, warp.channel,
                      layout.v_channels, warp.lane);
}

// ---- Second kernel: a block keeps a tile of queries, and keys are streamed ----

// Each warp has 16 of the queries, all of the keys and all channels, so no warp needs another's
// results.
template <typename S>
struct QueryShape {
  static constexpr int kD = S::kD;
  static constexpr int kWarps = S::kSmall && kD > 96 ? 4 : 8;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kQueries = 16 * kWarps;
  static constexpr int kKeys = kD <= 128 ? 64 : S::kSmall ? 16 : 32;
};

template <typename Element, typename Q>
struct QueryMemory {
  Element q[Q::kQueries * Q::kD], d_o[Q::kQueries * Q::kD];
  Element k[2][Q::kKeys * Q::kD], v[2][Q::kKeys * Q::kD];
};

// The grid is query_grid().
template <typename Element, typename S>
__global__ void __launch_bounds__(QueryShape<S>::kThreads, 1)
    query_gradients(const typename S::template Args<Element> args,
                    const QueryRows<S::kQueries>* rows_of_queries) {
  using Q = QueryShape<S>;
  constexpr int kKeys = Q::kKeys, kQueries = Q::kQueries;
  extern __shared__ uint4 smem[];
  auto& memory = *reinterpret_cast<QueryMemory<Element, Q>*>(smem);
  const auto& forward = args.forward;
  const SequenceTile at = query_tile_of_block<kQueries>(forward);
  const auto sequence = sequence_of(forward, at.sequence);
  const Visible visible = visible_from(sequence, 0);
  const int queries = sequence.queries;
  const int first_query = at.tile * kQueries, head = blockIdx.y;
  if (first_query >= queries) return;

  const HeadLayout<S> layout(forward);
  const Channels<S> channels = layout.channels, v_channels = layout.v_channels;
  const int H_q = layout.H_q, kv_head = head / layout.group;
  const std::int64_t query_stride = layout.query_stride, d_o_stride = layout.d_o_stride;
  const std::int64_t key_stride = layout.key_stride, v_stride = layout.v_stride;
  const std::int64_t query_offset =
      (sequence.first_query + first_query) * query_stride + head * channels.D;
  const std::int64_t d_o_offset =
      (sequence.first_query + first_query) * d_o_stride + head * v_channels.D;
  const std::int64_t key_offset = sequence.first_key * key_stride + kv_head * channels.D;
  const std::int64_t v_offset = sequence.first_key * v_stride + kv_head * v_channels.D;
  const int lane = threadIdx.x % kWarpSize, query_row = threadIdx.x / kWarpSize * 16;
  const float scale = forward.scale * kLog2e;

  const int last_query = min(first_query + kQueries, queries) - 1;
  const int keys = max(visible.keys(last_query), 0);  // seen by any query of the tile
  const int tiles = (keys + kKeys - 1) / kKeys;
  // The tile in which the first query's window begins.
  int first_tile = 0;
  if constexpr (S::kAllOptions)
    first_tile = max(max(visible.keys(first_query), 0) - visible.window, 0) / kKeys;

  using Rows = Tile<Element, S::kD>;
  const Rows q_smem{memory.q}, d_o_smem{memory.d_o};
  const int query_place = columns_first<Rows>(query_row, 0, lane);
  const int key_place = rows_first<Rows>(0, 0, lane);
  const int channel_place = columns_first<Rows>(0, 0, lane);

  const auto fetch_keys = [&](int i) {
    const int first = i * kKeys;
    fetch<Q::kThreads, kKeys>(Rows{memory.k[i % 2]}, forward.k + key_offset + first * key_stride,
                              key_stride, keys - first, channels);
    fetch<Q::kThreads, kKeys>(Rows{memory.v[i % 2]}, forward.v + v_offset + first * v_stride,
                              v_stride, keys - first, v_channels);
  };
  fetch<Q::kThreads, kQueries>(q_smem, forward.q + query_offset, query_stride,
                               queries - first_query, channels);
  fetch<Q::kThreads, kQueries>(d_o_smem, args.d_o + d_o_offset, d_o_stride, queries - first_query,
                               v_channels);
  if (first_tile < tiles) fetch_keys(first_tile);
  __pipeline_commit();

  constexpr int kTile = S::kQueries;  // tile size of rows_of_queries
  float lse[2], delta[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int query = min(first_query + query_row + lane / 4 + i * 8, last_query);
    const std::int64_t tile = first_tile_of(sequence, at.sequence, kTile) + query / kTile;
    const auto& rows = rows_of_queries[tile * H_q + head];
    lse[i] = rows.lse[query % kTile];
    delta[i] = rows.delta[query % kTile];
  }
  float dq[1][S::kD / 8][4];
  clear(dq);

  for (int i = first_tile; i < tiles; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile i has arrived, and the buffer of tile i - 1 may be refilled
    if (i + 1 < tiles) fetch_keys(i + 1);
    __pipeline_commit();
    const Rows k_smem{memory.k[i % 2]}, v_smem{memory.v[i % 2]};

    // The scores and P. Queries are rows, keys columns.
    float p[1][kKeys / 8][4], ds[1][kKeys / 8][4];
    multiply_rows(p, q_smem, query_place, k_smem, key_place);
    if constexpr (S::kAllOptions) multiply_rows(ds, d_o_smem, query_place, v_smem, key_place);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if constexpr (S::kAllOptions) {
          Bend(forward).apply(p[0][n][x], ds[0][n][x], lse[x / 2], delta[x / 2]);
        } else {
          p[0][n][x] = ladder::cuda::exp2_flushed(p[0][n][x] * scale - lse[x / 2]);
        }
      }
    }
    const int first_row = first_query + query_row;
    bool has_mask = (i + 1) * kKeys > visible.keys(first_row);
    if constexpr (S::kAllOptions)
      has_mask = has_mask || i * kKeys < max(visible.keys(first_row + 15), 0) - visible.window;
    if (has_mask) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int seen = visible.keys(first_row + lane / 4 + x / 2 * 8);
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
          const int key = i * kKeys + n * 8 + lane % 4 * 2 + x % 2;
          if (key >= seen) p[0][n][x] = 0.0f;
          if constexpr (S::kAllOptions) {
            if (key < max(seen, 0) - visible.window) p[0][n][x] = 0.0f;
          }
        }
      }
    }

    if constexpr (S::kAllOptions) {
      take_product(ds, p);
    } else {
      multiply_rows(ds, d_o_smem, query_place, v_smem, key_place);
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int x = 0; x < 4; ++x)
          ds[0][n][x] = p[0][n][x] * (ds[0][n][x] - delta[x / 2]);
      }
    }
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s) {
      std::uint32_t factor[1][4];
      pack_factor<Element>(factor[0], ds[0][2 * s], ds[0][2 * s + 1]);
      multiply_add<1>(dq, factor, k_smem, Rows::move(channel_place, s * 16, 0));
    }
  }
  __pipeline_wait_prior(0);

  store<1>(dq, forward.scale, args.dq + query_offset + query_row * query_stride, query_stride,
           queries - first_query - query_row, 0, channels, lane);
}

// ---- Launcher ----

template <typename Element, typename S>
void launch(typename S::template Args<Element> args) {
  if constexpr (S::kAllOptions) args.forward = with_value_channels(args.forward);
  using Q = QueryShape<S>;
  const BasicAttentionArgs<Element>& forward = args.forward;
  constexpr int kKeyBytes = sizeof(Memory<Element, S>);
  constexpr int kQueryBytes = sizeof(QueryMemory<Element, Q>);
  constexpr const char* kWho = "attention_backward_two_kernels";
  ladder::cuda::allow_shared_memory(kWho, key_gradients<Element, S>, kKeyBytes);
  ladder::cuda::allow_shared_memory(kWho, query_gradients<Element, S>, kQueryBytes);
  const Scratch<QueryRows<S::kQueries>> rows(query_tiles(forward, S::kQueries));
  if (forward.T_q > 0) {
    describe_queries<Element, S::kQueries>
        <<<query_grid<S::kQueries>(forward), kRowThreads, 0, ladder::cuda::stream()>>>(
            args, args.forward.channels_of_v(), rows.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_k > 0) {
    key_gradients<Element, S>
        <<<key_grid<S::kKeys>(forward), S::kThreads, kKeyBytes, ladder::cuda::stream()>>>(
            args, rows.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_q > 0) {
    query_gradients<Element, S>
        <<<query_grid<Q::kQueries>(forward), Q::kThreads, kQueryBytes, ladder::cuda::stream()>>>(
            args, rows.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
}

template <typename Element>
void attention_backward(const FullAttentionGradArgs<Element>& args) {
  const auto bytes_of = [](auto shape) {
    using S = decltype(shape);
    constexpr std::size_t kQueryBytes = sizeof(QueryMemory<Element, QueryShape<S>>);
    return std::integral_constant<std::size_t, std::max(sizeof(Memory<Element, S>), kQueryBytes)>{};
  };
  launch_with_shape(args, bytes_of, [&](auto shape) { launch<Element, decltype(shape)>(args); });
}

const ladder::Registration registration{
    {.name = "attention_backward_two_kernels",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::AttentionBackward>(attention_backward<bfloat16>,
                                                               attention_backward<float16>)}};

}  // namespace
}  // namespace flash_attention
