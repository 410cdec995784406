// 08 state in registers: the state of a head never leaves the registers of the block's four warps.
// Change: 07.07 with S transposed: S^T is the sum of one product and, packed to bf16, the factor of another; no lane moves an element.
// Why:    the state went through shared memory three times in a chunk: read as a factor, read as a sum, written.
// Needs:  what 07 needs.
// Costs:  32 registers a thread hold the state's sums.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_product.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

namespace tiles = ladder::cuda::tiles;
using ladder::bfloat16;
using ladder::cuda::kWarpSize;
using FragmentA = tiles::FragmentA<bfloat16>;  // 16 x 16
using FragmentB = tiles::FragmentB<bfloat16>;  // 16 x 8

constexpr int kChunk = kChannels;          // tokens: q, k, v, scores and state are all 64 x 64
constexpr int kSize = kChunk * kChannels;  // elements of each
constexpr int kBlock = 16;                 // rows and columns of two products side by side
constexpr int kBlocks = kChunk / kBlock;   // of these along a side
constexpr int kThreads = kBlocks * kWarpSize;

// Row after row.
using Tile = tiles::Tile<bfloat16, kChannels, tiles::Layout::kStraight>;

// Two elements as a register: neighbours of a row, or of a column.
__device__ std::uint32_t side_by_side(const bfloat16* first) {
  return *reinterpret_cast<const std::uint32_t*>(first);
}
__device__ std::uint32_t below_each_other(const bfloat16* first) {
  return first->bits | static_cast<std::uint32_t>(first[kChannels].bits) << 16;
}

// 16 x 16 elements from (row, column) on, as an A or as two B side by side. The names say how the tile lies: its rows are m, n or k.
__device__ FragmentA load_a_mk(Tile tile, int row, int column, int lane) {
  FragmentA a = {};
  // TODO(1): roughly 4 lines; the four registers of A, whose rows m are rows of the tile. budget: one load from shared memory for each.
  return a;
}
__device__ FragmentA load_a_km(Tile tile, int row, int column, int lane) {
  FragmentA a = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place mk = FragmentA::place(lane, i);
    a.x[i] = below_each_other(tile.at(row + mk.column, column + mk.row));
  }
  return a;
}
__device__ void load_b_nk(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    b[i / 2].x[i % 2] = side_by_side(tile.at(row + i / 2 * 8 + kn.column, column + kn.row));
  }
}
__device__ void load_b_kn(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
  // TODO(1): roughly 4 lines; both registers of both B, whose columns n are columns of the tile. budget: two loads for each.
}

// 16 x 16 sums, rounded to bf16, as the transposed factor of a product: rows m of the sums become columns n of two B.
__device__ void as_factor(FragmentB (&b)[2], const tiles::Accumulator (&sum)[2]) {
  // TODO(2): roughly 5 lines; both registers of both B, from this lane's own sums. budget: no access to memory, no shuffle.
}

// Key s is seen by query l if s <= l.
__device__ void mask(tiles::Accumulator (&scores)[2], int lane) {
  // TODO(3): roughly 4 lines; each of the lane's eight sums whose key is later than its query becomes 0. budget: no access to memory.
}

// visit(two, row, column) for each pair of neighbours that the lane has of 16 x 16 sums: two[0] and, to its right, two[1].
template <typename Visit>
__device__ void for_pairs(tiles::Accumulator (&sum)[2], int lane, Visit visit) {
  // TODO(3): roughly 4 lines; the lane's four pairs: of sum[0] elements 0 and 1, then 2 and 3; of sum[1] too, 8 columns further on.
}

__global__ void __launch_bounds__(kThreads)
    linear_attention_state_in_registers(const ladder::LinearAttentionBf16Args args) {
  __shared__ alignas(128) bfloat16 smem[4 * kSize];
  const Tile q{smem}, k{smem + kSize}, v{smem + 2 * kSize};  // (token, channel)
  const Tile scores{smem + 3 * kSize};                       // (query, key)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // Where this warp's 16 begin: rows of the scores; columns of v, o and the state.
  const int mine = warp * kBlock;

  const auto first_of = [&](std::int64_t t) { return (b * args.T_q + t) * stride + h * kChannels; };
  const auto rows_of = [&](std::int64_t t) {
    return static_cast<int>(min(args.T_q - t, std::int64_t{kChunk}));
  };
  // The chunk from token t on; zeros beyond the last token.
  const auto fetch = [&](std::int64_t t) {
    // TODO(4): roughly 4 lines; the chunk's rows of q, k and v go to the three tiles, by tiles::copy_rows<kChunk, kThreads>: from first_of(t)
    // TODO(4): on, rows_of(t) rows of kChannels elements, `stride` apart, aligned; zeros beyond them. budget: one read of each element.
  };

  // S^T: this warp's 16 columns of S as rows; state[c] has channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    // TODO(4): roughly 2 lines; the chunk from token t on is here, for all threads.

    // Q K^T: this warp's queries with the keys up to them.
    FragmentA of_q[kBlocks];
#pragma unroll
    for (int c = 0; c < kBlocks; ++c)
      of_q[c] = load_a_mk(q, mine, c * kBlock, lane);
    for (int s = 0; s <= mine; s += kBlock) {
      tiles::Accumulator sum[2] = {};
      FragmentB of_k[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        load_b_nk(of_k, k, s, c * kBlock, lane);
        tiles::multiply(sum, of_q[c], of_k);
      }
      // TODO(3): roughly 5 lines; the scores of these 16 queries with the keys from s on, masked on the diagonal, go to `scores` as bf16.
      // TODO(3): budget: one store of 4 bytes for two.
    }
    // TODO(3): roughly 1 line; all warps need all scores.

    // Q S + scores V: this warp's columns, for all queries.
    FragmentB of_state[kBlocks][2], factor[2];
    FragmentA of_v[kBlocks];  // V^T, which as a B is V
    // TODO(2): roughly 4 lines; the state's channels of block i as two B, and V^T of the tokens from 16 i on, this warp's columns.
#pragma unroll
    for (int l = 0; l < kBlocks; ++l) {
      tiles::Accumulator sum[2] = {};
      // TODO(5): roughly 7 lines; add Q S and the scores times V, for the queries of block l; tiles::as_b makes two B of V^T. budget: no load
      // TODO(5): of a fragment of S or of V.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        // TODO(4): roughly 3 lines; two neighbours of o, if the chunk has such a row: row 16 l + row, columns mine + column and the next one.
        // TODO(4): budget: one store of 4 bytes for the two.
      });
    }

    // S^T += V^T K
    // TODO(5): roughly 7 lines; add V^T K of the chunk's tokens to the state, 16 channels at a time; then the next chunk may come to the same
    // TODO(5): places. budget: no load of a fragment of V.
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_state_in_registers<<<grid, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_state_in_registers",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
