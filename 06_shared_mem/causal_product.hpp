// Shared by this chapter's causal products. Contains the order of time steps and checks of
// arguments.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/clamped.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace shared_mem {

// Value columns per block of prefix_causal_product.
constexpr int kPrefixColumns = 8;

// The most key rows that fit in a block's registers.
constexpr int kMaxRows = 256;

// The steps of sequence `b`. Step t adds key t to the state, if there is one, then reads the state
// with query t - first_query, if there is one. In the causal form both start at 0. In the full form
// the queries come after all keys.
struct Steps {
  std::int64_t keys;
  std::int64_t first_query;
  std::int64_t end;
};

inline __device__ Steps steps_of(const ladder::LinearAttentionArgs& args, std::int64_t b) {
  std::int64_t keys = args.T_k;
  // Lengths are in device memory, where the launcher cannot check them. Clamp them to stay in batch
  // b.
  if (args.key_lengths != nullptr) keys = ladder::cuda::clamped(args.key_lengths[b], 0, keys);
  if (!args.causal) return {keys, keys, keys + args.T_q};
  return {keys < args.T_q ? keys : args.T_q, 0, args.T_q};
}

// The steps of a tile that exist, `size` steps from `first` on, counted from the tile's first step,
// so that loops over a tile compute with 32 bits.
struct Range {
  int first;
  unsigned size;
  __device__ bool has(int step) const { return static_cast<unsigned>(step - first) < size; }
};

template <int kSteps>
__device__ Range range_of(std::int64_t from, std::int64_t count) {
  const int first = from >= 0 ? 0 : from > -kSteps ? static_cast<int>(-from) : kSteps;
  const std::int64_t rest = count - from;
  const int last = rest >= kSteps ? kSteps : rest > first ? static_cast<int>(rest) : first;
  return {first, static_cast<unsigned>(last - first)};
}

// The feature map elu + 1. The exponential is outside the condition because, in a branch, each
// element would wait for its own.
inline __device__ float elu_plus_one(float x) {
  const float exponential = expf(x);
  return x > 0.0f ? x + 1.0f : exponential;
}

// Loads kCount floats, in 16-byte vectors where kCount allows.
template <int kCount>
__device__ void load(float* to, const float* from) {
  if constexpr (kCount == 1) {
    *to = *from;
  } else if constexpr (kCount == 2) {
    const float2 x = *reinterpret_cast<const float2*>(from);
    to[0] = x.x, to[1] = x.y;
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float4 x = *reinterpret_cast<const float4*>(from + i);
      to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
    }
  }
}

template <int kCount>
__device__ void store(float* to, const float* from) {
  if constexpr (kCount == 1) {
    *to = *from;
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(from[0], from[1]);
  } else {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  }
}

// Checks beyond ladder::validate. Rows must consist of whole 16-byte vectors.
inline void require_shape(const ladder::LinearAttentionArgs& args) {
  ladder::validate(args);
  ladder::require(args.K % 4 == 0 && args.K <= kMaxRows,
                  "K is " + std::to_string(args.K) + "; this kernel allows multiples of 4 up to " +
                      std::to_string(kMaxRows));
  ladder::require(args.V % 4 == 0,
                  "V is " + std::to_string(args.V) + "; this kernel allows multiples of 4");
  ladder::require(args.B <= 65535 && args.H <= 65535,
                  "B or H is too large; this kernel allows up to 65535");
  ladder::require(args.H * args.K <= INT32_MAX && args.H * args.V <= INT32_MAX,
                  "H * K or H * V is too large; this kernel allows up to 2^31 - 1");
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("q", args.q, sizeof(float4));
  ladder::require_pointer("o", args.o, sizeof(float4));
  if (args.T_k == 0) return;
  ladder::require_pointer("k", args.k, sizeof(float4));
  ladder::require_pointer("v", args.v, sizeof(float4));
}

}  // namespace shared_mem
