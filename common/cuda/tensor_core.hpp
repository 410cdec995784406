// A warp's tensor-core instructions, one per function, and their operands' layout in the lanes.
//
// All 32 lanes call together. With row = lane / 4 and pair = lane % 4, a lane's part of D += A B
// is:
//
//   bf16 and fp16,    A (16 x 16)  a[0]: A[row][2 pair, +1]      a[1]: A[row + 8][2 pair, +1]
//                                  a[2]: A[row][2 pair + 8, +9]  a[3]: A[row + 8][2 pair + 8, +9]
//   m16n8k16          B (16 x 8)   b[0]: B[2 pair, +1][row]      b[1]: B[2 pair + 8, +9][row]
//   tf32, m16n8k8     A (16 x 8)   a[0]: A[row][pair]            a[1]: A[row + 8][pair]
//                                  a[2]: A[row][pair + 4]        a[3]: A[row + 8][pair + 4]
//                     B (8 x 8)    b[0]: B[pair][row]            b[1]: B[pair + 4][row]
//   all               D (16 x 8)   d[0], d[1]: D[row][2 pair, +1]
//                                  d[2], d[3]: D[row + 8][2 pair, +1]
//
// A register of bf16 or fp16 holds two elements, the one with the smaller index in its lower half.
// Therefore the D of one product, packed, is the A of the next. Source: PTX ISA, "Matrix Fragments
// for mma.m16n8k16" and "mma.m16n8k8", "Warp-level matrix load instruction: ldmatrix".
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"

#ifndef __CUDACC__
#include "emulator/tensor_core.hpp"
#endif

namespace ladder::cuda {

#ifdef __CUDACC__

// Two floats rounded to bf16 (nearest, ties to even), the first in the lower half.
inline __device__ std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// d += a b for bf16 operands, fp32 accumulators.
inline __device__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The same two for fp16.
inline __device__ std::uint32_t pack_fp16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

inline __device__ void mma_fp16(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A float rounded to tf32 (10 bits after the point, nearest, ties away from zero), as a float's
// bits.
inline __device__ std::uint32_t to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

// d += a b for tf32 operands, fp32 accumulators.
inline __device__ void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Four 8 x 8 matrices of 16-bit elements from shared memory. Lanes 8 i to 8 i + 7 give the
// addresses of the eight rows of matrix i, 16 bytes each and aligned to 16, and r[i] receives its
// elements [lane / 4][2 (lane % 4), +1].
inline __device__ void load_matrices(std::uint32_t (&r)[4], const void* row_smem) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row_smem));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// The same with transposed matrices, so r[i] receives elements [2 (lane % 4), +1][lane / 4].
inline __device__ void load_matrices_transposed(std::uint32_t (&r)[4], const void* row_smem) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row_smem));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

#else  // the same functions, which also record their call sites

using emulator::load_matrices;
using emulator::load_matrices_transposed;
using emulator::mma_bf16;
using emulator::mma_fp16;
using emulator::mma_tf32;
using emulator::pack_bf16;
using emulator::pack_fp16;
using emulator::to_tf32;

#endif

// pack and mma for either 16-bit type, ladder::bfloat16 or ladder::float16.
template <typename Element>
__device__ std::uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<Element, bfloat16>) {
    return pack_bf16(low, high);
  } else {
    return pack_fp16(low, high);
  }
}

template <typename Element>
__device__ void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<Element, bfloat16>) {
    mma_bf16(d, a, b);
  } else {
    mma_fp16(d, a, b);
  }
}

}  // namespace ladder::cuda
