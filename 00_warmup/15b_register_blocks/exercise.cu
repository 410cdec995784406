// 15b register blocks: C = act(A B + bias), 8 x 8 elements of C in the registers of each thread.
// Change: rewrite of the inner loop. A thread has 8 columns, too, and a 256-thread block 128 x 128.
// Why:    16 elements from shared memory serve 64 FMAs. Lesson 15a loads 9 for 8.
// Needs:  any M, N, K and CUDA GPU. At most 128 registers per thread, so an SM holds two blocks.
// Costs:  small products have few blocks. Loads are 4 bytes wide, and threads wait for every tile.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;  // rows and columns of C per block
constexpr int kDepth = 8;   // columns of A and rows of B in shared memory at a time
constexpr int kSide = 8;    // rows and columns of C per thread

// A warp computes 32 rows and 64 columns. Its lanes form 4 rows of 8, each lane with 4 x 4
// elements, and the same again 16 rows and 32 columns further. Adjacent lanes share their columns,
// every second lane its rows, so half a warp loads 16 bytes per lane in one wavefront.
__device__ int row_of(int i) {
  const int lane = threadIdx.x % 32, lane_row = lane / 16 * 2 + lane % 2;
  return threadIdx.x / 64 * 32 + i / 4 * 16 + lane_row * 4 + i % 4;
}
__device__ int column_of(int j) {
  const int lane_column = threadIdx.x % 16 / 2;
  return threadIdx.x / 32 % 2 * 64 + j / 4 * 32 + lane_column * 4 + j % 4;
}

__global__ void __launch_bounds__(kThreads, 2)
    matmul_register_blocks_kernel(const MatmulArgs args) {
  // Rows of odd length, so that the rows that a warp reads are in different banks.
  __shared__ float a_smem[kTile][kDepth + 1];
  __shared__ float b_smem[kDepth][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;

  float sum[kSide][kSide] = {};
  for (std::int64_t first_k = 0; first_k < K; first_k += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      const std::int64_t m = first_m + i / kDepth, a_k = first_k + i % kDepth;
      const std::int64_t b_k = first_k + i / kTile, n = first_n + i % kTile;
      a_smem[i / kDepth][i % kDepth] = m < M && a_k < K ? args.a[m * K + a_k] : 0.0f;
      b_smem[i / kTile][i % kTile] = b_k < K && n < N ? args.b[b_k * N + n] : 0.0f;
    }
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kDepth; ++k) {
      float a[kSide], b[kSide];
      // TODO(1): roughly 8 lines; load 8 elements of a column of A's tile and 8 of a row of B's,
      // TODO(1): then add their 64 products to the sums;
      // TODO(1): budget: 16 reads of shared memory, 64 multiply-adds
    }
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }

  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      // TODO(2): roughly 2 lines; if the element of sum[i][j] is within C, store its `finished`
      // TODO(2): value; budget: one store
    }
  }
}

void matmul_register_blocks(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  matmul_register_blocks_kernel<<<blocks_of_tiles(args, kTile, kTile), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_register_blocks",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_register_blocks)}};

}  // namespace
}  // namespace warmup
