// 18b shared a: c = a b + bias for each batch, with one a for all batches.
// Change: rewrite of 18 for another operator. All batches' columns in a row. Threads find batches.
// Why:    a tile can have columns of several batches, so only the last tile has unused columns.
// Needs:  any B, M, N, K. Elements past an edge are 0 in shared memory. Blocks of 1024 threads.
// Costs:  a division per thread. A warp reads two memory ranges where a tile changes batches.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/18b_shared_a/shared_a.hpp"
#include "00_warmup/tile_grid.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of each tile, with one thread per element

__global__ void __launch_bounds__(kTile* kTile) shared_a_kernel(const SharedAMatmulArgs args) {
  __shared__ float a_smem[kTile][kTile], b_smem[kTile][kTile];
  const std::int64_t B = args.B, M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (B * N + kTile - 1) / kTile;
  const int row = threadIdx.x / kTile, column = threadIdx.x % kTile;  // in a tile
  const std::int64_t m = blockIdx.x / tiles_across * kTile + row;
  const std::int64_t j = blockIdx.x % tiles_across * kTile + column;  // among all batches' columns
  // Column j belongs to this batch.
  std::int64_t batch = B, n = 0;  // until hole 1 is filled
  // TODO(1): roughly 2 lines; compute the batch of column j, and n, its index in this batch
  // TODO(1): budget: no global read

  float sum = 0.0f;
  for (std::int64_t first_k = 0; first_k < K; first_k += kTile) {
    const std::int64_t a_k = first_k + column, b_k = first_k + row;
    a_smem[row][column] = m < M && a_k < K ? args.a[m * K + a_k] : 0.0f;
    // Each column of b's tile is from its own batch.
    // TODO(2): roughly 1 line; store row b_k's element of this thread's column in b_smem, 0 past an
    // TODO(2): edge; budget: one global read of b
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kTile; ++k)
      sum += a_smem[row][k] * b_smem[k][column];
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }
  if (m >= M || batch >= B) return;
  if (args.bias != nullptr) sum += args.bias[batch];
  args.c[(batch * M + m) * N + n] = sum;
}

void shared_a(const SharedAMatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.B == 0 || args.M == 0 || args.N == 0) return;
  const unsigned blocks = blocks_of_tiles("B * M * N", 1, args.M, args.B * args.N, kTile, kTile);
  shared_a_kernel<<<blocks, kTile * kTile>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration shared_a_registration{
    {.name = "shared_a_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<SharedAMatmul>(shared_a)}};

}  // namespace
}  // namespace warmup
