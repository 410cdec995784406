// The mean time of a launch, and c = a + b in parts that are copied while others are added.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "00_warmup/vector_add.hpp"

namespace warmup {

constexpr int kPieces = 8;

// The mean time of a launch in milliseconds. `launch` enqueues one kernel or more in its stream.
// The first `warm_up` calls are not timed, the next `launches` calls, at least 1, are.
float mean_milliseconds(const std::function<void(cudaStream_t)>& launch, int warm_up, int launches);

// c = a + b, which is complete when the call returns. The arrays are in host or device memory. Only
// copies of device memory and of memory from cudaMallocHost overlap with kernels.
void add_in_pieces(const VectorAddArgs& args);

// Enqueues the kernel alone, c = a + b for arrays in device memory.
void launch_add_piece(const float* a, const float* b, float* c, std::int64_t N,
                      cudaStream_t stream);

}  // namespace warmup
