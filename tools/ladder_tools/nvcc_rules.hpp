// Included by nvcc_rules.py before a .cu file, for clang's CUDA front end only, which checks calls
// between host and device functions. The emulator cannot check them, because both are the same
// there. Functions of the emulator's headers are for both sides here.
#pragma once

#include <cstddef>
// nvcc accepts std::abs and a loop over {1, 2} in kernels, too.
#pragma clang force_cuda_host_device begin
#include <bits/std_abs.h>

#include <initializer_list>
#pragma clang force_cuda_host_device end

// Included first and unchanged: host functions such as std::max, which nvcc rejects in kernels.
#include <stdio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>
#define __CLANG_CUDA_WRAPPERS_NEW  // clang's <new> would add operators for the device

#pragma clang force_cuda_host_device begin
#include <cmath>
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stdlib.h>
#include <string.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS

#include "common/cuda/hopper.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/vector_atomics.hpp"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_pipeline.h"
#include "cuda_runtime.h"
#pragma clang force_cuda_host_device end

#undef __constant__
#undef __device__
#undef __global__
#undef __host__
#undef __launch_bounds__
#undef __shared__
#define __constant__ __attribute__((constant))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __shared__ __attribute__((shared))

// The emulator's versions are variables of a host thread.
#define threadIdx thread_index
#define blockIdx block_index
#define blockDim block_extents
#define gridDim grid_extents
extern __device__ const uint3 threadIdx, blockIdx;
extern __device__ const dim3 blockDim, gridDim;

// CUDA has min and max for these pairs, the emulator for all. nvcc rejects arguments that fit no
// pair, or several equally well.
namespace nvcc_rules {
#define NVCC_RULES_PAIR(A, B) __device__ int fits(A, B);
#define NVCC_RULES_PAIRS(A, B) \
  NVCC_RULES_PAIR(A, A) NVCC_RULES_PAIR(A, B) NVCC_RULES_PAIR(B, A) NVCC_RULES_PAIR(B, B)
NVCC_RULES_PAIRS(int, unsigned)
NVCC_RULES_PAIRS(long, unsigned long)
NVCC_RULES_PAIRS(long long, unsigned long long)
NVCC_RULES_PAIRS(float, double)
#undef NVCC_RULES_PAIRS
#undef NVCC_RULES_PAIR

template <typename A, typename B>
concept FitsNone = emulator::detail::Numbers<A, B> && !requires(A a, B b) {
  fits(a, b);
};
}  // namespace nvcc_rules
template <typename A, typename B>
requires nvcc_rules::FitsNone<A, B> __host__ __device__ constexpr auto min(A, B) = delete;
template <typename A, typename B>
requires nvcc_rules::FitsNone<A, B> __host__ __device__ constexpr auto max(A, B) = delete;

template <typename... T>
__device__ int printf(const char*, const T&...);

// clang compiles kernel<<<grid, block, bytes, stream>>> to this call.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t bytes = 0,
                                                cudaStream_t stream = nullptr);
