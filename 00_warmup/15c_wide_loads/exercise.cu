// 15c wide loads: C = act(A B + bias), 16 bytes at a time.
// Change: rewrite. All copies move four floats at a time. A's tile is transposed in shared memory.
// Why:    a column of A's tile becomes a row, so 8 elements need two loads and 64 FMAs four.
// Needs:  any M, N and K below 2^31 - 9. 16-byte loads need K, N multiples of 4, arrays aligned.
// Costs:  a second kernel for all other shapes and addresses. Threads still wait for every tile.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "00_warmup/four_floats.hpp"
#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;  // rows and columns of C per block
constexpr int kDepth = 8;   // columns of A and rows of B in shared memory at a time
constexpr int kSide = 8;    // rows and columns of C per thread

// Padding of four floats after each row of the transposed tile. A warp then stores 16 of A's rows
// and two groups of four k in different banks, and rows still begin at multiples of 16 bytes.
constexpr int kSpace = 4;

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

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 2) matmul_wide_loads_kernel(const MatmulArgs args) {
  __shared__ alignas(16) float a_smem[kDepth][kTile + kSpace];
  __shared__ alignas(16) float b_smem[kDepth][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const std::int64_t first_m = blockIdx.x / tiles_across * kTile;
  const std::int64_t first_n = blockIdx.x % tiles_across * kTile;
  const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;  // this thread's fetches
  const int b_k = threadIdx.x / 32, b_column = threadIdx.x % 32 * 4;

  alignas(16) float a4[4], b4[4];  // for the next tiles
  const float* a_next = args.a + (first_m + a_row) * K + a_k;
  const float* b_next = args.b + b_k * N + first_n + b_column;
  int a_left = first_m + a_row < M ? static_cast<int>(K) - a_k : 0;  // columns of A from there on
  int b_left = first_n + b_column < N ? static_cast<int>(K) - b_k : 0;  // rows of B from there on
  const int b_count = static_cast<int>(min(N - first_n - b_column, std::int64_t{4}));
  const auto fetch = [&] {
    fetch_four<kWide>(a4, a_next, a_left > 0, a_left);
    fetch_four<kWide>(b4, b_next, b_left > 0, b_count);
    // TODO(1): roughly 2 lines; advance a_next and b_next to the next tiles, and reduce a_left and
    // TODO(1): b_left; budget: one multiplication, by N
  };
  const auto store = [&] {
    // TODO(2): roughly 3 lines; store a4 in a column of a_smem, which is transposed, and b4 in a
    // TODO(2): row of b_smem
    // TODO(2): budget: four stores of 4 bytes and one of 16, without a bank conflict
  };

  float sum[kSide][kSide] = {};
  for (std::int64_t first_k = 0; first_k < K; first_k += kDepth) {
    fetch();
    store();
    __syncthreads();  // both tiles are complete, so all threads may read them
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      alignas(16) float a[kSide], b[kSide];
      // TODO(3): roughly 4 lines; load this thread's 8 elements of A into a and its 8 of B into b,
      // TODO(3): four at a time; budget: 4 reads of shared memory, of 16 bytes
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j)
          sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }

#pragma unroll  // an index of sum unknown at compile time would put sum into local memory
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; j += 4)
      store_four<kWide>(args, first_m + row_of(i), first_n + column_of(j), &sum[i][j]);
  }
}

void matmul_wide_loads(const MatmulArgs& args) {
  ladder::validate_lists(args);
  ladder::require(args.K < INT32_MAX - kDepth,
                  "K is " + std::to_string(args.K) + "; allowed: below 2^31 - 9");
  if (args.M == 0 || args.N == 0) return;
  const unsigned blocks = blocks_of_tiles(args, kTile, kTile);
  if (in_fours(args)) {
    matmul_wide_loads_kernel<true><<<blocks, kThreads>>>(args);
  } else {
    matmul_wide_loads_kernel<false><<<blocks, kThreads>>>(args);
  }
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_wide_loads",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_wide_loads)}};

}  // namespace
}  // namespace warmup
