// Copies of four adjacent floats, for products that load and store rows this way. With kWide it is
// one 16-byte access at an aligned address, and otherwise element by element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"

namespace warmup {

// Both pointers are multiples of 16 bytes.
__device__ inline void copy_four(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

// Four floats if `inside`, else 0. With kWide all four exist, otherwise only the first `count`.
template <bool kWide>
__device__ void fetch_four(float* to, const float* from, bool inside, int count) {
  if (kWide) {
    float4 four = make_float4(0, 0, 0, 0);
    if (inside) four = *reinterpret_cast<const float4*>(from);
    *reinterpret_cast<float4*>(to) = four;
  } else {
    for (int i = 0; i < 4; ++i)
      to[i] = inside && i < count ? from[i] : 0.0f;
  }
}

// Stores C's elements (m, n) to (m, n + 3), those that exist.
template <bool kWide>
__device__ void store_four(const MatmulArgs& args, std::int64_t m, std::int64_t n,
                           const float* sums) {
  if (m >= args.M || n >= args.N) return;
  float* to = args.c + m * args.N + n;
  alignas(16) float four[4];
  for (int i = 0; i < 4; ++i)
    if (kWide || n + i < args.N) four[i] = finished(args, sums[i], n + i);
  if (kWide) {
    copy_four(to, four);
  } else {
    for (int i = 0; i < 4; ++i)
      if (n + i < args.N) to[i] = four[i];
  }
}

// True if all rows of A, B and C consist of aligned groups of four floats.
inline bool in_fours(const MatmulArgs& args) {
  const auto begins_at_16_bytes = [](const float* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  };
  return args.K % 4 == 0 && args.N % 4 == 0 && begins_at_16_bytes(args.a) &&
         begins_at_16_bytes(args.b) && begins_at_16_bytes(args.c);
}

}  // namespace warmup
