// 15d double buffer: C = act(A B + bias), the next tiles are in flight during the products.
// Change: from 00.15c, with two tiles each of A and B. The next are in registers during a product.
// Why:    a tile's loads overlap with 512 FMAs per thread, and one barrier per tile is enough.
// Needs:  as 15c.
// Costs:  twice the shared memory. The eight registers of a4 and b4 are also in use in products.
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
__global__ void __launch_bounds__(kThreads, 2) matmul_double_buffer_kernel(const MatmulArgs args) {
  __shared__ alignas(16) float a_smem[2][kDepth][kTile + kSpace];
  __shared__ alignas(16) float b_smem[2][kDepth][kTile];
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
    a_next += kDepth, a_left -= kDepth;
    b_next += kDepth * N, b_left -= kDepth;
  };
  const auto store = [&](int buffer) {
    for (int i = 0; i < 4; ++i)
      a_smem[buffer][a_k + i][a_row] = a4[i];
    copy_four(&b_smem[buffer][b_k][b_column], b4);
  };

  float sum[kSide][kSide] = {};
  // TODO(1): roughly 3 lines; fetch the first tiles and store them in buffer 0, so that every
  // TODO(1): thread may read all of them; budget: one barrier
  int buffer = 0;
  for (std::int64_t next_k = kDepth; next_k < K + kDepth; next_k += kDepth) {
    // TODO(2): roughly 1 line; fetch the next tiles, which begin at next_k, if there are any;
    // TODO(2): budget: no wait
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      alignas(16) float a[kSide], b[kSide];
      for (int i = 0; i < kSide; i += 4) {
        copy_four(a + i, &a_smem[buffer][k][row_of(i)]);
        copy_four(b + i, &b_smem[buffer][k][column_of(i)]);
      }
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; ++j)
          sum[i][j] += a[i] * b[j];
      }
    }
    // TODO(2): roughly 3 lines; store the next tiles, if there are any, in the other buffer, which
    // TODO(2): the next iteration multiplies; budget: one barrier
  }

#pragma unroll  // an index of sum unknown at compile time would put sum into local memory
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; j += 4)
      store_four<kWide>(args, first_m + row_of(i), first_n + column_of(j), &sum[i][j]);
  }
}

void matmul_double_buffer(const MatmulArgs& args) {
  ladder::validate_lists(args);
  ladder::require(args.K < INT32_MAX - kDepth,
                  "K is " + std::to_string(args.K) + "; allowed: below 2^31 - 9");
  if (args.M == 0 || args.N == 0) return;
  const unsigned blocks = blocks_of_tiles(args, kTile, kTile);
  if (in_fours(args)) {
    matmul_double_buffer_kernel<true><<<blocks, kThreads>>>(args);
  } else {
    matmul_double_buffer_kernel<false><<<blocks, kThreads>>>(args);
  }
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_double_buffer",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_double_buffer)}};

}  // namespace
}  // namespace warmup
