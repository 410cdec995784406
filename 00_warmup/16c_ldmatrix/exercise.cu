// 16c ldmatrix: C = act(A B + bias) in bf16, one instruction loads a fragment's four registers.
// Change: from 00.16b. Lanes name the rows of four 8 x 8 matrices, ldmatrix distributes elements.
// Why:    a fragment of A needed four loads of a warp, and two of B eight. Now each needs one.
// Needs:  as 16b, and rows of 16 bytes that begin at multiples of 16 bytes in shared memory.
// Costs:  the eight rows of a matrix are in the same banks, so each matrix takes eight wavefronts.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace warmup {
namespace {

namespace tiles = ladder::cuda::tiles;
using ladder::bfloat16;
using ladder::cuda::kWarpSize;
using FragmentA = tiles::FragmentA<bfloat16>;  // 16 x 16
using FragmentB = tiles::FragmentB<bfloat16>;  // 16 x 8

constexpr int kThreads = 128;              // four warps, two by two
constexpr int kTile = 128;                 // rows and columns of C per block
constexpr int kDepth = 64;                 // columns of A and rows of B in shared memory at a time
constexpr int kWarpTile = 64;              // rows and columns of C per warp
constexpr int kBlock = 16;                 // rows, columns and depth of two adjacent MMAs
constexpr int kSide = kWarpTile / kBlock;  // blocks along a side of a warp's tile

// Rows of kColumns elements in shared memory, contiguous.
template <int kColumns>
using Tile = tiles::Tile<bfloat16, kColumns, tiles::Layout::kStraight>;
using TileA = Tile<kDepth>;                // kTile rows
using TileB = Tile<kTile>;                 // kDepth rows
constexpr int kElements = kTile * kDepth;  // elements of either tile

// Fetches a 16-byte vector, 8 elements of a row, of which the first `count` exist. The others
// become 0. If `aligned`, vectors exist entirely or not at all, and begin at multiples of 16 bytes.
__device__ void fetch_unit(bfloat16* to_smem, const bfloat16* from, int count, bool aligned) {
  if (aligned) {
    uint4 unit = make_uint4(0, 0, 0, 0);
    if (count > 0) unit = *reinterpret_cast<const uint4*>(from);
    *reinterpret_cast<uint4*>(to_smem) = unit;
  } else {
    for (int i = 0; i < TileA::kUnit; ++i)
      to_smem[i] = i < count ? from[i] : bfloat16{0};
  }
}

// Fetches kRows rows of a matrix with `stride` columns, of which `rows` x `columns` exist.
template <int kRows, typename Tile>
__device__ void fetch_tile(Tile to_smem, const bfloat16* from, std::int64_t stride, int rows,
                           int columns, bool aligned) {
#pragma unroll
  for (int i = 0; i < kRows * Tile::kUnits / kThreads; ++i) {
    const int unit = i * kThreads + threadIdx.x;
    const int row = unit / Tile::kUnits, column = unit % Tile::kUnits * Tile::kUnit;
    fetch_unit(to_smem.at(row, column), from + row * stride + column,
               row < rows ? columns - column : 0, aligned);
  }
}

// Loads 16 x 16 elements of A's tile from (row, column) on. Lane l names row l % 8 of the 8 x 8
// matrix l / 8, which becomes register l / 8 of all lanes.
__device__ FragmentA load_a(TileA tile, int row, int column, int lane) {
  FragmentA a = {};
  // TODO(1): roughly 1 line; call ladder::cuda::load_matrices(a.x, ...): which row's address does
  // TODO(1): this lane pass? budget: one load of four matrices
  return a;
}

// Loads 16 x 16 elements of B's tile, as two adjacent fragments. ldmatrix transposes each matrix.
__device__ void load_b(FragmentB (&b)[2], TileB tile, int row, int column, int lane) {
  std::uint32_t x[4] = {};
  // TODO(2): roughly 1 line; call ladder::cuda::load_matrices_transposed(x, ...): which row's
  // TODO(2): address does this lane pass? budget: one load of four matrices
  b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
}

__global__ void __launch_bounds__(kThreads, 2)
    matmul_ldmatrix_kernel(const MatmulBf16Args args, bool aligned) {
  __shared__ alignas(128) bfloat16 smem[2 * kElements];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int warp_m = warp / 2 * kWarpTile, warp_n = warp % 2 * kWarpTile;  // in the block's tile

  const int rows_a = static_cast<int>(min(M - first_m, std::int64_t{kTile}));
  const int columns_b = static_cast<int>(min(N - first_n, std::int64_t{kTile}));
  const int count = static_cast<int>((K + kDepth - 1) / kDepth);  // tiles along K
  const TileA a_tile{smem};
  const TileB b_tile{smem + kElements};
  const auto fetch = [&](int tile) {
    const std::int64_t first_k = std::int64_t{tile} * kDepth;
    const int depth = static_cast<int>(min(K - first_k, std::int64_t{kDepth}));
    const bfloat16* const from_a = args.a + first_m * K + first_k;
    const bfloat16* const from_b = args.b + first_k * N + first_n;
    fetch_tile<kTile>(a_tile, from_a, K, rows_a, depth, aligned);
    fetch_tile<kDepth>(b_tile, from_b, N, depth, columns_b, aligned);
  };

  tiles::Accumulator c[kSide][kSide][2] = {};
  for (int tile = 0; tile < count; ++tile) {
    fetch(tile);
    __syncthreads();  // both tiles are complete, so all threads may read them
#pragma unroll
    for (int k = 0; k < kDepth; k += kBlock) {
      FragmentA a[kSide];
      FragmentB b[kSide][2];
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        a[i] = load_a(a_tile, warp_m + i * kBlock, k, lane);
        load_b(b[i], b_tile, k, warp_n + i * kBlock, lane);
      }
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j)
          tiles::multiply(c[i][j], a[i], b[j]);
      }
    }
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }

#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide * 2; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const tiles::Place place = tiles::accumulator_place(lane, e);
        const std::int64_t m = first_m + warp_m + i * kBlock + place.row;
        const std::int64_t n = first_n + warp_n + j * 8 + place.column;
        if (m < M && n < N)
          ladder::cuda::store(args.c + m * N + n, finished(args, c[i][j / 2][j % 2][e], n));
      }
    }
  }
}

bool begins_at_16_bytes(const bfloat16* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

void matmul_ldmatrix(const MatmulBf16Args& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  const bool aligned = args.K % TileA::kUnit == 0 && args.N % TileB::kUnit == 0 &&
                       begins_at_16_bytes(args.a) && begins_at_16_bytes(args.b);
  const unsigned blocks = blocks_of_tiles(args, kTile, kTile);
  matmul_ldmatrix_kernel<<<blocks, kThreads>>>(args, aligned);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "matmul_ldmatrix",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<Matmul>(matmul_ldmatrix)}};

}  // namespace
}  // namespace warmup
