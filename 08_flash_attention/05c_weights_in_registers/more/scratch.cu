// 08 flash attention, weights in registers: what the first product leaves in a lane is the left factor of the second one.
// Change: from 08.05b: the weights are packed where they lie, and nothing of them goes to shared memory; load.hpp brings the blocks.
// Why:    each weight was stored and loaded again by a warp that has it in its registers: 16 or 32 KB, in a place of its own.
// Needs:  D = 64 or 128 and bf16, for the sake of short files; all options of attention; 16-byte rows; tensor cores (sm_80).
// Costs:  bank conflicts when blocks are loaded from the tiles, and every tile is waited for: 06_swizzled, 08_pipelined.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "08_flash_attention/attention_tile.hpp"
#include "08_flash_attention/sequence.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using namespace ladder::cuda::tiles;

// The tiles of kKeys keys that a block of queries looks at. Of the block, the first query sees least and the last one most.
template <int kKeys>
__device__ KeyTiles tiles_of(const Sequence& s, std::int64_t first, int queries) {
  KeyTiles tiles;
  // TODO(1): roughly 2 lines; tiles that the last query of the block sees something of, and tiles that its first query sees whole.
  // TODO(1): budget: no access to memory.
  return tiles;
}

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads, Cut<kD>::kBlocks)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  using Rows = Tile<Element, kD, Layout::kStraight>;
  extern __shared__ uint4 smem[];
  const Rows q_tile{reinterpret_cast<Element*>(smem)};  // kQueries rows
  const Rows k_tile{q_tile.smem + C::kQueries * kD};    // kKeys rows
  const Rows v_tile{k_tile.smem + C::kKeys * kD};       // kKeys rows

  // This block's queries, those with the most keys first: short blocks fill the gaps at the end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * C::kQueries;
  if (first >= s.queries) return;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{C::kQueries}));
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const int stride_q = static_cast<int>(args.H_q) * kD, stride_k = static_cast<int>(args.H_kv) * kD;
  const std::int64_t q_offset = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t k_offset = s.first_key * stride_k + h_kv * kD;

  const KeyTiles tiles = tiles_of<C::kKeys>(s, first, queries);
  const Visible visible = visible_from(s, first);

  // Rows that do not exist become zeros: nothing but finite numbers may meet a weight of 0.
  const auto fetch_keys = [&](Rows to, const Element* x, int tile) {
    // TODO(2): roughly 3 lines; by copy_rows<C::kKeys, C::kThreads>: the tile's rows of x, which begin at k_offset, stride_k apart; zeros where
    // TODO(2): there is no key: `visible.most` is how many there are. budget: one read of each element.
  };
  // TODO(2): roughly 3 lines; the block's queries, if there is a key for them, likewise.

  // This warp's queries, and where this lane looks for its part of each operand.
  const int lane = threadIdx.x % kWarpSize;
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * C::kRowBlocks * kBlock;
  const MkToA q_smem(q_tile, first_row, lane);
  const NkToB k_smem(k_tile, 0, lane);
  const KnToB v_smem(v_tile, 0, lane);

  OnlineSoftmax<C::kRowBlocks> softmax(args.scale);
  Accumulator o[C::kRowBlocks][kD / 8] = {};
#pragma unroll 1
  for (int tile = 0; tile < tiles.count; ++tile) {
    // TODO(2): roughly 4 lines; the tile's keys and values are here, for all warps, and no warp still reads those of the tile before.

    Accumulator scores[C::kRowBlocks][C::kKeys / 8] = {};
    // TODO(3): roughly 10 lines; scores[b][n / 8] and scores[b][n / 8 + 1] += the block of Q (queries number b, channels from d on) times the
    // TODO(3): block of K^T (the same channels, keys from n on). budget: each block is loaded once, by one load of matrices.
    if (tile >= tiles.whole) mask(scores, visible, first_row, tile * C::kKeys);

    // TODO(4): roughly 12 lines; the scores become weights, and o comes up to date (softmax); then o[b][d / 8] and o[b][d / 8 + 1] += the
    // TODO(4): weights of 16 keys, as an A made of this lane's registers, times the block of V (these keys, channels from d on). budget: each
    // TODO(4): block of V is loaded once, and nothing is stored.
  }
  // TODO(5): roughly 3 lines; send() of attention_tile.hpp: where this warp's rows of o and of lse begin, how many of them exist, and its rows of
  // TODO(5): q_tile for the way. budget: one store of each element.
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  // TODO(5): roughly 5 lines; as much shared memory as is needed, and a block for each kQueries queries, each head of q, and each sequence;
  // TODO(5): blockIdx.y is the head. budget: one launch.
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  require_tensor_core_tiles(args);
  ladder::require(
      args.D == 64 || args.D == 128,
      "D is " + std::to_string(args.D) + "; allowed in this step of chapter 08: 64, 128");
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  switch (args.D) {
    case 64: return launch<64>(args);
    case 128: return launch<128>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_tensor_cores",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>)}};

}  // namespace
}  // namespace flash_attention
