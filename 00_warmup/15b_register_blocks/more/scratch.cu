// 15b register blocks: C = act(A B + bias), 8 x 8 elements of C in the registers of each thread.
// Change: rewrite of the inner loop. A thread has 8 columns, too, so a block of 256 threads computes 128 x 128 elements.
// Why:    8 elements of A and 8 of B, read once from shared memory, are used for 64 multiply-adds. Lesson 15a reads 9 for 8.
// Needs:  any M, N and K; any CUDA GPU. At most 128 registers a thread, so that two blocks share a multiprocessor.
// Costs:  small products have few blocks. Loads are 4 bytes wide, and every tile is waited for.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;  // rows and columns of C that a block computes
constexpr int kDepth = 8;   // columns of A and rows of B in shared memory at a time
constexpr int kSide = 8;    // rows and columns of C that a thread computes

// A warp computes 32 rows and 64 columns: its lanes lie 4 below each other and 8 side by side, each with 4 x 4 elements, and the
// same again 16 rows and 32 columns further on. Neighbouring lanes share their columns, next but one their rows: so half of a warp
// reads 16 bytes a lane in one wavefront.
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
  // TODO(1): roughly 35 lines; the block's threads fetch a tile of A, kTile x kDepth, and one of B, kDepth x kTile, into shared memory,
  // TODO(1): 0 beyond an edge, and walk on along K. For each k a thread reads the A of its 8 rows and the B of its 8 columns, row_of(i)
  // TODO(1): and column_of(j) of the block's tile, and adds the 64 products to its sums.
  // TODO(1): budget: 16 reads of shared memory for 64 multiply-adds, without a bank conflict; two barriers for each tile
  // TODO(2): roughly 5 lines; the 64 sums that lie in C are finished and stored; budget: one store for each element
}

void matmul_register_blocks(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  // TODO(2): roughly 1 line; the launch; blocks_of_tiles(args, kTile, kTile) says how many blocks
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_register_blocks",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_register_blocks)}};

}  // namespace
}  // namespace warmup
