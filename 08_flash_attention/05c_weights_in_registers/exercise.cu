// 08 flash attention, weights in registers: a lane's accumulators are its part of the next factor.
// Change: from 08.05b: the weights are packed in their registers, without shared memory. load.hpp
//         loads the blocks.
// Why:    a warp stored and loaded weights that it already had in its registers. They were 16 or 32
//         KB, in an extra buffer.
// Needs:  D = 64 or 128 and bf16, to keep the file short, with a causal mask, lengths and packed
//         sequences. 16-byte rows and tensor cores (sm_80).
// Costs:  bank conflicts in the loads of blocks, which 06_swizzled removes, and a wait for every
//         tile, which 08_pipelined removes.
//         See README for measurements.
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

// Key tiles of a block of queries. Its first query sees the fewest keys, its last one the most.
template <int kKeys>
__device__ KeyTiles tiles_of(const Sequence& s, std::int64_t first, int queries) {
  KeyTiles tiles;
  tiles.count = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);
  tiles.whole = static_cast<int>(s.keys_seen(first) / kKeys);
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

  // This block's queries, those with the most keys first, so that short blocks fill the gaps at the
  // end.
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

  // Out-of-bounds rows become zeros, because a weight of 0 times a NaN would be NaN.
  const auto fetch_keys = [&](Rows to, const Element* x, int tile) {
    const std::int64_t key = std::int64_t{tile} * C::kKeys;
    copy_rows<C::kKeys, C::kThreads>(to, x + k_offset + key * stride_k, stride_k,
                                     visible.most - tile * C::kKeys, kD, true, threadIdx.x);
  };
  if (tiles.count > 0)
    copy_rows<C::kQueries, C::kThreads>(q_tile, args.q + q_offset, stride_q, queries, kD, true,
                                        threadIdx.x);

  // This warp's queries, and this lane's address in each operand.
  const int lane = threadIdx.x % kWarpSize;
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * C::kRowBlocks * kBlock;
  const MkToA q_smem(q_tile, first_row, lane);
  const NkToB k_smem(k_tile, 0, lane);
  const KnToB v_smem(v_tile, 0, lane);

  OnlineSoftmax<C::kRowBlocks> softmax(args.scale);
  Accumulator o[C::kRowBlocks][kD / 8] = {};
#pragma unroll 1
  for (int tile = 0; tile < tiles.count; ++tile) {
    __syncthreads();  // all warps have finished the previous tiles, which may be overwritten
    fetch_keys(k_tile, args.k, tile);
    fetch_keys(v_tile, args.v, tile);
    __syncthreads();  // K and V are in shared memory

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
    if (tile >= tiles.whole) mask(scores, visible, first_row, tile * C::kKeys);

    softmax.update(scores, o);
#pragma unroll
    for (int n = 0; n < C::kKeys; n += kBlock) {
      FragmentA<Element> p[C::kRowBlocks];
      // TODO(1): roughly 3 lines; set each p[b], an A, to the weights of the 16 keys from n on, for
      // TODO(1): block b of this warp's queries; budget: no access to memory.
#pragma unroll
      for (int d = 0; d < kD; d += kBlock) {
        FragmentB<Element> v[2];
        // TODO(2): roughly 4 lines; multiply each p[b] by V (16 keys from n on, 16 channels from d
        // TODO(2): on), and add the product to o[b][d / 8] and o[b][d / 8 + 1]; budget: one load of
        // TODO(2): matrices.
      }
    }
  }
  send(args.o + q_offset + first_row * stride_q, stride_q,
       args.lse + s.first_lse + h * args.T_q + first + first_row, queries - first_row,
       q_tile.below(first_row), o, softmax);
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  ladder::cuda::allow_shared_memory("attention_tensor_cores", attend<kD, Element>, C::kBytes);
  const dim3 grid(static_cast<unsigned>((args.T_q + C::kQueries - 1) / C::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(sequence_count(args)));
  attend<kD, Element><<<grid, C::kThreads, C::kBytes>>>(args);
  CUDA_CHECK(cudaGetLastError());
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
