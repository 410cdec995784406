// 00.11 rows: softmax and RMSNorm, a warp per row, and a row that stays in registers.
// Change: rewrite. Lanes exchange sums and maxima by shuffles. Then registers keep the row.
// Why:    the first output needs the row's sum, so a row is read again, from memory or registers.
// Needs:  any M, N, fp32. In registers N a multiple of 4 up to 8192, arrays aligned to 16 bytes.
// Costs:  three or two reads per element, then one, and one write. See README for measurements.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "00_warmup/11_rows/rows.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256, kWarpSize = 32, kWarps = kThreads / kWarpSize;
constexpr int kVec = 4;    // floats in 16 bytes
constexpr int kHeld = 32;  // floats of a row that a thread keeps, eight 16-byte loads in flight

// ---- Every lane gets the sum, or the maximum, over the lanes of its warp ----

__device__ float warp_sum(float x) {
  // TODO(1): roughly 2 lines; make x the sum over the 32 lanes, in every lane; budget: five
  // TODO(1): shuffles, no shared memory.
  return x;
}

__device__ float warp_max(float x) {
  // TODO(2): roughly 2 lines; make x the maximum of the 32 lanes' numbers, in every lane; budget:
  // TODO(2): five shuffles.
  return x;
}

// ---- Step 1: a warp per row, which is read again for each use ----

__global__ void __launch_bounds__(kThreads) softmax_warp_kernel(SoftmaxArgs args) {
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (m >= args.M) return;  // a whole warp
  const float* x = args.x + m * args.N;
  float* y = args.y + m * args.N;

  float most = x[0];
  // TODO(2): roughly 3 lines; make `most` the largest element of the row, in every lane; budget:
  // TODO(2): one global read per element.

  float sum = 0.0f;
  for (std::int64_t n = lane; n < args.N; n += kWarpSize)
    sum += expf(x[n] - most);
  sum = warp_sum(sum);

  for (std::int64_t n = lane; n < args.N; n += kWarpSize)
    y[n] = expf(x[n] - most) / sum;
}

__global__ void __launch_bounds__(kThreads) rms_norm_warp_kernel(RmsNormArgs args) {
  // TODO(3): roughly 12 lines, the whole kernel; each warp reads a row m by lanes, and stores x
  // TODO(3): times the weight, divided by the root of (the mean of the row's squares plus eps), to
  // TODO(3): y; budget: per element of y two global reads of x, one of the weight, one global
  // TODO(3): write.
}

// ---- Step 2: a row in registers of a warp (up to 1024 elements) or of a block (up to 8192) ----

// Sum and maximum over a row's 32 or 256 threads. A block's warps use shared memory.
template <int kRowThreads>
__device__ float row_sum(float x, float* of_warp_smem) {
  x = warp_sum(x);
  if (kRowThreads == kWarpSize) return x;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  if (lane == 0) of_warp_smem[warp] = x;
  __syncthreads();
  return warp_sum(lane < kWarps ? of_warp_smem[lane] : 0.0f);
}

template <int kRowThreads>
__device__ float row_max(float x, float* of_warp_smem) {
  x = warp_max(x);
  if (kRowThreads == kWarpSize) return x;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  if (lane == 0) of_warp_smem[warp] = x;
  __syncthreads();
  return warp_max(of_warp_smem[lane % kWarps]);
}

// The column of thread threadIdx.x's i-th vector. Adjacent threads have adjacent vectors.
template <int kRowThreads>
__device__ int column_of(int i) {
  return (i * kRowThreads + static_cast<int>(threadIdx.x)) * kVec;
}

__device__ void copy_vector(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

// Elements past the row's end are `fill`.
template <int kRowThreads>
__device__ void load_row(float (&held)[kHeld], const float* row, int N, float fill) {
  // TODO(4): roughly 6 lines; load each of the thread's eight vectors from the row, or, if it is
  // TODO(4): past the row's end, set its four floats to `fill`; budget: a quarter of a global read
  // TODO(4): per element, 16 bytes a load.
}

template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) softmax_rows_kernel(SoftmaxArgs args) {
  __shared__ float of_warp_smem[2][kWarps];
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (m >= args.M) return;  // a whole warp, and only if a block has several rows
  const int N = static_cast<int>(args.N);
  alignas(sizeof(float4)) float x[kHeld];
  load_row<kRowThreads>(x, args.x + m * N, N, -INFINITY);

  // TODO(5): roughly 15 lines; compute maximum, exps, their sum and the quotients, all from x; then
  // TODO(5): store the vectors within the row; budget: no further global read, a quarter of a
  // TODO(5): global write per element; two barriers where a block has the row, no other.
}

template <int kRowThreads>
__global__ void __launch_bounds__(kThreads) rms_norm_rows_kernel(RmsNormArgs args) {
  __shared__ float of_warp_smem[kWarps];
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (m >= args.M) return;
  const int N = static_cast<int>(args.N);
  alignas(sizeof(float4)) float x[kHeld], weight[kVec];
  load_row<kRowThreads>(x, args.x + m * N, N, 0.0f);

  float squares = 0.0f;
  for (int i = 0; i < kHeld; ++i)
    squares += x[i] * x[i];
  const float mean = row_sum<kRowThreads>(squares, of_warp_smem) / static_cast<float>(N);
  const float factor = 1.0f / sqrtf(mean + args.eps);

  for (int i = 0; i < kHeld / kVec; ++i) {
    const int n = column_of<kRowThreads>(i);
    if (n >= N) continue;
    copy_vector(weight, args.weight + n);
    for (int j = 0; j < kVec; ++j)
      x[i * kVec + j] *= factor * weight[j];
    copy_vector(args.y + m * N + n, x + i * kVec);
  }
}

// ---- Launchers ----

unsigned blocks_of_rows(std::int64_t M, std::int64_t rows) {
  const std::int64_t blocks = (M + rows - 1) / rows;
  ladder::require(blocks <= INT32_MAX, "M is too large; allowed: up to 2^31 - 1");
  return static_cast<unsigned>(blocks);
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(float4) == 0;
}

void softmax_warp(const SoftmaxArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  softmax_warp_kernel<<<blocks_of_rows(args.M, kWarps), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void softmax_rows(const SoftmaxArgs& args) {
  if (args.N % kVec != 0 || args.N > kThreads * kHeld || !is_aligned(args.x) || !is_aligned(args.y))
    return softmax_warp(args);
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  if (args.N <= kWarpSize * kHeld) {
    softmax_rows_kernel<kWarpSize>
        <<<blocks_of_rows(args.M, kWarps), dim3(kWarpSize, kWarps)>>>(args);
  } else {
    softmax_rows_kernel<kThreads><<<blocks_of_rows(args.M, 1), kThreads>>>(args);
  }
  CUDA_CHECK(cudaGetLastError());
}

void rms_norm_warp(const RmsNormArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  rms_norm_warp_kernel<<<blocks_of_rows(args.M, kWarps), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void rms_norm_rows(const RmsNormArgs& args) {
  if (args.N % kVec != 0 || args.N > kThreads * kHeld || !is_aligned(args.x) ||
      !is_aligned(args.weight) || !is_aligned(args.y))
    return rms_norm_warp(args);
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  if (args.N <= kWarpSize * kHeld) {
    rms_norm_rows_kernel<kWarpSize>
        <<<blocks_of_rows(args.M, kWarps), dim3(kWarpSize, kWarps)>>>(args);
  } else {
    rms_norm_rows_kernel<kThreads><<<blocks_of_rows(args.M, 1), kThreads>>>(args);
  }
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration softmax_warp_registration{
    {.name = "softmax_warp",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Softmax>(softmax_warp)}};

const ladder::Registration softmax_rows_registration{
    {.name = "softmax_rows",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Softmax>(softmax_rows)}};

const ladder::Registration rms_norm_warp_registration{
    {.name = "rms_norm_warp",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<RmsNorm>(rms_norm_warp)}};

const ladder::Registration rms_norm_rows_registration{
    {.name = "rms_norm_rows",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<RmsNorm>(rms_norm_rows)}};

}  // namespace
}  // namespace warmup
