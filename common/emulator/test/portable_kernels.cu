#include "portable_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace portable_kernels {
namespace {

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

// What both types have under one name.
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

}  // namespace portable_kernels
