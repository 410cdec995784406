// 20a int8: C = A W with weights of 8 bits, from the quantisation of W to its product.
// Change: rewrite. W is stored as 8-bit integers, with a scale and a zero point for each group. A
//         tile becomes fp32 when it is stored in shared memory.
// Why:    a weight is 1 byte in global memory, not 4.
// Needs:  any M, N, K and GROUP. Blocks of 1024 threads.
// Costs:  a weight is off by up to half a scale. Scales and zero points are loaded as well.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/20a_int8/quantize.hpp"
#include "00_warmup/low_bit.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;      // rows and columns of each tile, with one thread per element
constexpr int kThreads = 256;  // threads per block that quantise
constexpr float kMiddle = 128.0f, kMost = 255.0f;  // of 8-bit integers

// ---- Step 1: W becomes integers, a group per thread ----

__global__ void __launch_bounds__(kThreads) quantize_kernel(const QuantizeArgs args) {
  const std::int64_t N = args.N;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= (args.K + args.GROUP - 1) / args.GROUP * N) return;
  const std::int64_t n = i % N, first = i / N * args.GROUP, end = min(first + args.GROUP, args.K);

  float least = 0.0f, most = 0.0f;  // 0 is always in the range, because it must stay 0
  for (std::int64_t k = first; k < end; ++k) {
    least = fminf(least, args.r[k * N + n]);
    most = fmaxf(most, args.r[k * N + n]);
  }
  float scale = 1.0f, zero = kMiddle;  // until hole 1 is filled
  // TODO(1): roughly 4 lines; compute scale and zero from least and most; if args.symmetric is set,
  // TODO(1): zero is kMiddle and the scale fits both ends; otherwise the range from least to most
  // TODO(1): becomes the range from 0 to kMost; budget: no access to memory
  args.scale[i] = scale;
  args.zero[i] = static_cast<std::uint8_t>(zero);
  for (std::int64_t k = first; k < end; ++k) {
    const float q = rintf(args.r[k * N + n] / scale + zero);
    args.q[k * N + n] = static_cast<std::uint8_t>(fminf(fmaxf(q, 0.0f), kMost));
  }
}

// ---- Step 2: the product ----

// q - zero is an integer, so it is exact in fp32.
__device__ float centred(const LowBitArgs<8>& args, std::int64_t k, std::int64_t n) {
  float q = args.w[k * args.N + n];
  // TODO(2): roughly 1 line; subtract the group's zero point, or kMiddle if none is stored;
  // TODO(2): budget: one read of zero, or none
  return q;
}

// With kChannel all weights of a column share one scale, which is applied to the finished sum.
template <bool kChannel>
__global__ void __launch_bounds__(kTile* kTile) int8_tiles_kernel(const LowBitArgs<8> args) {
  __shared__ float a_smem[kTile][kTile], w_smem[kTile][kTile];
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kTile - 1) / kTile;
  const int row = threadIdx.x / kTile, column = threadIdx.x % kTile;  // in a tile
  const std::int64_t m = blockIdx.x / tiles_across * kTile + row;
  const std::int64_t n = blockIdx.x % tiles_across * kTile + column;

  float sum = 0.0f;
  for (std::int64_t first_k = 0; first_k < K; first_k += kTile) {
    const std::int64_t a_k = first_k + column, w_k = first_k + row;
    a_smem[row][column] = m < M && a_k < K ? args.a[m * K + a_k] : 0.0f;
    float weight = 0.0f;
    if (w_k < K && n < N) {
      // TODO(2): roughly 2 lines; compute weight by `centred`; if each group has its own scale,
      // TODO(2): multiply weight by it; budget: one read of scale, or none
    }
    w_smem[row][column] = weight;
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kTile; ++k)
      sum += a_smem[row][k] * w_smem[k][column];
    // The next tiles use the same buffers.
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }
  if (m >= M || n >= N) return;
  // TODO(2): roughly 1 line; if the column has one scale, multiply sum by it; budget: one read of
  // TODO(2): scale, or none
  args.c[m * N + n] = sum;
}

// ---- Launchers ----

void quantize_groups(const QuantizeArgs& args) {
  ladder::validate_lists(args);
  const std::int64_t groups = args.groups();
  ladder::require(args.N == 0 || groups <= INT32_MAX / args.N,
                  "K is too large; allowed: up to 2^31 - 1 groups in all columns");
  if (groups * args.N == 0) return;
  const std::int64_t blocks = (groups * args.N + kThreads - 1) / kThreads;
  quantize_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void int8_tiles(const LowBitArgs<8>& args) {
  ladder::validate_lists(args);
  const std::int64_t down = (args.M + kTile - 1) / kTile, across = (args.N + kTile - 1) / kTile;
  ladder::require(across == 0 || down <= INT32_MAX / across,
                  "M * N is too large; allowed: up to 2^31 - 1 tiles");
  if (down * across == 0) return;
  const auto blocks = static_cast<unsigned>(down * across);
  if (args.groups() <= 1) {
    int8_tiles_kernel<true><<<blocks, kTile * kTile>>>(args);
  } else {
    int8_tiles_kernel<false><<<blocks, kTile * kTile>>>(args);
  }
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration quantize_registration{
    {.name = "quantize_groups",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Quantize>(quantize_groups)}};

const ladder::Registration int8_tiles_registration{
    {.name = "int8_tiles",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<LowBit<8>>(int8_tiles)}};

}  // namespace
}  // namespace warmup
