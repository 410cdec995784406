// A warp's tensor-core instructions, with PTX's operand layouts: mma.m16n8k16 (bf16, fp16),
// mma.m16n8k8 (tf32), ldmatrix.m8n8.x4 and stmatrix.m8n8.x4 (b16). All 32 lanes must call from the
// same line. Otherwise the result is cudaErrorLaunchFailure, because a GPU's would be undefined.
// Terms are exact and added sequentially in fp32, each sum rounded to nearest. An H200 adds all 16
// (8) terms of an element and the accumulator at once. It truncates each below 2^-25 of the largest
// and rounds the sum towards zero (measured). Therefore the last bits differ.
#pragma once

#include <cstdint>

#include "emulator/site.hpp"

namespace emulator {

std::uint32_t pack_bf16(float low, float high);
std::uint32_t pack_fp16(float low, float high);
std::uint32_t to_tf32(float x);

// d += a b
void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site where = Site::current());
void mma_fp16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site where = Site::current());
// The lower 13 bits of tf32 operands are ignored.
void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              Site where = Site::current());

// A row outside the block's shared memory, or not aligned to 16 bytes, is cudaErrorLaunchFailure.
void load_matrices(std::uint32_t (&r)[4], const void* row_smem, Site where = Site::current());
void load_matrices_transposed(std::uint32_t (&r)[4], const void* row_smem,
                              Site where = Site::current());
// stmatrix.m8n8.x4, the inverse of load_matrices.
void store_matrices(void* row_smem, const std::uint32_t (&r)[4], Site where = Site::current());

}  // namespace emulator
