// 16e copies ahead: C = act(A B + bias) in bf16, asynchronous copies of tiles during the products.
// Change: from 00.16d, with kStages pairs of tiles, kStages - 1 in flight. Layout of common/cuda.
// Why:    in 16d warps wait for tiles, then multiply. A copy needs no register and no thread.
// Needs:  as 16d, and 32 KB of shared memory per stage.
// Costs:  with four stages an SM holds one block, with three two.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
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

constexpr int kStages = 3;                    // buffers for a pair of tiles
using TileA = tiles::Tile<bfloat16, kDepth>;  // kTile rows, swizzled
using TileB = tiles::Tile<bfloat16, kTile>;   // kDepth rows
constexpr int kElements = kTile * kDepth;     // elements of either tile
constexpr int kBytes = kStages * 2 * kElements * static_cast<int>(sizeof(bfloat16));

__global__ void __launch_bounds__(kThreads, 2)
    matmul_copies_ahead_kernel(const MatmulBf16Args args, bool aligned) {
  extern __shared__ uint4 smem[];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int warp_m = warp / 2 * kWarpTile, warp_n = warp % 2 * kWarpTile;  // in the block's tile

  const int rows_a = static_cast<int>(min(M - first_m, std::int64_t{kTile}));
  const int columns_b = static_cast<int>(min(N - first_n, std::int64_t{kTile}));
  const int count = static_cast<int>((K + kDepth - 1) / kDepth);  // tiles along K
  const auto stage = [&](int tile) {
    return reinterpret_cast<bfloat16*>(smem) + tile % kStages * 2 * kElements;
  };
  const auto fetch = [&](int tile) {
    const std::int64_t first_k = std::int64_t{tile} * kDepth;
    const int depth = static_cast<int>(min(K - first_k, std::int64_t{kDepth}));
    const bfloat16* const from_a = args.a + first_m * K + first_k;
    const bfloat16* const from_b = args.b + first_k * N + first_n;
    const TileA a_tile{stage(tile)};
    const TileB b_tile{stage(tile) + kElements};
    tiles::copy_rows_async<kTile, kThreads>(a_tile, from_a, K, rows_a, depth, aligned, threadIdx.x);
    tiles::copy_rows_async<kDepth, kThreads>(b_tile, from_b, N, depth, columns_b, aligned,
                                             threadIdx.x);
  };

  tiles::Accumulator c[kSide][kSide][2] = {};
  // TODO(1): roughly 4 lines; for each of the first kStages - 1 tiles, fetch it if it exists, and
  // TODO(1): commit a group, perhaps an empty one
  // TODO(1): budget: no wait, no barrier
  for (int tile = 0; tile < count; ++tile) {
    // TODO(2): roughly 3 lines; fetch the tile that is kStages - 1 ahead, if it exists; commit a
    // TODO(2): group; wait for the copies of tile `tile`
    // TODO(2): budget: one wait; the newest kStages - 1 groups may still be in flight
    __syncthreads();  // this stage is complete, so all threads may read it
    const TileA a_tile{stage(tile)};
    const TileB b_tile{stage(tile) + kElements};
#pragma unroll
    for (int k = 0; k < kDepth; k += kBlock) {
      FragmentA a[kSide];
      FragmentB b[kSide][2];
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
        a[i] = tiles::load_a_mk(a_tile, warp_m + i * kBlock, k, lane);
        tiles::load_b_kn(b[i], b_tile, k, warp_n + i * kBlock, lane);
      }
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j)
          tiles::multiply(c[i][j], a[i], b[j]);
      }
    }
    __syncthreads();  // all threads have read this stage, which may now be refilled
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

void matmul_copies_ahead(const MatmulBf16Args& args) {
  ladder::validate_lists(args);
  ladder::cuda::allow_shared_memory("matmul_copies_ahead", matmul_copies_ahead_kernel, kBytes);
  if (args.M == 0 || args.N == 0) return;
  const bool aligned = args.K % TileA::kUnit == 0 && args.N % TileB::kUnit == 0 &&
                       begins_at_16_bytes(args.a) && begins_at_16_bytes(args.b);
  const unsigned blocks = blocks_of_tiles(args, kTile, kTile);
  matmul_copies_ahead_kernel<<<blocks, kThreads, kBytes>>>(args, aligned);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_copies_ahead",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<Matmul>(matmul_copies_ahead)}};

}  // namespace
}  // namespace warmup
