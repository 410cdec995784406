// 08 flash attention, backward: the gradients on tensor cores, in one pass over the scores.
// Change: rewrite of 08.17, in which the kernel that has dS also adds its part of dQ, atomically,
//         in memory.
// Why:    the scores are computed once instead of twice, which needs five products instead of
//         seven.
// Needs:  D and D_v up to 256, multiples of 8, bf16 or fp16, all options, any scale, window and
//         softcap. 16-byte rows and tensor cores (sm_80).
// Costs:  one atomic addition per element of dQ and tile of keys. The order of a sum is not
//         repeatable. See README.
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

// For dQ the warps divide the tile's queries and the channels anew.
template <typename S>
struct DqShape {
  static constexpr int kChannelWarps = S::kD == 256 ? 4 : 2;
  static constexpr int kDqQueries = S::kQueries / (S::kWarps / kChannelWarps);
  static constexpr int kDqChannels = S::kD / kChannelWarps;
};

// dQ is accumulated here in fp32, each tile in the order of the registers of its products, so that
// neighbouring threads add to neighbouring float4.
template <int kQueries>
struct Work {
  QueryRows<kQueries>* rows;  // (tiles, H_q)
  float4* dq;                 // (tiles, H_q, kQueries * D / 4)
};

// ---- The gradients of a tile of keys ----

// The grid is key_grid().
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
    float4* const dq_tile = work.dq + passing.number(next) * (kQueries * S::kD / 4) + threadIdx.x;
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

    // dQ, a sum over all keys of the tile.
    constexpr int kDqM = Dq::kDqQueries / 16, kDqN = Dq::kDqChannels / 8;
    float dq[kDqM][kDqN][4];
    clear(dq);
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
      std::uint32_t a[kDqM][4];
#pragma unroll
      for (int m = 0; m < kDqM; ++m)
        ladder::cuda::load_matrices_transposed(a[m],
                                               ds_smem.x + Scores::move(dq_place, key, m * 16));
      multiply_add<Dq::kChannelWarps>(dq, a, k_smem, Rows::move(dq_channel_place, key, 0));
    }
#pragma unroll
    for (int m = 0; m < kDqM; ++m) {
#pragma unroll
      for (int n = 0; n < kDqN; ++n) {
        ladder::cuda::atomic_add(dq_tile + (m * kDqN + n) * S::kThreads,
                                 make_float4(dq[m][n][0], dq[m][n][1], dq[m][n][2], dq[m][n][3]));
      }
    }
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

// ---- The final dQ ----

// Scales, rounds and reorders dQ. The grid is query_grid().
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
  for (int i = threadIdx.x; i < S::kQueries * S::kD / 16; i += S::kThreads) {
    const int n = i % kN, row = i / kN % 8, m = i / kN / 8 % kM, warp = i / kN / 8 / kM;
    const float4* const lanes = from + (m * kN + n) * S::kThreads + warp * kWarpSize + row * 4;
    std::uint32_t upper[4], lower[4];
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      const float4 x = lanes[lane];
      upper[lane] = ladder::cuda::pack<Element>(forward.scale * x.x, forward.scale * x.y);
      lower[lane] = ladder::cuda::pack<Element>(forward.scale * x.z, forward.scale * x.w);
    }
    const int query = warp / Dq::kChannelWarps * Dq::kDqQueries + m * 16 + row;
    const int channel = (n / 2 * Dq::kChannelWarps + warp % Dq::kChannelWarps) * 16 + n % 2 * 8;
    if (!channels.has(channel)) continue;
    const auto store_8 = [&](int l, const std::uint32_t(&x)[4]) {
      if (l < rows) {
        *reinterpret_cast<uint4*>(to + l * stride + channel) = make_uint4(x[0], x[1], x[2], x[3]);
      }
    };
    store_8(query, upper);
    store_8(query + 8, lower);
  }
}

// ---- Launcher ----

template <typename Element, typename S>
void launch(typename S::template Args<Element> args) {
  if constexpr (S::kAllOptions) args.forward = with_value_channels(args.forward);
  const BasicAttentionArgs<Element>& forward = args.forward;
  constexpr int kBytes = sizeof(Memory<Element, S>);
  ladder::cuda::allow_shared_memory("attention_backward", add_gradients<Element, S>, kBytes);
  const std::int64_t tiles = query_tiles(forward, S::kQueries);
  const Scratch<QueryRows<S::kQueries>> rows(tiles);
  const Scratch<float4> dq_sums(tiles * (S::kQueries * S::kD / 4));
  const Work<S::kQueries> work{rows.pointer(), dq_sums.pointer()};
  const dim3 grid = query_grid<S::kQueries>(forward);

  if (forward.T_q > 0) {
    CUDA_CHECK(cudaMemsetAsync(work.dq, 0, tiles * S::kQueries * S::kD * sizeof(float),
                               ladder::cuda::stream()));
    describe_queries<Element, S::kQueries><<<grid, kRowThreads, 0, ladder::cuda::stream()>>>(
        args, args.forward.channels_of_v(), work.rows);
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_k > 0) {
    add_gradients<Element, S>
        <<<key_grid<S::kKeys>(forward), S::kThreads, kBytes, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_q > 0) {
    round_dq<Element, S><<<grid, S::kThreads, 0, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
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
