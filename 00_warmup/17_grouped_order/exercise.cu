// 17 grouped order: C = act(A B + bias) in bf16, simultaneous blocks compute nearby tiles of C.
// Change: from 00.16e. Blocks take groups of 16 rows of tiles, and in a group column by column.
// Why:    an H200 runs 264 blocks at once. Groups need about half as many rows of A, columns of B.
// Needs:  as 16e.
// Costs:  four divisions per block. Small products, with one wave of blocks, gain nothing.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/17_grouped_order/block_order.hpp"
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

__host__ __device__ TilePlace grouped_place(std::int64_t block, std::int64_t down,
                                            std::int64_t across, std::int64_t group) {
  // TODO(1): roughly 4 lines; compute the first row of this block's group, the group's number of
  // TODO(1): rows and the block's index in the group; then the tile, where blocks go down a column
  // TODO(1): of the group, then down the next one; budget: no access to memory
  return {};  // until hole 1 is filled
}

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

constexpr int kGroup = 16;                    // rows of tiles per group
constexpr int kStages = 3;                    // buffers for a pair of tiles
using TileA = tiles::Tile<bfloat16, kDepth>;  // kTile rows, swizzled
using TileB = tiles::Tile<bfloat16, kTile>;   // kDepth rows
constexpr int kElements = kTile * kDepth;     // elements of either tile
constexpr int kBytes = kStages * 2 * kElements * static_cast<int>(sizeof(bfloat16));

__global__ void __launch_bounds__(kThreads, 2)
    matmul_grouped_kernel(const MatmulBf16Args args, bool aligned) {
  extern __shared__ uint4 smem[];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t down = (M + kTile - 1) / kTile, across = (N + kTile - 1) / kTile;
  const TilePlace in_c = grouped_place(blockIdx.x, down, across, kGroup);
  const std::int64_t first_m = in_c.down * kTile, first_n = in_c.across * kTile;
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
  for (int tile = 0; tile < kStages - 1; ++tile) {
    if (tile < count) fetch(tile);
    __pipeline_commit();  // a group for each tile, perhaps an empty one
  }
  for (int tile = 0; tile < count; ++tile) {
    if (tile + kStages - 1 < count) fetch(tile + kStages - 1);
    __pipeline_commit();
    __pipeline_wait_prior(kStages - 1);  // later groups may be in flight
    __syncthreads();                     // this stage is complete, so all threads may read it
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

void matmul_grouped(const MatmulBf16Args& args) {
  ladder::validate_lists(args);
  ladder::cuda::allow_shared_memory("matmul_grouped", matmul_grouped_kernel, kBytes);
  if (args.M == 0 || args.N == 0) return;
  const bool aligned = args.K % TileA::kUnit == 0 && args.N % TileB::kUnit == 0 &&
                       begins_at_16_bytes(args.a) && begins_at_16_bytes(args.b);
  const unsigned blocks = blocks_of_tiles(args, kTile, kTile);
  matmul_grouped_kernel<<<blocks, kThreads, kBytes>>>(args, aligned);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "matmul_grouped",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<Matmul>(matmul_grouped)}};

}  // namespace
}  // namespace warmup
