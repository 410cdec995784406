// For clang's CUDA front end only, put in front of a .cu file by nvcc_rules.py: who calls whom, host or device, is a
// question to it that the emulator, where both are one, cannot ask. What the emulator's headers declare is for both sides here.
#pragma once

// Before all others, as they are: functions of the host, std::max among them, which nvcc keeps from kernels.
#include <stdio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
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

// The emulator's are variables of a host's thread.
#define threadIdx thread_index
#define blockIdx block_index
#define blockDim block_extents
#define gridDim grid_extents
extern __device__ const uint3 threadIdx, blockIdx;
extern __device__ const dim3 blockDim, gridDim;

template <typename... T>
__device__ int printf(const char*, const T&...);

// What clang makes of kernel<<<grid, block, bytes, stream>>>.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t bytes = 0,
                                                cudaStream_t stream = nullptr);
