// A chunk of tokens in shared memory, for 02_chunk_walk and 03_chunk_states.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/linear_attention.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {

using ladder::cuda::kWarpSize;

constexpr int kChunk = 16;
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpSize;

// A lane has a value column. With a normaliser the last lane has a column of ones instead, whose o
// is the denominator.
inline __host__ __device__ int columns_of(const ladder::LinearAttentionArgs& args) {
  return args.normalize ? kWarpSize - 1 : kWarpSize;
}

// Floats between rows of q_smem and k_smem. The number is odd, so that the elements of a column are
// in different banks.
inline __host__ __device__ int row_stride(const ladder::LinearAttentionArgs& args) {
  return static_cast<int>(args.K) | 1;
}

// `rows` tokens of q or k, mapped, and zeros up to kChunk.
inline __device__ void stage_features(float* x_smem, const float* x,
                                      const ladder::LinearAttentionArgs& args, int rows) {
  const int K = static_cast<int>(args.K);
  for (int i = threadIdx.x; i < kChunk * K; i += kThreads) {
    const int row = i / K, ik = i % K;
    float value = row < rows ? x[row * args.H * K + ik] : 0.0f;
    if (row < rows && args.feature_map != ladder::FeatureMap::kIdentity)
      value = elu_plus_one(value);
    x_smem[row * row_stride(args) + ik] = value;
  }
}

// The block's columns of `rows` tokens of v.
inline __device__ void stage_values(float* v_smem, const float* v,
                                    const ladder::LinearAttentionArgs& args, std::int64_t iv,
                                    int rows) {
  const int lane = threadIdx.x % kWarpSize;
  const bool is_ones = lane >= columns_of(args);
  for (int row = threadIdx.x / kWarpSize; row < kChunk; row += kWarps) {
    const bool there = row < rows && iv < args.V && !is_ones;
    v_smem[row * kWarpSize + lane] = is_ones ? 1.0f : there ? v[row * args.H * args.V + iv] : 0.0f;
  }
}

}  // namespace chunkwise
