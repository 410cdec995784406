// Only for clangd, which includes this first in every .cu file (.clangd). It replaces the keywords
// that the rewriter removes, and declares what clang's CUDA mode expects of NVIDIA's headers.
#pragma once

#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW  // clang's <new> would add operators for the device

#include "cuda_runtime.h"

// clang compiles kernel<<<grid, block, bytes, stream>>> to a call of this function.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t bytes = 0,
                                                cudaStream_t stream = nullptr);

#undef __shared__
#define __shared__
