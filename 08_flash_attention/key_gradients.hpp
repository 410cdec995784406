// Shared by the kernels of lessons 17 and 18. It contains the steps of a block that keeps a tile of
// keys and accumulates dK and dV while tiles of queries are streamed past it. Each lesson's
// kernel.cu has their order and its own dQ.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "08_flash_attention/gradient_tiles.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention::gradients {

// ---- The work of blocks and warps ----

// Strides between rows of queries, and of keys.
template <typename S>
struct HeadLayout {
  Channels<S> channels, v_channels;
  int H_q, group;                         // query heads, and how many share a key head
  std::int64_t query_stride, key_stride;  // elements
  std::int64_t d_o_stride, v_stride;

  template <typename Forward>
  explicit __device__ HeadLayout(const Forward& forward)
      : channels(forward.D), v_channels(value_channels(forward)), H_q(forward.H_q) {
    const std::int64_t H_kv = static_cast<int>(forward.H_kv);
    group = H_q / static_cast<int>(H_kv);
    query_stride = static_cast<std::int64_t>(H_q) * channels.D;
    d_o_stride = static_cast<std::int64_t>(H_q) * v_channels.D;
    key_stride = H_kv * channels.D;
    v_stride = H_kv * v_channels.D;
  }
};

// The keys of a block of key_grid(), which are kKeys of a sequence and key head, from `first_key`
// on. The code after the loop over queries computes them again, so that no register holds them in
// the loop.
template <typename S>
struct KeyTile {
  std::conditional_t<S::kAllOptions, WindowedSequence, Sequence> sequence;
  Visible visible;
  int queries, keys;  // of the sequence
  int keys_written;   // keys past a batch's length get gradients of zero
  int sequence_number, first_key, kv_head;

  template <typename Forward>
  explicit __device__ KeyTile(const Forward& forward)
      : KeyTile(forward, key_tile_of_block<S::kKeys>(forward)) {}
  template <typename Forward>
  __device__ KeyTile(const Forward& forward, SequenceTile at)
      : sequence(sequence_of(forward, at.sequence)),
        visible(visible_from(sequence, 0)),
        queries(sequence.queries),
        keys(sequence.keys),
        keys_written(forward.key_lengths != nullptr ? forward.T_k : keys),
        sequence_number(at.sequence),
        first_key(at.tile * S::kKeys),
        kv_head(blockIdx.y) {}

  // Offset of the tile's first row in k and dk. In v and dv it is v_offset().
  __device__ std::int64_t offset(const HeadLayout<S>& layout) const {
    return (sequence.first_key + first_key) * layout.key_stride + kv_head * layout.channels.D;
  }
  __device__ std::int64_t v_offset(const HeadLayout<S>& layout) const {
    return (sequence.first_key + first_key) * layout.v_stride + kv_head * layout.v_channels.D;
  }

  // Whether each query of the tile that begins with `query` sees each key.
  __device__ bool is_seen_whole(int query) const {
    const bool up_to_last = first_key + S::kKeys <= visible.keys(query);
    if constexpr (!S::kAllOptions) return up_to_last;
    const int end = max(visible.keys(query + S::kQueries - 1), 0);
    return up_to_last && first_key >= end - visible.window;
  }
};

// A warp's part of the block's work, and a lane's start indices in its tiles.
template <typename Element, typename S>
struct WarpPart {
  using Rows = Tile<Element, S::kD>;
  using Scores = Tile<Element, S::kQueries>;
  int lane, number;
  int key_row;               // its first key, which is its partner's too
  int score_row, other_row;  // the first query of its scores, and of its partner's
  int channel;               // its first channel of dK and dV
  int key_place, query_place, channel_place;
  int put_place, other_place;  // of its part of P and dS, and of its partner's

  __device__ WarpPart() : lane(threadIdx.x % kWarpSize), number(threadIdx.x / kWarpSize) {
    const int partner = number % S::kPartners;
    key_row = number / S::kPartners * S::kWarpKeys;
    score_row = partner * S::kWarpQueries, channel = partner * 16;
    other_row = S::kQueries - S::kWarpQueries - score_row;
    key_place = columns_first<Rows>(key_row, 0, lane);
    query_place = rows_first<Rows>(score_row, 0, lane);
    channel_place = columns_first<Rows>(0, channel, lane);
    put_place = sums_place<Scores>(key_row, score_row, lane);
    other_place = columns_first<Scores>(key_row, other_row, lane);
  }
};

struct QueryTile {
  int head, tile;  // of the sequence's tiles
};

// The tiles of queries of each head of the group, from the tile with the first query that sees the
// block's first key to the tile with the last query whose window includes its last key.
template <typename Element, typename S>
struct PassingQueries {
  static constexpr int kThreads = S::kThreads, kQueries = S::kQueries;
  using Rows = Tile<Element, S::kD>;
  using Args = typename S::template Args<Element>;
  const Args& args;
  const QueryRows<kQueries>* rows_of_queries;
  const KeyTile<S>& block;
  const HeadLayout<S>& layout;
  int first_tile, last_tile, tiles;
  std::int64_t first_number;  // of the sequence's first tile, among all sequences' tiles

  __device__ PassingQueries(const Args& args, const QueryRows<kQueries>* rows_of_queries,
                            const KeyTile<S>& block, const HeadLayout<S>& layout)
      : args(args), rows_of_queries(rows_of_queries), block(block), layout(layout) {
    // Copies, because nvcc turns conditions on a referenced object into branches.
    const int queries = block.queries, keys = block.keys, first_key = block.first_key;
    const bool causal = block.sequence.causal;
    const int first_seeing =
        causal && first_key > keys - queries ? first_key - (keys - queries) : 0;
    const int first = first_seeing / kQueries;
    int last = first_key < keys ? (queries + kQueries - 1) / kQueries : 0;
    if constexpr (S::kAllOptions) {
      // The first of the queries aligned with the last key or with later ones whose windows begin
      // after the block.
      const std::int64_t end = first_key + S::kKeys - 1 + block.sequence.window + queries - keys;
      if (end < queries) last = end > 0 ? static_cast<int>((end + kQueries - 1) / kQueries) : 0;
    }
    const int tiles_per_head = last > first ? last - first : 0;
    first_tile = first, last_tile = last, tiles = tiles_per_head * layout.group;
    first_number = first_tile_of(block.sequence, block.sequence_number, kQueries);
  }

  __device__ QueryTile first() const { return {block.kv_head * layout.group, first_tile}; }
  __device__ QueryTile after(QueryTile x) const {
    const int tile = x.tile + 1;
    const bool end = tile == last_tile;
    x.tile = end ? first_tile : tile;
    x.head += end;
    return x;
  }
  // A number for each pair of a tile and a query head, over all sequences.
  __device__ std::int64_t number(QueryTile x) const {
    return (first_number + x.tile) * layout.H_q + x.head;
  }

  __device__ void fetch_to(Memory<Element, S>& memory, int buffer, QueryTile x) const {
    const int first = x.tile * kQueries;
    const auto fetch_rows = [&](Element* to, const Element* from, std::int64_t stride,
                                Channels<S> channels) {
      const std::int64_t offset =
          (block.sequence.first_query + first) * stride + x.head * channels.D;
      fetch<kThreads, kQueries>(Rows{to}, from + offset, stride, block.queries - first, channels);
    };
    fetch_rows(memory.q[buffer], args.forward.q, layout.query_stride, layout.channels);
    fetch_rows(memory.d_o[buffer], args.d_o, layout.d_o_stride, layout.v_channels);
    const auto* const rows = reinterpret_cast<const float4*>(rows_of_queries + number(x));
    if (threadIdx.x < kQueries / 2) {
      __pipeline_memcpy_async(reinterpret_cast<float4*>(&memory.rows[buffer]) + threadIdx.x,
                              rows + threadIdx.x, 16);
    }
  }
};

// ---- P and dS: keys are rows, queries columns, and a warp has its keys by half of the queries
// ----

// P from the scores. `lse_smem` has one value per query of the tile.
template <typename Element, typename S, int kM, int kN>
__device__ void take_weights(float (&p)[kM][kN][4], float scale, const float* lse_smem,
                             const WarpPart<Element, S>& warp) {
  lse_smem += warp.score_row + warp.lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    const float2 lse = *reinterpret_cast<const float2*>(lse_smem + n * 8);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        p[m][n][x] = ladder::cuda::exp2_flushed(p[m][n][x] * scale - (x % 2 == 0 ? lse.x : lse.y));
    }
  }
}

// Sets P to 0 for keys that a query does not see. The tile begins at `first_query`.
template <typename Element, typename S, int kM, int kN>
__device__ void mask(float (&p)[kM][kN][4], const KeyTile<S>& block, int first_query,
                     const WarpPart<Element, S>& warp) {
  if (block.is_seen_whole(first_query)) return;
#pragma unroll
  for (int n = 0; n < kN; ++n) {
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      const int query = first_query + warp.score_row + n * 8 + warp.lane % 4 * 2 + x % 2;
      const int seen = block.visible.keys(query);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        const int key = block.first_key + warp.key_row + m * 16 + warp.lane / 4 + x / 2 * 8;
        if (key >= seen) p[m][n][x] = 0.0f;
        if constexpr (S::kAllOptions) {
          if (key < max(seen, 0) - block.visible.window) p[m][n][x] = 0.0f;
        }
      }
    }
  }
}

// With all options. Computes P from the scores, and dS / P from dP, including the derivative of the
// softcap.
template <typename Element, typename S, int kM, int kN>
__device__ void take_weights_and_slopes(float (&p)[kM][kN][4], float (&ds)[kM][kN][4],
                                        const Bend& bend, const QueryRows<S::kQueries>& rows_smem,
                                        const WarpPart<Element, S>& warp) {
  const int first = warp.score_row + warp.lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    const float2 lse = *reinterpret_cast<const float2*>(rows_smem.lse + first + n * 8);
    const float2 delta = *reinterpret_cast<const float2*>(rows_smem.delta + first + n * 8);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        bend.apply(p[m][n][x], ds[m][n][x], x % 2 == 0 ? lse.x : lse.y,
                   x % 2 == 0 ? delta.x : delta.y);
    }
  }
}

template <int kM, int kN>
__device__ void take_product(float (&ds)[kM][kN][4], const float (&p)[kM][kN][4]) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        ds[m][n][x] *= p[m][n][x];
    }
  }
}

// dS from dP and P. `delta_smem` has one value per query of the tile.
template <typename Element, typename S, int kM, int kN>
__device__ void take_ds(float (&ds)[kM][kN][4], const float (&p)[kM][kN][4],
                        const float* delta_smem, const WarpPart<Element, S>& warp) {
  delta_smem += warp.score_row + warp.lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    const float2 delta = *reinterpret_cast<const float2*>(delta_smem + n * 8);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        ds[m][n][x] = p[m][n][x] * (ds[m][n][x] - (x % 2 == 0 ? delta.x : delta.y));
    }
  }
}

// ---- dV and dK: sums over all queries of the tile ----

// Packs the warp's part of P or dS as first factors, in registers for itself and in shared memory
// for its partner.
template <typename Element, typename S, int kSteps, int kM, int kN>
__device__ void pack_and_put(std::uint32_t (&factor)[kSteps][kM][4], const float (&x)[kM][kN][4],
                             Tile<Element, S::kQueries> to_smem, const WarpPart<Element, S>& warp) {
  using Scores = Tile<Element, S::kQueries>;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      pack_factor<Element>(factor[s][m], x[m][2 * s], x[m][2 * s + 1]);
      put(to_smem, Scores::move(warp.put_place, m * 16, s * 16), factor[s][m]);
    }
  }
}

// sum += the warp's own part of P or dS (`factor`), times those queries' rows of d_o or q.
template <typename Element, typename S, int kSteps, int kM, int kN>
__device__ void add_own_part(float (&sum)[kM][kN][4], const std::uint32_t (&factor)[kSteps][kM][4],
                             Tile<Element, S::kD> b_smem, const WarpPart<Element, S>& warp) {
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    multiply_add<S::kPartners>(
        sum, factor[s], b_smem,
        Tile<Element, S::kD>::move(warp.channel_place, warp.score_row + s * 16, 0));
  }
}

// The same with the partner's part from shared memory. `factor` is overwritten.
template <typename Element, typename S, int kSteps, int kM, int kN>
__device__ void add_partners_part(float (&sum)[kM][kN][4], std::uint32_t (&factor)[kSteps][kM][4],
                                  Tile<Element, S::kQueries> part_smem, Tile<Element, S::kD> b_smem,
                                  const WarpPart<Element, S>& warp) {
  using Scores = Tile<Element, S::kQueries>;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
      ladder::cuda::load_matrices(factor[s][m],
                                  part_smem.x + Scores::move(warp.other_place, m * 16, s * 16));
    multiply_add<S::kPartners>(
        sum, factor[s], b_smem,
        Tile<Element, S::kD>::move(warp.channel_place, warp.other_row + s * 16, 0));
  }
}

}  // namespace flash_attention::gradients
