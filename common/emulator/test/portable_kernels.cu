#include "portable_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/cuda/tensor_core.hpp"

namespace portable_kernels {
namespace {

using namespace ladder::cuda;

__global__ void square_plus_twice(float* out, const float* in, __half) {
  __shared__ __half2 tile[64];
  tile[threadIdx.x] = __float22half2_rn(reinterpret_cast<const float2*>(in)[threadIdx.x]);
  __syncthreads();
  const __half2 x = tile[63 - threadIdx.x];
  const __half2 y = __hfma2(x, x, __hmul2(__float2half2_rn(2.0f), x));
  reinterpret_cast<float2*>(out)[63 - threadIdx.x] = __half22float2(y);
}

__global__ void square_plus_twice(float* out, const float* in, __nv_bfloat16) {
  __shared__ __nv_bfloat162 tile[64];
  tile[threadIdx.x] = __float22bfloat162_rn(reinterpret_cast<const float2*>(in)[threadIdx.x]);
  __syncthreads();
  const __nv_bfloat162 x = tile[63 - threadIdx.x];
  const __nv_bfloat162 y = __hfma2(x, x, __hmul2(__float2bfloat162_rn(2.0f), x));
  reinterpret_cast<float2*>(out)[63 - threadIdx.x] = __bfloat1622float2(y);
}

struct Results {
  float* out;
  int count = 0;
  __device__ void expect(bool right) { out[count++] = right ? 1.0f : 0.0f; }
  __device__ void fill() {
    while (count < kResults)
      expect(true);
  }
};

// The functions that both types have under one name.
template <typename T, typename Pair>
__device__ void expect_arithmetic(Results& results) {
  const T a(1.5f), b(2.5f);
  const T two = static_cast<T>(2.0f);
  results.expect(static_cast<float>(a + b) == 4.0f);
  results.expect(static_cast<float>(a - b) == -1.0f);
  results.expect(static_cast<float>(a * b) == 3.75f);
  results.expect(static_cast<float>(b / two) == 1.25f);
  results.expect(static_cast<float>(-a) == -1.5f);
  results.expect(a < b && b > a && a <= b && b >= a && a != b && !(a == b));
  results.expect(static_cast<float>(__hfma(a, b, two)) == 5.75f);
  results.expect(static_cast<float>(__hadd(__hmul(a, two), __hsub(b, a))) == 4.0f);
  T sum = a;
  sum += b;
  sum -= two;
  sum *= b;
  sum /= two;
  results.expect(static_cast<float>(sum) == 2.5f);
  Pair pair(a, b);
  pair = __hadd2(pair, pair);
  results.expect(static_cast<float>(pair.x) == 3.0f && static_cast<float>(pair.y) == 5.0f);
  pair = __hfma2(pair, pair, __hmul2(pair, pair));
  results.expect(__low2float(pair) == 18.0f && __high2float(pair) == 50.0f);
  float plain = 1.0f;
  plain += static_cast<float>(a) * 2.0f;
  results.expect(plain == 4.0f);
  const T shuffled = __shfl_sync(0xffffffffu, a, 0);
  results.expect(shuffled == a);
}

__global__ void half_names(float* out) {
  Results results{out};
  expect_arithmetic<__half, __half2>(results);
  results.expect(__half2float(__float2half(1.5f)) == 1.5f);
  results.expect(__half2float(__float2half_rn(1.5f)) == 1.5f);
  results.expect(__half_as_ushort(__float2half(1.0f)) == 0x3c00);
  results.expect(__half2float(__ushort_as_half(0xc000)) == -2.0f);
  const __half2 pair = __floats2half2_rn(1.0f, 2.0f);
  const float2 both = __half22float2(__float22half2_rn(make_float2(3.0f, 4.0f)));
  results.expect(both.x == 3.0f && both.y == 4.0f);
  results.expect(__high2float(__float2half2_rn(3.0f)) == 3.0f);
  results.expect(__high2half(pair) == __low2half(__half2half2(__half(2.0f))));
  results.expect(__low2float(__halves2half2(pair.y, pair.x)) == 2.0f);
  results.expect(__low2float(make_half2(pair.y, pair.x)) == 2.0f);
  const half other = 1;
  results.expect(static_cast<int>(other) == 1);
  results.fill();
}

__global__ void bfloat16_names(float* out) {
  Results results{out};
  expect_arithmetic<__nv_bfloat16, __nv_bfloat162>(results);
  results.expect(__bfloat162float(__float2bfloat16(1.5f)) == 1.5f);
  results.expect(__bfloat162float(__float2bfloat16_rn(1.5f)) == 1.5f);
  results.expect(__bfloat16_as_ushort(__float2bfloat16(1.0f)) == 0x3f80);
  results.expect(__bfloat162float(__ushort_as_bfloat16(0xc000)) == -2.0f);
  const __nv_bfloat162 pair = __floats2bfloat162_rn(1.0f, 2.0f);
  const float2 both = __bfloat1622float2(__float22bfloat162_rn(make_float2(3.0f, 4.0f)));
  results.expect(both.x == 3.0f && both.y == 4.0f);
  results.expect(__high2float(__float2bfloat162_rn(3.0f)) == 3.0f);
  results.expect(__high2bfloat16(pair) ==
                 __low2bfloat16(__bfloat162bfloat162(__nv_bfloat16(2.0f))));
  results.expect(__low2float(__halves2bfloat162(pair.y, pair.x)) == 2.0f);
  results.expect(__low2float(make_bfloat162(pair.y, pair.x)) == 2.0f);
  const nv_bfloat16 other = 1;
  results.expect(static_cast<int>(other) == 1);
  results.fill();
}

__device__ void fetch(float* stage, const float* in, int tile) {
  const int four = 4 * static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(stage + four, in + tile * kTile + four, sizeof(float4));
  __pipeline_commit();
}

__global__ void sum_tiles_in_two_stages(float* out, const float* in, int tiles) {
  __shared__ __align__(16) float stages[2][kTile];
  float sum[4] = {};
  fetch(stages[0], in, 0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      fetch(stages[(tile + 1) % 2], in, tile + 1);
    } else {
      __pipeline_commit();  // an empty group keeps the count
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int i = 0; i < 4; ++i)
      sum[i] += stages[tile % 2][i * 32 + static_cast<int>(threadIdx.x)];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    out[i * 32 + static_cast<int>(threadIdx.x)] = sum[i];
}

// A warp's 16 x 8 accumulators, loaded from and stored to a row-major matrix.
__device__ void load_sum(float (&sum)[4], const float* d) {
  const int row = static_cast<int>(threadIdx.x) / 4, column = static_cast<int>(threadIdx.x) % 4 * 2;
  for (int i = 0; i < 4; ++i)
    sum[i] = d[(row + i / 2 * 8) * kColumns + column + i % 2];
}
__device__ void store_sum(float* d, const float (&sum)[4], int width) {
  const int row = static_cast<int>(threadIdx.x) / 4, column = static_cast<int>(threadIdx.x) % 4 * 2;
  for (int i = 0; i < 4; ++i)
    d[(row + i / 2 * 8) * width + column + i % 2] = sum[i];
}

template <typename Element>
__global__ void product_of_16_bits(float* d, const float* a, const float* b) {
  const int row = static_cast<int>(threadIdx.x) / 4, k = static_cast<int>(threadIdx.x) % 4 * 2;
  std::uint32_t of_a[4], of_b[2];
  for (int i = 0; i < 4; ++i) {
    const float* const at = a + (row + i % 2 * 8) * kDepth16 + k + i / 2 * 8;
    of_a[i] = pack<Element>(at[0], at[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const float* const at = b + (k + i * 8) * kColumns + row;
    of_b[i] = pack<Element>(at[0], at[kColumns]);
  }
  float sum[4];
  load_sum(sum, d);
  mma<Element>(sum, of_a, of_b);
  store_sum(d, sum, kColumns);
}

__global__ void product_tf32(float* d, const float* a, const float* b) {
  const int row = static_cast<int>(threadIdx.x) / 4, k = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t of_a[4], of_b[2];
  for (int i = 0; i < 4; ++i)
    of_a[i] = to_tf32(a[(row + i % 2 * 8) * kDepthTf32 + k + i / 2 * 4]);
  for (int i = 0; i < 2; ++i)
    of_b[i] = to_tf32(b[(k + i * 4) * kColumns + row]);
  float sum[4];
  load_sum(sum, d);
  mma_tf32(sum, of_a, of_b);
  store_sum(d, sum, kColumns);
}

template <bool kTransposed>
__global__ void loads_matrices(std::uint32_t* out, const std::uint16_t* in) {
  __shared__ __align__(16) std::uint16_t rows[32][8];
  for (int i = 0; i < 8; ++i)
    rows[threadIdx.x][i] = in[threadIdx.x * 8 + i];
  __syncwarp();
  std::uint32_t r[4];
  if (kTransposed) {
    load_matrices_transposed(r, rows[threadIdx.x]);
  } else {
    load_matrices(r, rows[threadIdx.x]);
  }
  for (int i = 0; i < 4; ++i)
    out[threadIdx.x * 4 + i] = r[i];
}

__global__ void product_of_loaded(float* d, const float* a, const float* b) {
  constexpr int kSize = 16;
  constexpr int kPitch = kSize + 8;  // eight rows use different banks
  __shared__ __align__(16) __nv_bfloat16 of_a[kSize][kPitch];
  __shared__ __align__(16) __nv_bfloat16 of_b[kSize][kPitch];
  for (int i = static_cast<int>(threadIdx.x); i < kSize * kSize; i += 32) {
    of_a[i / kSize][i % kSize] = __float2bfloat16(a[i]);
    of_b[i / kSize][i % kSize] = __float2bfloat16(b[i]);
  }
  __syncwarp();
  const int row = static_cast<int>(threadIdx.x) % 16,
            column = static_cast<int>(threadIdx.x) / 16 * 8;
  std::uint32_t left[4], right[4];
  load_matrices(left, &of_a[row][column]);
  load_matrices_transposed(right, &of_b[row][column]);
  for (int half = 0; half < 2; ++half) {
    float sum[4] = {};
    const std::uint32_t columns[2] = {right[2 * half], right[2 * half + 1]};
    mma_bf16(sum, left, columns);
    store_sum(d + half * 8, sum, kSize);
  }
}

__global__ void rounds_tf32(std::uint32_t* out, const float* in) {
  out[threadIdx.x] = to_tf32(in[threadIdx.x]);
}
template <typename Element>
__global__ void packs_with_negative(std::uint32_t* out, const float* in) {
  out[threadIdx.x] = pack<Element>(in[threadIdx.x], -in[threadIdx.x]);
}

__global__ void __launch_bounds__(kBoundThreads) counts_threads(int* count) {
  atomicAdd(count, 1);
}

}  // namespace

void square_plus_twice_half(float* out, const float* in) {
  square_plus_twice<<<1, 64>>>(out, in, __half());
}
void square_plus_twice_bfloat16(float* out, const float* in) {
  square_plus_twice<<<1, 64>>>(out, in, __nv_bfloat16());
}
void every_name_half(float* out) {
  half_names<<<1, 32>>>(out);
}
void every_name_bfloat16(float* out) {
  bfloat16_names<<<1, 32>>>(out);
}
void sum_tiles(float* out, const float* in, int tiles) {
  sum_tiles_in_two_stages<<<1, kTile / 4>>>(out, in, tiles);
}

void multiply_bf16(float* d, const float* a, const float* b) {
  product_of_16_bits<ladder::bfloat16><<<1, 32>>>(d, a, b);
}
void multiply_fp16(float* d, const float* a, const float* b) {
  product_of_16_bits<ladder::float16><<<1, 32>>>(d, a, b);
}
void multiply_tf32(float* d, const float* a, const float* b) {
  product_tf32<<<1, 32>>>(d, a, b);
}
void load(std::uint32_t* out, const std::uint16_t* in) {
  loads_matrices<false><<<1, 32>>>(out, in);
}
void load_transposed(std::uint32_t* out, const std::uint16_t* in) {
  loads_matrices<true><<<1, 32>>>(out, in);
}
void multiply_loaded(float* d, const float* a, const float* b) {
  product_of_loaded<<<1, 32>>>(d, a, b);
}
void round_tf32(std::uint32_t* out, const float* in) {
  rounds_tf32<<<1, kRounded>>>(out, in);
}
void pack_with_negative_bf16(std::uint32_t* out, const float* in) {
  packs_with_negative<ladder::bfloat16><<<1, kRounded>>>(out, in);
}
void pack_with_negative_fp16(std::uint32_t* out, const float* in) {
  packs_with_negative<ladder::float16><<<1, kRounded>>>(out, in);
}
void count_threads(int* count, int threads) {
  counts_threads<<<1, static_cast<unsigned>(threads)>>>(count);
}

}  // namespace portable_kernels
