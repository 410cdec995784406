// 14 tiles: C = act(A B + bias), a block computes a tile of C from tiles of A and B.
// Change: rewrite of 00.13. Along K, a block's threads fetch tiles of A and B into shared memory.
// Why:    an element of A is fetched once per tile of columns, not per column. B's are likewise.
// Needs:  any M, N and K. Elements past an edge are 0 in shared memory. Blocks of 1024 threads.
// Costs:  two barriers per tile, and two loads from shared memory per FMA.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of each tile, with one thread per element

__global__ void __launch_bounds__(kTile* kTile) matmul_tiles_kernel(const MatmulArgs args) {
  __shared__ float a_smem[kTile][kTile], b_smem[kTile][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const int row = threadIdx.x / kTile, column = threadIdx.x % kTile;  // in a tile
  const std::int64_t m = blockIdx.x / tiles_across * kTile + row;
  const std::int64_t n = blockIdx.x % tiles_across * kTile + column;

  float sum = 0.0f;
  for (std::int64_t first_k = 0; first_k < K; first_k += kTile) {
    const std::int64_t a_k = first_k + column, b_k = first_k + row;
    // TODO(1): roughly 5 lines; fetch both tiles, 0 past an edge; synchronize the block; add the 32
    // TODO(1): products of A's row `row` and B's column `column` to `sum`;
    // TODO(1): budget: one global read each of a and b, 32 times two reads of shared memory, no
    // TODO(1): bank conflict, one barrier
    // The next tiles use the same buffers.
    // TODO(2): roughly 1 line; let no thread store the next tiles too early;
    // TODO(2): budget: one barrier
  }
  if (m < M && n < N) args.c[m * N + n] = finished(args, sum, n);
}

void matmul_tiles(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  matmul_tiles_kernel<<<blocks_of_tiles(args, kTile, kTile), kTile * kTile>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration matmul_tiles_registration{
    {.name = "matmul_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_tiles)}};

}  // namespace
}  // namespace warmup
