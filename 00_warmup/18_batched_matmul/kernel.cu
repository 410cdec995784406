// 18 batched matmul: c = act(a b + bias) for each batch: a has a matrix for each of them, b is the same for all.
// Change: rewrite of 14 for an operator of its own: a block finds its batch, too. GELU in the place of ReLU.
// Why:    one launch for all batches; a launch for each of them would leave most of the GPU idle.
// Needs:  any B, M, N and K: what lies beyond an edge is 0 in shared memory. Blocks of 1024 threads.
// Costs:  the same as 14 for each batch: b is fetched anew for each batch and each tile of rows.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "00_warmup/18_batched_matmul/batched_matmul.hpp"
#include "00_warmup/tile_grid.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of each of the three tiles; a thread for each element
constexpr float kRootHalf = 0.70710678f;  // 1 / sqrt(2)

__device__ float finished(const BatchedMatmulArgs& args, float sum, std::int64_t n) {
  if (args.bias != nullptr) sum += args.bias[n];
  if (args.gelu) sum *= 0.5f * (1.0f + erff(sum * kRootHalf));
  return sum;
}

__global__ void __launch_bounds__(kTile* kTile)
    batched_matmul_kernel(const BatchedMatmulArgs args) {
  __shared__ float a_smem[kTile][kTile], b_smem[kTile][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t tiles = (M + kTile - 1) / kTile * tiles_across;  // of a batch
  const int row = threadIdx.x / kTile, column = threadIdx.x % kTile;  // in a tile
  const float* a = args.a;
  float* c = args.c;               // of the first batch, as a is
  std::int64_t tile = blockIdx.x;  // among those of all batches
  // Each batch has as many tiles.
  const std::int64_t batch = tile / tiles;
  tile -= batch * tiles;  // now among those of its batch
  a += batch * M * K, c += batch * M * N;
  const std::int64_t m = tile / tiles_across * kTile + row;
  const std::int64_t n = tile % tiles_across * kTile + column;

  float sum = 0.0f;
  for (std::int64_t first_k = 0; first_k < K; first_k += kTile) {
    const std::int64_t a_k = first_k + column, b_k = first_k + row;
    a_smem[row][column] = m < M && a_k < K ? a[m * K + a_k] : 0.0f;
    b_smem[row][column] = b_k < K && n < N ? args.b[b_k * N + n] : 0.0f;
    __syncthreads();  // both tiles are there
    for (int k = 0; k < kTile; ++k)
      sum += a_smem[row][k] * b_smem[k][column];
    __syncthreads();  // all have read them
  }
  if (m < M && n < N) c[m * N + n] = finished(args, sum, n);
}

void batched_matmul(const BatchedMatmulArgs& args) {
  ladder::validate_lists(args);
  const unsigned blocks = blocks_of_tiles("B * M * N", args.B, args.M, args.N, kTile, kTile);
  if (blocks == 0) return;
  batched_matmul_kernel<<<blocks, kTile * kTile>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration batched_matmul_registration{
    {.name = "batched_matmul_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<BatchedMatmul>(batched_matmul)}};

}  // namespace
}  // namespace warmup
