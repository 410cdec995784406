// 08 flash attention, matrix loads: one ldmatrix loads the four registers of a 16 x 16 block.
// Change: from 08.05a: a lane gives the address of one row of an 8 x 8 matrix, and receives its
//         elements of all four matrices. The load transposes the matrices of V.
// Why:    a block of V needed eight loads of two bytes, and a block of Q, K or the weights needed
//         four of four bytes. Now each needs one load.
// Needs:  D = 64 or 128 and bf16, to keep the file short, with a causal mask, lengths and packed
//         sequences. 16-byte rows and tensor cores (sm_80).
// Costs:  the eight rows of a matrix begin in the same bank, and the weights still go through
//         shared memory.
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
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
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

// 16 x 16 blocks of a tile as factors. Rows of the tile are m, n or k. load() returns the block
// `rows` below `row` and `columns` from the left. Lane l gives the address of row l % 8 of the 8 x
// 8 matrix l / 8, which becomes register l / 8 of all lanes. The queries and the weights are an A
// with rows m.
template <typename Tile>
struct MkToA {
  using Element = typename Tile::Element;
  const Element* from;  // the row whose address this lane gives

  __device__ MkToA(Tile tile, int row, int lane)
      // The row whose address this lane gives.
      // TODO(1): roughly 1 line; point `from` at the row whose address this lane gives; budget: no
      // TODO(1): access to memory.
      : from(tile.at(row, 0)) {}  // until hole 1 is filled
  __device__ FragmentA<Element> load(int rows, int columns) const {
    FragmentA<Element> a = {};
    // TODO(1): roughly 1 line; load the block's four matrices into a.x; budget: one load of four
    // TODO(1): matrices.
    return a;
  }
};

// Two neighbouring B, whose columns n are rows of the tile. They are the keys.
template <typename Tile>
struct NkToB {
  using Element = typename Tile::Element;
  const Element* from;

  __device__ NkToB(Tile tile, int row, int lane)
      // The row whose address this lane gives.
      // TODO(2): roughly 1 line; point `from` at the row whose address this lane gives; budget: no
      // TODO(2): access to memory.
      : from(tile.at(row, 0)) {}  // until hole 2 is filled
  __device__ void load(FragmentB<Element> (&b)[2], int rows, int columns) const {
    std::uint32_t x[4] = {};
    // TODO(2): roughly 1 line; load K's four matrices into x; budget: one load of four matrices.
    b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
  }
};

// Two neighbouring B, whose rows k are rows of the tile. They are the values.
template <typename Tile>
struct KnToB {
  using Element = typename Tile::Element;
  const Element* from;

  __device__ KnToB(Tile tile, int row, int lane)
      // The row whose address this lane gives.
      // TODO(3): roughly 1 line; point `from` at the row whose address this lane gives; budget: no
      // TODO(3): access to memory.
      : from(tile.at(row, 0)) {}  // until hole 3 is filled
  __device__ void load(FragmentB<Element> (&b)[2], int rows, int columns) const {
    std::uint32_t x[4] = {};
    // TODO(3): roughly 1 line; load V's four matrices into x; budget: one load of four matrices.
    b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
  }
};

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads, Cut<kD>::kBlocks)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  using Rows = Tile<Element, kD, Layout::kStraight>;
  extern __shared__ uint4 smem[];
  const Rows q_tile{reinterpret_cast<Element*>(smem)};  // kQueries rows
  const Rows k_tile{q_tile.smem + C::kQueries * kD};    // kKeys rows
  const Rows v_tile{k_tile.smem + C::kKeys * kD};       // kKeys rows
  const Tile<Element, C::kKeys, Layout::kStraight> p_tile{v_tile.smem + C::kKeys * kD};  // kQueries

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
  const MkToA p_smem(p_tile, first_row, lane);
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
    // The weights become a factor through shared memory. A warp reads only the rows that it wrote.
#pragma unroll
    for (int b = 0; b < C::kRowBlocks; ++b) {
#pragma unroll
      for (int n = 0; n < C::kKeys / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          const Place mn = accumulator_place(lane, i);
          *reinterpret_cast<std::uint32_t*>(
              p_tile.at(first_row + b * kBlock + mn.row, n * 8 + mn.column)) =
              ladder::cuda::pack<Element>(scores[b][n][i], scores[b][n][i + 1]);
        }
      }
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < C::kKeys; n += kBlock) {
      FragmentA<Element> p[C::kRowBlocks];
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b)
        p[b] = p_smem.load(b * kBlock, n);
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
  send(args.o + q_offset + first_row * stride_q, stride_q,
       args.lse + s.first_lse + h * args.T_q + first + first_row, queries - first_row,
       q_tile.below(first_row), o, softmax);
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  constexpr int kBytes = C::kBytes + C::kQueries * C::kKeys * 2;  // with the weights
  ladder::cuda::allow_shared_memory("attention_matrix_loads", attend<kD, Element>, kBytes);
  const dim3 grid(static_cast<unsigned>((args.T_q + C::kQueries - 1) / C::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(sequence_count(args)));
  attend<kD, Element><<<grid, C::kThreads, kBytes>>>(args);
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
    {.name = "attention_matrix_loads",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>)}};

}  // namespace
}  // namespace flash_attention
