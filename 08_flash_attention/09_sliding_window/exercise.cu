// 08 flash attention, sliding window: a query sees its own key and the W - 1 before it.
// Change: from 08.08: the loop begins at the tile of the first key in the block's first window, and
//         the tiles at both borders are masked.
// Why:    with W of T keys the work is T W instead of T^2 / 2. A mask alone would save nothing.
// Needs:  D up to 256, a multiple of 8, bf16 or fp16, all options, any scale, window and softcap.
//         16-byte rows and tensor cores (sm_80).
// Costs:  two comparisons per masked score instead of one. Channels up to the next tile width are
//         zeros that are multiplied.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/attention_tile.hpp"
#include "08_flash_attention/sequence.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using namespace ladder::cuda::tiles;

// Key tiles of a block of queries. A window moves with its query, so the block's first query sees
// the first keys, and the last one the last.
template <int kKeys>
__device__ WindowTiles tiles_of(const WindowedSequence& s, std::int64_t first, int queries) {
  WindowTiles tiles;
  // TODO(1): roughly 2 lines; set tiles.first, the first tile that the block fetches, and
  // TODO(1): tiles.first_whole, the first tile in which no key is before a query's window; budget:
  // TODO(1): the block fetches no tile that is before all of its windows
  tiles.count = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);
  tiles.whole = static_cast<int>(s.keys_seen(first) / kKeys);
  return tiles;
}

template <int kD, bool kPacked, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads, Cut<kD>::kBlocks)
    attend(const FullAttentionArgs<Element> args) {
  using C = Cut<kD>;
  using Rows = Tile<Element, kD>;
  extern __shared__ uint4 smem[];
  const Rows q_tile{reinterpret_cast<Element*>(smem)};  // kQueries rows
  const Rows k_tile{q_tile.smem + C::kQueries * kD};    // kKeys rows
  const Rows v_tile{k_tile.smem + C::kKeys * kD};       // kKeys rows

  // This block's queries, those with the most keys first, so that short blocks fill the gaps at the
  // end.
  const auto [s, first] = queries_of_block<C::kQueries, kPacked>(args);
  if (first >= s.queries) return;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{C::kQueries}));
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const HeadPlaces at = places_of(args, s, first, h, h_kv);

  const WindowTiles tiles = tiles_of<C::kKeys>(s, first, queries);
  const Visible visible = visible_from(s, first);

  // Out-of-bounds rows and channels become zeros, because a weight of 0 times a NaN would be NaN.
  const auto fetch_keys = [&](Rows to, const Element* x, int tile) {
    const std::int64_t key = std::int64_t{tile} * C::kKeys;
    copy_rows_async<C::kKeys, C::kThreads>(to, x + at.k_offset + key * at.stride_k, at.stride_k,
                                           visible.most - tile * C::kKeys, at.D, true, threadIdx.x);
  };
  if (tiles.count > 0) {
    copy_rows_async<C::kQueries, C::kThreads>(q_tile, args.q + at.q_offset, at.stride_q, queries,
                                              at.D, true, threadIdx.x);
    fetch_keys(k_tile, args.k, tiles.first);
  }
  __pipeline_commit();

  // This warp's queries, and this lane's address in each operand.
  const int lane = threadIdx.x % kWarpSize;
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * C::kRowBlocks * kBlock;
  const MkToA q_smem(q_tile, first_row, lane);
  const NkToB k_smem(k_tile, 0, lane);
  const KnToB v_smem(v_tile, 0, lane);

  BentSoftmax<C::kRowBlocks> softmax(args.scale, args.softcap);
  Accumulator o[C::kRowBlocks][kD / 8] = {};
#pragma unroll 1
  for (int tile = tiles.first; tile < tiles.count; ++tile) {
    __pipeline_wait_prior(0);
    __syncthreads();  // K has arrived; V's buffer may be refilled
    fetch_keys(v_tile, args.v, tile);
    __pipeline_commit();

    Accumulator scores[C::kRowBlocks][C::kKeys / 8] = {};
#pragma unroll
    for (int d = 0; d < kD; d += kBlock) {
      FragmentA<Element> q[C::kRowBlocks];
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b)
        q[b] = q_smem.load(b * kBlock, d);
#pragma unroll
      for (int n = 0; n < C::kKeys; n += kBlock) {
        FragmentB<Element> k[2];
        k_smem.load(k, n, d);
#pragma unroll
        for (int b = 0; b < C::kRowBlocks; ++b)
          multiply(scores[b][n / 8], scores[b][n / 8 + 1], q[b], k);
      }
    }
    softmax.bend(scores);
    if (!tiles.is_whole(tile)) {
      for_each_score(scores, first_row, tile * C::kKeys, [&](float& score, int row, int key) {
        // TODO(2): roughly 2 lines; mask the score if its key is after the own key of query `row`,
        // TODO(2): or before its window; budget: no load from memory, no barrier
      });
    }

    __pipeline_wait_prior(0);
    __syncthreads();  // V has arrived; K's buffer may be refilled
    if (tile + 1 < tiles.count) fetch_keys(k_tile, args.k, tile + 1);
    __pipeline_commit();

    softmax.update(scores, o);
#pragma unroll
    for (int n = 0; n < C::kKeys; n += kBlock) {
      FragmentA<Element> p[C::kRowBlocks];
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b)
        p[b] = as_a<Element>(scores[b][n / 8], scores[b][n / 8 + 1]);
#pragma unroll
      for (int d = 0; d < kD; d += kBlock) {
        FragmentB<Element> v[2];
        v_smem.load(v, n, d);
#pragma unroll
        for (int b = 0; b < C::kRowBlocks; ++b)
          multiply(o[b][d / 8], o[b][d / 8 + 1], p[b], v);
      }
    }
  }
  send(args.o + at.q_offset + first_row * at.stride_q, at.stride_q,
       args.lse + s.first_lse + h * args.T_q + first + first_row, queries - first_row,
       q_tile.below(first_row), o, softmax, at.D);
}

template <int kD, typename Element>
void launch(const FullAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  auto* kernel = one_of<C>(args, "attention_sliding_window", attend<kD, true>, attend<kD, false>);
  kernel<<<query_grid<C::kQueries>(args), C::kThreads, C::kBytes, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const FullAttentionArgs<Element>& args) {
  require_tensor_core_tiles(args);
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  switch (width_of_tile(args.D)) {
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 96: return launch<96>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_sliding_window",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>,
                                                       attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
