// Common uses of 16-bit types, asynchronous copies and tensor cores. nvcc compiles the file, too:
// nvcc -std=c++20 -arch=sm_90a -I. -c common/emulator/test/portable_kernels.cu
#pragma once

#include <cstdint>

namespace portable_kernels {

// 128 numbers: x * x + 2 x, in pairs, through shared memory.
void square_plus_twice_half(float* out, const float* in);
void square_plus_twice_bfloat16(float* out, const float* in);

// Uses every name once. Each of kResults numbers is 1 if the result was right.
constexpr int kResults = 32;
void every_name_half(float* out);
void every_name_bfloat16(float* out);

// out[i] = the sum over tiles of in[tile * kTile + i], copied asynchronously through two stages.
constexpr int kTile = 128;
void sum_tiles(float* out, const float* in, int tiles);

// A warp's d += a b of row-major matrices; registers are filled element by element.
constexpr int kRows = 16, kColumns = 8, kDepth16 = 16, kDepthTf32 = 8;
void multiply_bf16(float* d, const float* a, const float* b);
void multiply_fp16(float* d, const float* a, const float* b);
void multiply_tf32(float* d, const float* a, const float* b);

// out[4 * lane + i] = a lane's register i after a load of four 8 x 8 matrices. Matrix i has rows 8
// i to 8 i + 7 of `in`, each of eight 16-bit elements.
void load(std::uint32_t* out, const std::uint16_t* in);
void load_transposed(std::uint32_t* out, const std::uint16_t* in);

// d = a b for 16 x 16 matrices, through shared memory and matrix loads.
void multiply_loaded(float* d, const float* a, const float* b);

// out[i] = in[i] rounded to tf32, or packed with its negative as bf16 or fp16, for 128 numbers.
constexpr int kRounded = 128;
void round_tf32(std::uint32_t* out, const float* in);
void pack_with_negative_bf16(std::uint32_t* out, const float* in);
void pack_with_negative_fp16(std::uint32_t* out, const float* in);

// Adds 1 to *count in each of `threads` threads. The kernel's __launch_bounds__ is kBoundThreads.
constexpr int kBoundThreads = 128;
void count_threads(int* count, int threads);

}  // namespace portable_kernels
