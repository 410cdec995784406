// 08 flash attention, backward: the gradients of softmax attention on tensor cores, in one pass over the scores.
// Change: rewrite of 08.17: the kernel that has dS adds its part of dQ where it is: in memory, atomically.
// Why:    the scores are computed once instead of twice: five products instead of seven.
// Needs:  D and D_v up to 256, multiples of 8; bf16 or fp16; all options, any scale, window and softcap; 16-byte rows; tensor cores (sm_80).
// Costs:  one atomic addition per element of dQ and tile of keys; the order of a sum is not repeatable. See README.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

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
#include "common/cuda/vector_atomics.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using namespace flash_attention::gradients;
using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::Scratch;

// For dQ the warps are dealt out anew: over the tile's queries, and over the channels.
template <typename S>
struct DqShape {
  static constexpr int kChannelWarps = S::kD == 256 ? 4 : 2;
  static constexpr int kDqQueries = S::kQueries / (S::kWarps / kChannelWarps);
  static constexpr int kDqChannels = S::kD / kChannelWarps;
};

// dQ grows here in fp32, each tile in the order of the registers it comes from: neighbouring threads add to neighbouring float4.
template <int kQueries>
struct Work {
  QueryRows<kQueries>* rows;  // (tiles, H_q)
  float4* dq;                 // (tiles, H_q, kQueries * D / 4)
};

// ---- The gradients of a tile of keys ----

// Blocks: key_grid().
template <typename Element, typename S>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks)
    add_gradients(const typename S::template Args<Element> args, const Work<S::kQueries> work) {
  using Dq = DqShape<S>;
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
  const int dq_row = warp.number / Dq::kChannelWarps * Dq::kDqQueries;
  const int dq_channel = warp.number % Dq::kChannelWarps * 16;
  const float scale = forward.scale * kLog2e;

  using Rows = Tile<Element, S::kD>;
  using Scores = Tile<Element, kQueries>;
  const Rows k_smem{memory.k}, v_smem{memory.v};
  const Scores p_smem{memory.scores[0]}, ds_smem{memory.scores[S::kScoreTiles - 1]};
  const int dq_channel_place = columns_first<Rows>(0, dq_channel, warp.lane);
  const int dq_place = rows_first<Scores>(0, dq_row, warp.lane);
  const PassingQueries<Element, S> passing(args, work.rows, block, layout);

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
    float4* const dq_tile = work.dq + passing.number(next) * (kQueries * S::kD / 4) + threadIdx.x;
    // TODO(1): roughly 3 lines; go on to the next tile of queries, and ask for it, to the other buffer, if there is one: one group. budget: no wait
    const Rows q_smem{memory.q[i % 2]}, d_o_smem{memory.d_o[i % 2]};
    const QueryRows<kQueries>& of_queries_smem = memory.rows[i % 2];

    // The scores and P, keys down and queries across.
    float p[kM][kScores][4], ds[kM][kScores][4];
    multiply_rows(p, k_smem, warp.key_place, q_smem, warp.query_place);
    if constexpr (S::kAllOptions) {
      multiply_rows(ds, v_smem, warp.key_place, d_o_smem, warp.query_place);
      take_weights_and_slopes(p, ds, Bend(forward), of_queries_smem, warp);
    } else {
      take_weights(p, scale, of_queries_smem.lse, warp);
    }
    mask(p, block, first_query, warp);

    // dV takes what this warp has of P; its partner's part comes through shared memory.
    std::uint32_t factor[kSteps][kM][4];
    pack_and_put(factor, p, p_smem, warp);
    add_own_part(dv, factor, d_o_smem, warp);
    if constexpr (S::kScoreTiles == 1) {
      __syncthreads();  // P is there
      add_partners_part(dv, factor, p_smem, d_o_smem, warp);
      __syncthreads();  // nobody reads P any more: its place is that of dS
    }

    // dP, and dS from it. dK takes it as dV took P.
    if constexpr (S::kAllOptions) {
      take_product(ds, p);
    } else {
      multiply_rows(ds, v_smem, warp.key_place, d_o_smem, warp.query_place);
      take_ds(ds, p, of_queries_smem.delta, warp);
    }
    pack_and_put(factor, ds, ds_smem, warp);
    add_own_part(dk, factor, q_smem, warp);
    __syncthreads();  // P and dS are there
    if constexpr (S::kScoreTiles == 2) add_partners_part(dv, factor, p_smem, d_o_smem, warp);
    add_partners_part(dk, factor, ds_smem, q_smem, warp);

    // dQ: all keys of the tile.
    constexpr int kDqM = Dq::kDqQueries / 16, kDqN = Dq::kDqChannels / 8;
    float dq[kDqM][kDqN][4];
    // TODO(2): roughly 18 lines; dq = this warp's queries of dS, from dq_row on, times the tile's keys, its channels from dq_channel on: 16 keys
    // TODO(2): after the other. Then each four sums of 16 x 8 elements go to dq_tile, atomically, and behind them those of the next ones,
    // TODO(2): S::kThreads further. budget: each block of dS and of K is loaded once; one atomic addition of four floats for each four sums
  }
  __pipeline_wait_prior(0);

  const KeyTile<S> same(forward);  // as `block`, which no register has held since the loop began
  // TODO(3): roughly 7 lines; store dk, times the scale, and dv: this warp's keys, from warp.key_row on, its channels from warp.channel on; `rows`
  // TODO(3): of the keys are written. budget: one store of each element
}

// ---- dQ as it is to be ----

// Scales, rounds and puts in order. Blocks: query_grid().
template <typename Element, typename S>
__global__ void __launch_bounds__(S::kThreads)
    round_dq(const BasicAttentionGradArgs<Element> args, const Work<S::kQueries> work) {
  using Dq = DqShape<S>;
  constexpr int kM = Dq::kDqQueries / 16, kN = Dq::kDqChannels / 8;
  const BasicAttentionArgs<Element>& forward = args.forward;
  const SequenceTile at = query_tile_of_block<S::kQueries>(forward);
  const Sequence sequence = sequence_of(forward, at.sequence);
  const int first = at.tile * S::kQueries, head = blockIdx.y, H_q = forward.H_q;
  const int rows = sequence.queries - first;
  if (rows <= 0) return;
  const std::int64_t tile = first_tile_of(sequence, at.sequence, S::kQueries) + at.tile;
  const float4* const from = work.dq + (tile * H_q + head) * (S::kQueries * S::kD / 4);
  const Channels<S> channels(forward.D);
  const std::int64_t stride = static_cast<std::int64_t>(H_q) * channels.D;
  Element* const to = args.dq + (sequence.first_query + first) * stride + head * channels.D;

  // Four neighbouring lanes of a warp had eight channels of two rows.
  // TODO(4): roughly 21 lines; a thread takes what four neighbouring lanes l have of a sum: from[(m * kN + n) * S::kThreads + warp * kWarpSize +
  // TODO(4): l], eight channels of two rows. Times the scale, rounded, they are 16 bytes of dq in each row that exists, if there are such channels.
  // TODO(4): budget: one read of each sum, one store of 16 bytes for eight channels
}

// ---- Launcher ----

template <typename Element, typename S>
void launch(typename S::template Args<Element> args) {
  if constexpr (S::kAllOptions) args.forward = with_value_channels(args.forward);
  const BasicAttentionArgs<Element>& forward = args.forward;
  constexpr int kBytes = sizeof(Memory<Element, S>);
  // TODO(5): roughly 22 lines; as much shared memory as is needed; places for what is known of each query, and for the sums of dq, which begin with
  // TODO(5): 0; then describe_queries() and round_dq() if there are queries, and add_gradients() between them if there are keys: a block for each
  // TODO(5): tile of queries or keys, each head of q or of k, and each sequence. budget: three launches
}

template <typename Element>
void attention_backward(const FullAttentionGradArgs<Element>& args) {
  const auto bytes_of = [](auto shape) {
    return std::integral_constant<std::size_t, sizeof(Memory<Element, decltype(shape)>)>{};
  };
  launch_with_shape(args, bytes_of, [&](auto shape) { launch<Element, decltype(shape)>(args); });
}

const ladder::Registration registration{
    {.name = "attention_backward",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::AttentionBackward>(attention_backward<bfloat16>,
                                                               attention_backward<float16>)}};

}  // namespace
}  // namespace flash_attention
