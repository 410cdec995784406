// Kernels with known counts, for the X-ray's tests and for comparisons with Nsight Compute.
#include "xray_kernels.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

#include "common/cuda/tensor_core.hpp"

namespace xray_kernels {
namespace {

using Kernel = void (*)(float* out, const float* in);

__device__ inline int global_thread() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

template <int kStride>
__global__ void strided(float* out, const float* in) {
  out[global_thread()] = in[global_thread() * kStride];
}

__global__ void broadcast(float* out, const float* in) {
  out[global_thread()] = in[blockIdx.x];
}

__global__ void shifted_by_one(float* out, const float* in) {
  out[global_thread()] = in[global_thread() + 1];
}

__global__ void four_at_once(float* out, const float* in) {
  const float4 four = reinterpret_cast<const float4*>(in)[global_thread()];
  out[global_thread()] = four.x + four.y + four.z + four.w;
}

template <int kStride>
__global__ void shared_strided(float* out, const float* in) {
  __shared__ float tile[kThreads * kStride];
  const int tid = static_cast<int>(threadIdx.x);
  tile[tid * kStride] = in[tid];
  __syncthreads();
  out[global_thread()] = tile[(tid ^ 1) * kStride];
}

__global__ void shared_broadcast(float* out, const float* in) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[global_thread()] = tile[blockIdx.x];
}

__global__ void shared_four_at_once(float* out, const float* in) {
  __shared__ float4 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
  __syncthreads();
  const float4 four = tile[threadIdx.x ^ 1];
  out[global_thread()] = four.x + four.y + four.z + four.w;
}

__global__ void shared_four_broadcast(float* out, const float* in) {
  __shared__ float4 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
  __syncthreads();
  const float4 four = tile[blockIdx.x];
  out[global_thread()] = four.x + four.y + four.z + four.w;
}

// The four quarters of a warp load the same 128 bytes.
__global__ void shared_four_by_eights(float* out, const float* in) {
  __shared__ float4 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
  __syncthreads();
  const float4 four = tile[threadIdx.x % 8];
  out[global_thread()] = four.x + four.y + four.z + four.w;
}

__global__ void shared_two_broadcast(float* out, const float* in) {
  __shared__ float2 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float2*>(in)[threadIdx.x];
  __syncthreads();
  const float2 two = tile[blockIdx.x];
  out[global_thread()] = two.x + two.y;
}

// Rows of four float4, so that eight neighbouring lanes load words of the same four banks.
__global__ void shared_four_strided(float* out, const float* in) {
  __shared__ float4 tile[kThreads * 8];
  tile[threadIdx.x * 8] = reinterpret_cast<const float4*>(in)[threadIdx.x];
  __syncthreads();
  const float4 four = tile[(threadIdx.x ^ 1) * 8];
  out[global_thread()] = four.x + four.y + four.z + four.w;
}

__global__ void shared_two_at_once(float* out, const float* in) {
  __shared__ float2 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float2*>(in)[threadIdx.x];
  __syncthreads();
  const float2 two = tile[threadIdx.x ^ 1];
  out[global_thread()] = two.x + two.y;
}

__global__ void atomics_on_one_address(float* out, const float* in) {
  atomicAdd(out, in[global_thread()]);
}

__global__ void atomics_in_pairs(float* out, const float* in) {
  atomicAdd(out + global_thread() / 2, in[global_thread()]);
}

__global__ void atomics_side_by_side(float* out, const float* in) {
  atomicAdd(out + global_thread(), in[global_thread()]);
}

// Even lanes load in even iterations, odd lanes in odd ones, in four requests of 16 lanes.
__global__ void divergent_rounds(float* out, const float* in) {
  float sum = 0.0f;
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x % 2 == static_cast<unsigned>(round) % 2)
      sum += in[round * 32 + threadIdx.x % 32];
  }
  out[global_thread()] = sum;
}

// Lane l loads l + 1 times, which makes 32 requests, each with one lane less.
__global__ void early_leavers(float* out, const float* in) {
  float sum = 0.0f;
#pragma unroll 1  // unrolled, it would be several loops that some lanes leave
  for (unsigned row = 0; row <= threadIdx.x % 32; ++row)
    sum += in[row * 32 + threadIdx.x % 32];
  out[global_thread()] = sum;
}

__attribute__((noinline)) __device__ float fetch(const float* in, int i) {
  return in[i];
}

// One instruction, three call sites: half of a warp at the first two, all lanes at the third.
__global__ void three_call_sites(float* out, const float* in) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  float sum = lane < 16 ? fetch(in, lane) : fetch(in, 32 + lane);
  sum += fetch(in, 64 + lane);
  out[global_thread()] = sum;
}

// Four matrices of kRows different rows, at distances of 16 kPitch bytes.
template <int kPitch, int kRows>
__global__ void matrix_load(float* out, const float* in) {
  __shared__ float4 tile[kThreads * kPitch];
  for (unsigned i = 0; i < kPitch; ++i)
    tile[i * kThreads + threadIdx.x] =
        reinterpret_cast<const float4*>(in)[i * kThreads + threadIdx.x];
  __syncthreads();
  std::uint32_t r[4];
  ladder::cuda::load_matrices(r, &tile[threadIdx.x % kRows * kPitch]);
  out[global_thread()] = __uint_as_float(r[0] ^ r[1] ^ r[2] ^ r[3]);
}

__global__ void matrix_load_transposed(float* out, const float* in) {
  __shared__ float4 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
  __syncthreads();
  std::uint32_t r[4];
  ladder::cuda::load_matrices_transposed(r, &tile[threadIdx.x]);
  out[global_thread()] = __uint_as_float(r[0] ^ r[1] ^ r[2] ^ r[3]);
}

__global__ void tensor_products(float* out, const float* in) {
  const std::uint32_t bits = __float_as_uint(in[global_thread()]);
  const std::uint32_t a[4] = {bits, bits, bits, bits}, b[2] = {bits, bits};
  float d[4] = {};
  ladder::cuda::mma_bf16(d, a, b);
  ladder::cuda::mma_bf16(d, a, b);
  ladder::cuda::mma_tf32(d, a, b);
  out[global_thread()] = d[0] + d[1] + d[2] + d[3];
}

constexpr struct {
  const char* name;
  Kernel kernel;
} kKernels[] = {
    {"strided<1>", strided<1>},
    {"strided<2>", strided<2>},
    {"strided<8>", strided<8>},
    {"strided<32>", strided<32>},
    {"broadcast", broadcast},
    {"shifted_by_one", shifted_by_one},
    {"four_at_once", four_at_once},
    {"shared_strided<1>", shared_strided<1>},
    {"shared_strided<2>", shared_strided<2>},
    {"shared_strided<32>", shared_strided<32>},
    {"shared_strided<33>", shared_strided<33>},
    {"shared_broadcast", shared_broadcast},
    {"shared_two_at_once", shared_two_at_once},
    {"shared_four_at_once", shared_four_at_once},
    {"shared_four_broadcast", shared_four_broadcast},
    {"shared_four_by_eights", shared_four_by_eights},
    {"shared_two_broadcast", shared_two_broadcast},
    {"shared_four_strided", shared_four_strided},
    {"atomics_on_one_address", atomics_on_one_address},
    {"atomics_in_pairs", atomics_in_pairs},
    {"atomics_side_by_side", atomics_side_by_side},
    {"divergent_rounds", divergent_rounds},
    {"early_leavers", early_leavers},
    {"three_call_sites", three_call_sites},
    {"matrix_load<1, 32>", matrix_load<1, 32>},
    {"matrix_load<2, 32>", matrix_load<2, 32>},
    {"matrix_load<8, 32>", matrix_load<8, 32>},
    {"matrix_load<9, 32>", matrix_load<9, 32>},
    {"matrix_load<8, 4>", matrix_load<8, 4>},
    {"matrix_load<1, 1>", matrix_load<1, 1>},
    {"matrix_load_transposed", matrix_load_transposed},
    {"tensor_products", tensor_products},
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& each : kKernels)
    result.push_back(each.name);
  return result;
}

void run(const std::string& name, float* out, const float* in) {
  for (const auto& each : kKernels) {
    if (each.name != name) continue;
    each.kernel<<<kBlocks, kThreads>>>(out, in);
    return;
  }
  throw std::invalid_argument("no kernel " + name);
}

}  // namespace xray_kernels
