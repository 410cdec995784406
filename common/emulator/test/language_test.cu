// CUDA's syntax after the rewriter, compiled and run.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "after_reset.hpp"
#include "device_vector.hpp"

static_assert(alignof(float4) == 16 && sizeof(float4) == 16 && alignof(float2) == 8 &&
              sizeof(float3) == 12);

namespace {

class Language : public AfterReset {};

namespace inner {
template <int n, typename T, bool flag>
__global__ void __launch_bounds__(128) fill(T* __restrict__ out, T value) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    out[i] = flag ? value : T(-1);
}
}  // namespace inner

template <typename T>
__global__ void deduced(T* out, T value) {
  *out = value;
}
__global__ void overloaded(int* out) {
  *out = 1;
}
__global__ void overloaded(float* out) {
  *out = 2.0f;
}

struct Pair {
  int a;
  int b;
};
__global__ void takes_struct(int* out, Pair pair, const int* none) {
  *out = none == nullptr ? pair.a * 10 + pair.b : 0;
}

template <typename Traits>
int launch_in_a_template() {
  DeviceVector<typename Traits::Element> out(Traits::kSize);
  inner::fill<Traits::kSize, typename Traits::Element, true><<<1, 1>>>(out.data(), 7);
  return static_cast<int>(out.host()[Traits::kSize - 1]);
}
struct Traits {
  using Element = double;
  static constexpr int kSize = 3;
};

TEST_F(Language, LaunchesOfEveryShape) {
  constexpr int kCount = 4;
  const int a = 2;
  DeviceVector<float> out(kCount);
  inner::fill<kCount, float, (a > 1)><<<dim3(1),  // a comment, <<< and all
                                        1, 0, nullptr>>>(out.data(), 3);
  EXPECT_EQ(out.host(), std::vector<float>(kCount, 3));
  auto pointer = inner::fill<kCount, float, false>;
  pointer<<<1, 1>>>(out.data(), 3);
  EXPECT_EQ(out.host(), std::vector<float>(kCount, -1));

  DeviceVector<int> number(1);
  deduced<<<1, 1>>>(number.data(), 5);
  EXPECT_EQ(number.host()[0], 5);
  overloaded<<<1, 1>>>(number.data());
  EXPECT_EQ(number.host()[0], 1);
  overloaded<<<1, 1>>>(out.data());
  EXPECT_EQ(out.host()[0], 2);
  int evaluated = 0;
  takes_struct<<<1, 32>>>(number.data(), {++evaluated, 2}, 0);
  EXPECT_EQ(number.host()[0], 12);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(launch_in_a_template<Traits>(), 7);
  EXPECT_EQ(emulator::last_launch().block.x, 1u);
}

__global__ void several_declarators(int* out) {
  constexpr int kRows = 4;
  __shared__ int grid[kRows][8], single, *pointer;
  __shared__ __align__(16) float aligned[2];
  if (threadIdx.x == 0) {
    single = 5;
    pointer = &grid[3][7];
    *pointer = 6;
  }
  __syncthreads();
  static_assert(std::is_same_v<decltype(grid), int(&)[4][8]>);
  out[threadIdx.x] = grid[3][7] * 10 + single;
  if (reinterpret_cast<std::uintptr_t>(aligned) % 16 != 0) out[0] = -1;
}

TEST_F(Language, SeveralDeclarators) {
  DeviceVector<int> out(8);
  several_declarators<<<1, 8>>>(out.data());
  EXPECT_EQ(out.host(), std::vector<int>(8, 65));
  EXPECT_EQ(emulator::last_launch().static_shared_bytes, 144u + 16);  // two structs, padded
}

template <int scale>
__device__ int exchange(int value) {
  __shared__ int slots[32];
  slots[threadIdx.x] = value * scale;
  __syncthreads();
  return slots[31 - threadIdx.x];
}
__global__ void two_instances(int* out) {
  const int tid = static_cast<int>(threadIdx.x);
  out[tid] = exchange<1>(tid) * 1000 + exchange<10>(tid);
}

TEST_F(Language, EachTemplateInstanceHasItsOwnSharedMemory) {
  DeviceVector<int> out(32);
  two_instances<<<1, 32>>>(out.data());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out.host()[i], (31 - i) * 1010);
  EXPECT_EQ(emulator::last_launch().static_shared_bytes, 256u);
}

__global__ void first_kernel(float* out) {
  __shared__ float tile[4];
  tile[0] = 1;
  *out = tile[0];
}
__global__ void second_kernel(float* out) {
  __shared__ float tile[4];
  *out = tile[0];
}

TEST_F(Language, FreshSharedMemoryIsNanInEveryBlockAndKernel) {
  emulator::set_workers(1);
  DeviceVector<float> out(1);
  first_kernel<<<3, 1>>>(out.data());
  second_kernel<<<3, 1>>>(out.data());
  EXPECT_TRUE(std::isnan(out.host()[0]));
}

__global__ void dynamic_kernel(float* out, int n) {
  extern __shared__ __align__(16) float4 tile[];
  static_assert(std::is_same_v<decltype(tile), float4* const>);
  const int tid = static_cast<int>(threadIdx.x);
  if (tid == 0) out[n] = tile[0].x;
  __syncthreads();
  tile[tid] = make_float4(1.0f * tid, 0, 0, 0);
  __syncthreads();
  out[tid] = tile[n - 1 - tid].x;
}

TEST_F(Language, DynamicSharedMemory) {
  DeviceVector<float> out(65);
  dynamic_kernel<<<1, 64, 64 * sizeof(float4)>>>(out.data(), 64);
  const std::vector<float> result = out.host();
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(result[i], 63 - i);
  EXPECT_TRUE(std::isnan(result[64]));
}

__constant__ float coefficients[4];
__global__ void read_constant(float* out) {
  out[threadIdx.x] = coefficients[threadIdx.x];
}

TEST_F(Language, ConstantMemory) {
  const float values[4] = {1, 2, 3, 4};
  EXPECT_EQ(cudaMemcpyToSymbol(coefficients, values, sizeof values), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(coefficients, values, sizeof values, 1), cudaErrorInvalidValue);
  DeviceVector<float> out(4);
  cudaGetLastError();
  read_constant<<<1, 4>>>(out.data());
  EXPECT_EQ(out.host(), std::vector<float>(values, values + 4));
}

__global__ void arithmetic(float* f, int* i) {
  f[0] = __expf(1.0f);
  f[1] = rsqrtf(4.0f);
  f[2] = __fdividef(1.0f, 4.0f);
  f[3] = __fmaf_rn(2, 3, 4);
  f[4] = max(NAN, 2.0f);
  f[5] = exp2f(3);
  f[6] = __int_as_float(__float_as_int(1.5f));
  i[0] = __popc(0xff);
  i[1] = __clz(1);
  i[2] = __ffs(8);
  i[3] = static_cast<int>(__brev(1) >> 31);
  i[4] = min(3, 2);
  i[5] = max(-1, 1u) == 0xffffffffu;
  i[6] = __ldg(&i[0]);
  i[7] = __ldcs(&i[1]);
}

TEST_F(Language, Intrinsics) {
  DeviceVector<float> f(7);
  DeviceVector<int> i(8);
  arithmetic<<<1, 1>>>(f.data(), i.data());
  EXPECT_EQ(f.host(), (std::vector<float>{expf(1), 0.5f, 0.25f, 10, 2, 8, 1.5f}));
  EXPECT_EQ(i.host(), (std::vector<int>{8, 31, 4, 1, 2, 1, 8, 31}));
}

TEST_F(Language, TextAndShiftsAreLeftAlone) {
  const std::string text = "kernel<<<1, 1>>>(x); __shared__ int a;";
  const std::string raw = R"x(extern __shared__ float s[]; k<<<1>>>(")x)x";
  EXPECT_EQ(text.size(), 38u);
  EXPECT_EQ(raw.size(), 41u);
  std::vector<std::vector<std::vector<int>>> nested(1 << 2 >> 1);
  EXPECT_EQ(nested.size(), 2u);
}

TEST_F(Language, LineAndFileAreTheSources) {
  EXPECT_EQ(__LINE__, 217);
  EXPECT_NE(std::string(__FILE__).find("/test/language_test.cu"), std::string::npos);
}

}  // namespace
