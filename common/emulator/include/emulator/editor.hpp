// For clangd only, which .clangd lets read every .cu file with this header in front: what the rewriter would have taken out of the
// file, and what clang's own CUDA mode expects of NVIDIA's headers.
#pragma once

#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW  // clang's <new> would add operators for the device

#include "cuda_runtime.h"

// What clang makes of kernel<<<grid, block, bytes, stream>>>.
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t bytes = 0,
                                                cudaStream_t stream = nullptr);

#undef __shared__
#define __shared__
