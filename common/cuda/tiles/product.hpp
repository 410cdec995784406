// Products of fragments, c += a b, in one matrix instruction, or for float in six of Tf32.
//
// A float has 24 bits, a tf32 has 11 and a sign. Therefore x = big + small, both tf32, except for
// the last bit of x, and a b = small big + big small + big big, because small small is below the
// last bit. Each of the three needs two instructions, which cover 8 of the 16 k each. Columns
// `pair` and `pair + 4` may be any two k as long as A and B agree. Here they are 2 pair and 2 pair
// + 1, which a lane already has. A tensor core truncates its sums towards zero. Therefore it adds
// only these 16 terms, and the running sum is added outside, rounded to nearest.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"

namespace ladder::cuda::tiles {

// How a float becomes two tf32. Either way loses at most the last of 24 bits.
enum class Split {
  kNearest,  // each part rounded to nearest by cvt.rna
  // `big` rounded, `small` truncated, by integer instructions. On sm_90 they are fewer than
  // cvt.rna, which also handles NaN. From 0x1.ffep127 on `big` is infinite.
  kCheap
};

struct Parts {
  std::uint32_t big, small;  // bits of tf32
};

template <Split kSplit>
__device__ Parts split(float x) {
  if constexpr (kSplit == Split::kNearest) {
    const std::uint32_t big = to_tf32(x);
    return {big, to_tf32(x - __uint_as_float(big))};
  } else {
    constexpr std::uint32_t kKept = 0xffffe000u, kHalf = 0x1000u;
    const std::uint32_t big = (__float_as_uint(x) + kHalf) & kKept;
    return {big, __float_as_uint(x - __uint_as_float(big)) & kKept};
  }
}

template <Split kSplit>
__device__ void multiply_split(Accumulator& c, const FragmentA<float>& a,
                               const FragmentB<float>& b) {
  FragmentA<Tf32> a_big[2], a_small[2];  // columns k from 0 on, from 8 on
  FragmentB<Tf32> b_big[2], b_small[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const Parts first = split<kSplit>(a.x[2 * half + i].x);
      const Parts second = split<kSplit>(a.x[2 * half + i].y);
      a_big[half].x[i] = first.big, a_small[half].x[i] = first.small;
      a_big[half].x[2 + i] = second.big, a_small[half].x[2 + i] = second.small;
    }
    const Parts first = split<kSplit>(b.x[half].x), second = split<kSplit>(b.x[half].y);
    b_big[half] = {{first.big, second.big}}, b_small[half] = {{first.small, second.small}};
  }
  Accumulator d = {};
  const auto add = [&](const FragmentA<Tf32>(&left)[2], const FragmentB<Tf32>(&right)[2]) {
    mma_tf32(d, left[0].x, right[0].x);
    mma_tf32(d, left[1].x, right[1].x);
  };
  add(a_small, b_big), add(a_big, b_small), add(a_big, b_big);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    c[i] += d[i];
}

// c += a b, 16 x 8.
template <Split kSplit = Split::kNearest, typename Element>
__device__ void multiply(Accumulator& c, const FragmentA<Element>& a, const FragmentB<Element>& b) {
  if constexpr (std::is_same_v<Element, float>) {
    multiply_split<kSplit>(c, a, b);
  } else if constexpr (std::is_same_v<Element, Tf32>) {
    mma_tf32(c, a.x, b.x);
  } else {
    mma<Element>(c, a.x, b.x);
  }
}

// The same for two neighbouring B and C, 16 x 16.
template <Split kSplit = Split::kNearest, typename Element>
__device__ void multiply(Accumulator& left, Accumulator& right, const FragmentA<Element>& a,
                         const FragmentB<Element> (&b)[2]) {
  multiply<kSplit>(left, a, b[0]);
  multiply<kSplit>(right, a, b[1]);
}
template <Split kSplit = Split::kNearest, typename Element>
__device__ void multiply(Accumulator (&c)[2], const FragmentA<Element>& a,
                         const FragmentB<Element> (&b)[2]) {
  multiply<kSplit>(c[0], c[1], a, b);
}

}  // namespace ladder::cuda::tiles
