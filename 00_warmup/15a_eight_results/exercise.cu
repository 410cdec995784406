// 15a eight results: C = act(A B + bias), a thread's registers sum eight elements of a column of C.
// Change: rewrite. A block of 512 threads computes 64 x 64 elements, with another split of fetches.
// Why:    a value of B in a register serves eight FMAs, with 9 shared-memory loads for 8, not 16.
// Needs:  any M, N and K, and any CUDA GPU.
// Costs:  eight registers for the accumulators. A is still loaded from shared memory for each FMA.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 512;
constexpr int kTile = 64;   // rows and columns of C per block
constexpr int kDepth = 32;  // columns of A and rows of B in shared memory at a time
constexpr int kSide = 8;    // rows of C per thread, in one column

__global__ void __launch_bounds__(kThreads) matmul_eight_results_kernel(const MatmulArgs args) {
  __shared__ float a_smem[kTile][kDepth];
  __shared__ float b_smem[kDepth][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;
  const int row = threadIdx.x / kTile * kSide, column = threadIdx.x % kTile;  // of sum[0]

  float sum[kSide] = {};
  for (std::int64_t first_k = 0; first_k < K; first_k += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      const std::int64_t m = first_m + i / kDepth, a_k = first_k + i % kDepth;
      const std::int64_t b_k = first_k + i / kTile, n = first_n + i % kTile;
      a_smem[i / kDepth][i % kDepth] = m < M && a_k < K ? args.a[m * K + a_k] : 0.0f;
      b_smem[i / kTile][i % kTile] = b_k < K && n < N ? args.b[b_k * N + n] : 0.0f;
    }
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kDepth; ++k) {
      // TODO(1): roughly 3 lines; add this k's product to each of the kSide sums; sum[i]
      // TODO(1): belongs to row `row + i` and column `column` of C's tile;
      // TODO(1): budget: 9 reads of shared memory, 8 multiply-adds
    }
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }

  for (int i = 0; i < kSide; ++i) {
    // TODO(2): roughly 2 lines; if the element of sum[i] is within C, store its `finished` value;
    // TODO(2): budget: one store
  }
}

void matmul_eight_results(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  matmul_eight_results_kernel<<<blocks_of_tiles(args, kTile, kTile), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_eight_results",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_eight_results)}};

}  // namespace
}  // namespace warmup
