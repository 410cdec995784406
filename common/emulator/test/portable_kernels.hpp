// What kernels commonly do with 16-bit types, asynchronous copies and tensor cores. nvcc compiles the same file, from the
// repository's root: nvcc -std=c++20 -arch=sm_90a -I. -c common/emulator/test/portable_kernels.cu
#pragma once

#include <cstdint>

namespace portable_kernels {

// 128 numbers each: x * x + 2 x, two at a time through shared memory.
void square_plus_twice_half(float* out, const float* in);
void square_plus_twice_bfloat16(float* out, const float* in);

// Every name once; kResults numbers that are 1 where it did what it should.
constexpr int kResults = 32;
void every_name_half(float* out);
void every_name_bfloat16(float* out);

// out[i] = the sum over tiles of in[tile * kTile + i], copied asynchronously, two stages at a time.
constexpr int kTile = 128;
void sum_tiles(float* out, const float* in, int tiles);

// A warp's product of row-major matrices, d += a b. Registers are filled and stored element by element, as the layouts say.
constexpr int kRows = 16, kColumns = 8, kDepth16 = 16, kDepthTf32 = 8;
void multiply_bf16(float* d, const float* a, const float* b);
void multiply_fp16(float* d, const float* a, const float* b);
void multiply_tf32(float* d, const float* a, const float* b);

// out[4 * lane + i] = the register i of a lane after loading four 8 x 8 matrices, of which matrix i has the rows 8 i to
// 8 i + 7 of in, 8 elements of 16 bits each.
void load(std::uint32_t* out, const std::uint16_t* in);
void load_transposed(std::uint32_t* out, const std::uint16_t* in);

// d = a b for 16 x 16 matrices, through shared memory and matrix loads, as a kernel does it.
void multiply_loaded(float* d, const float* a, const float* b);

// out[i] = in[i] rounded to tf32, and in[i] beside its negative packed as bf16 or fp16, for 128 numbers.
constexpr int kRounded = 128;
void round_tf32(std::uint32_t* out, const float* in);
void pack_with_negative_bf16(std::uint32_t* out, const float* in);
void pack_with_negative_fp16(std::uint32_t* out, const float* in);

// Adds 1 to *count in each of `threads` threads, of which the kernel's __launch_bounds__ allow kBoundThreads.
constexpr int kBoundThreads = 128;
void count_threads(int* count, int threads);

}  // namespace portable_kernels
