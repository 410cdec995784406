// 08 flash attention, backward: the gradients of softmax attention on tensor cores, by two kernels that compute P each.
// Change: rewrite of 08.16: tiles of P and dS on chip, and tensor cores.
// Why:    dK and dV are sums over queries, dQ is one over keys: whoever keeps its sums on chip needs no atomics.
// Needs:  D and D_v up to 256, multiples of 8; bf16 or fp16; all options, any scale, window and softcap; 16-byte rows; tensor cores (sm_80).
// Costs:  seven products instead of five, since S and dO V^T are computed twice. Repeatable. See README.
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

// ---- First kernel: a tile of keys stays, queries pass ----

// Blocks: key_grid().
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

  // TODO(1): roughly 4 lines; ask for the block's keys and values, of which block.keys - block.first_key exist; budget: one copy of 16 bytes for
  // TODO(1): each unit
  QueryTile next = passing.first();
  // TODO(1): roughly 2 lines; and for the first tile of queries that passes, to buffer 0, if there is one: all this is one group. budget: each unit
  // TODO(1): once, and no wait

  float dk[kM][kChannels][4], dv[kM][kChannels][4];
  clear(dk);
  clear(dv);

  for (int i = 0; i < passing.tiles; ++i) {
    // TODO(1): roughly 2 lines; the tile of queries is here, for all threads, and nobody looks at the one before; budget: one barrier
    const int first_query = next.tile * kQueries;
    // TODO(1): roughly 3 lines; go on to the next tile of queries, and ask for it, to the other buffer, if there is one: one group. budget: no wait
    const Rows q_smem{memory.q[i % 2]}, d_o_smem{memory.d_o[i % 2]};
    const QueryRows<kQueries>& of_queries_smem = memory.rows[i % 2];

    // The scores and P, keys down and queries across.
    float p[kM][kScores][4], ds[kM][kScores][4];
    // TODO(2): roughly 1 line; p = the scores: this warp's keys times its queries. budget: one product
    if constexpr (S::kAllOptions) {
      multiply_rows(ds, v_smem, warp.key_place, d_o_smem, warp.query_place);
      take_weights_and_slopes(p, ds, Bend(forward), of_queries_smem, warp);
    } else {
      // TODO(2): roughly 1 line; p = the weights, from the scores and lse of the queries; budget: one exponential for each
    }
    // TODO(2): roughly 1 line; p = 0 for each key that a query does not see. budget: no access to memory

    // dV takes what this warp has of P; its partner's part comes through shared memory.
    std::uint32_t factor[kSteps][kM][4];
    // TODO(2): roughly 2 lines; the weights as first factors, for this warp and for its partner; dv takes this warp's part. budget: one store of a
    // TODO(2): pair of weights
    if constexpr (S::kScoreTiles == 1) {
      __syncthreads();  // P is there
      add_partners_part(dv, factor, p_smem, d_o_smem, warp);
      __syncthreads();  // nobody reads P any more: its place is that of dS
    }

    // dP, and dS from it. dK takes it as dV took P.
    if constexpr (S::kAllOptions) {
      take_product(ds, p);
    } else {
      // TODO(2): roughly 2 lines; ds = dP, the values times d_o; then dS from it. budget: one product
    }
    // TODO(2): roughly 3 lines; dS as first factors; dk takes this warp's part; then P and dS of all warps are in shared memory. budget: one
    // TODO(2): barrier
    if constexpr (S::kScoreTiles == 2) add_partners_part(dv, factor, p_smem, d_o_smem, warp);
    // TODO(2): roughly 1 line; dk takes the partner's part; budget: each block is loaded once
  }
  __pipeline_wait_prior(0);

  const KeyTile<S> same(forward);  // as `block`, which no register has held since the loop began
  // TODO(2): roughly 7 lines; store dk, times the scale, and dv: this warp's keys, from warp.key_row on, its channels from warp.channel on; `rows`
  // TODO(2): of the keys are written. budget: one store of each element
}

// ---- Second kernel: a tile of queries stays, keys pass ----

// Each warp has 16 of the queries, all of the keys and all channels: what it computes it needs itself.
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

// Blocks: query_grid().
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
  const int keys = max(visible.keys(last_query), 0);  // by any query of the tile
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
    // TODO(3): roughly 5 lines; ask for tile i of keys and values, to buffer i % 2; of the keys from its first one on keys - first exist. budget:
    // TODO(3): one copy of 16 bytes for each unit
  };
  // TODO(3): roughly 6 lines; ask for the block's queries and their d_o, of which queries - first_query exist, and for tile `first_tile` of the
  // TODO(3): keys, if it is below `tiles`: one group. budget: each unit once, and no wait

  constexpr int kTile = S::kQueries;  // that rows_of_queries is made of
  float lse[2], delta[2];
  // TODO(3): roughly 8 lines; the lane's two rows, lane / 4 and eight more, of this warp's 16: lse and delta, where describe_queries() has left
  // TODO(3): them: in tiles of kTile queries, numbered from first_tile_of() on, and of each tile one for each head. Behind last_query there is
  // TODO(3): none. budget: one read of each
  float dq[1][S::kD / 8][4];
  clear(dq);

  for (int i = first_tile; i < tiles; ++i) {
    // TODO(3): roughly 4 lines; tile i is here, for all threads; ask for the next one, if there is one, as a group. budget: one barrier
    const Rows k_smem{memory.k[i % 2]}, v_smem{memory.v[i % 2]};

    // The scores and P, queries down and keys across.
    float p[1][kKeys / 8][4], ds[1][kKeys / 8][4];
    // TODO(4): roughly 1 line; p = the scores: this warp's queries times all keys of the tile. budget: one product
    if constexpr (S::kAllOptions) multiply_rows(ds, d_o_smem, query_place, v_smem, key_place);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if constexpr (S::kAllOptions) {
          Bend(forward).apply(p[0][n][x], ds[0][n][x], lse[x / 2], delta[x / 2]);
        } else {
          // TODO(4): roughly 1 line; p = the weight of the score, from lse, which is in base 2 as `scale` is; budget: one exponential
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
          // TODO(4): roughly 1 line; no weight for a key that is not seen
          if constexpr (S::kAllOptions) {
            if (key < max(seen, 0) - visible.window) p[0][n][x] = 0.0f;
          }
        }
      }
    }

    if constexpr (S::kAllOptions) {
      take_product(ds, p);
    } else {
      // TODO(4): roughly 7 lines; ds = dP, d_o times the values; then dS = P (dP - delta). budget: one product
    }
    // TODO(4): roughly 6 lines; dq += dS times the keys, 16 keys after the other: two sums side by side are a first factor. budget: each block of K
    // TODO(4): is loaded once
  }
  __pipeline_wait_prior(0);

  // TODO(4): roughly 2 lines; store dq, times the scale: this warp's rows, of which queries - first_query - query_row exist. budget: one store of
  // TODO(4): each element
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
  // TODO(5): roughly 21 lines; as much shared memory as the two kernels need; a place for each tile of queries and head; then describe_queries()
  // TODO(5): and query_gradients() if there are queries, and key_gradients() between them if there are keys: a block for each tile of queries or
  // TODO(5): keys, each head of q or of k, and each sequence. budget: three launches
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
