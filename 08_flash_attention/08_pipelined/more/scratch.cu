// 08 flash attention, pipelined: the summit of the steps that any tensor core can take, for the forward pass.
// Change: from 08.07: K's next tile is on its way while this tile's softmax and its product with V are computed, V's during the scores.
// Why:    the copies of 07_asynchronous_copies were waited for, tile by tile; here they are over before anyone asks for them.
// Needs:  D in {32, 64, 96, 128, 256}; bf16 or fp16; all options of attention; 16-byte rows; tensor cores (sm_80).
// Costs:  order: each barrier now says that one tile is here and that another may be overwritten. No more memory.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/attention_tile.hpp"
#include "08_flash_attention/sequence.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
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
  // TODO(1): roughly 2 lines; tiles that the last query of the block sees something of, and tiles that its first query sees whole; budget: no
  // TODO(1): access to memory
  return tiles;
}

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads, Cut<kD>::kBlocks)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  using Rows = Tile<Element, kD>;
  extern __shared__ uint4 smem[];
  const Rows q_tile{reinterpret_cast<Element*>(smem)};  // kQueries rows
  const Rows k_tile{q_tile.smem + C::kQueries * kD};    // kKeys rows
  const Rows v_tile{k_tile.smem + C::kKeys * kD};       // kKeys rows

  // This block's queries, those with the most keys first: short blocks fill the gaps at the end.
  const auto s = sequence_of(args, blockIdx.z);
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
    // TODO(2): roughly 3 lines; ask, by copy_rows_async<C::kKeys, C::kThreads>, for the tile's rows of x, which begin at k_offset, stride_k apart;
    // TODO(2): zeros where there is no key: `visible.most` is how many there are. budget: one copy of 16 bytes for each unit
  };
  // TODO(2): roughly 6 lines; the block's queries, likewise, and the keys of the first tile, if there is one: one group; budget: each unit once,
  // TODO(2): and no wait

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
    // TODO(3): roughly 4 lines; K of this tile is here, for all threads; then ask for V of this tile, which is a group of its own. budget: one
    // TODO(3): barrier; what is asked for here is not waited for here

    Accumulator scores[C::kRowBlocks][C::kKeys / 8] = {};
    // TODO(4): roughly 15 lines; scores[b][n / 8] and scores[b][n / 8 + 1] += the block of Q (queries number b, channels from d on) times the block
    // TODO(4): of K^T (the same channels, keys from n on). budget: each block is loaded once, by one load of matrices
    if (tile >= tiles.whole) mask(scores, visible, first_row, tile * C::kKeys);

    // TODO(3): roughly 4 lines; V of this tile is here, for all threads; then ask for K of the next tile, if there is one, in a group of its own.
    // TODO(3): budget: one barrier; what is asked for here is not waited for here

    softmax.update(scores, o);
    // TODO(4): roughly 15 lines; o[b][d / 8] and o[b][d / 8 + 1] += the weights of 16 keys, as an A made of this lane's registers, times the block
    // TODO(4): of V (these keys, channels from d on). budget: each block of V is loaded once
  }
  // TODO(5): roughly 3 lines; send() of attention_tile.hpp: where this warp's rows of o and of lse begin, how many of them exist, and its rows of
  // TODO(5): q_tile for the way. budget: one store of each element
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  // TODO(5): roughly 5 lines; as much shared memory as is needed, and a block for each kQueries queries, each head of q, and each sequence;
  // TODO(5): blockIdx.y is the head. budget: one launch
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  require_tensor_core_tiles(args);
  require_usual_D(args, "this kernel");
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  switch (args.D) {
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 96: return launch<96>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_pipelined",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>,
                                                       attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
