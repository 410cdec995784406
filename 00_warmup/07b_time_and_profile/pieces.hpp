// A mean time of a launch, and c = a + b in pieces that are copied while others are added.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "00_warmup/vector_add.hpp"

namespace warmup {

constexpr int kPieces = 8;

// The mean time of a launch in milliseconds. `launch` puts one kernel, or more, into the stream that it gets. The first `warm_up`
// calls of it are not timed; then follow `launches` calls, at least 1, that are.
float mean_milliseconds(const std::function<void(cudaStream_t)>& launch, int warm_up, int launches);

// c = a + b; returns when c is complete. The arrays are the host's or the device's. Only copies from and to memory of cudaMallocHost, or
// the device's, go on while kernels run.
void add_in_pieces(const VectorAddArgs& args);

// The kernel alone, on arrays of the device: c = a + b, at the end of the stream.
void launch_add_piece(const float* a, const float* b, float* c, std::int64_t N,
                      cudaStream_t stream);

}  // namespace warmup
