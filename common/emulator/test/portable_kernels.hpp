// What kernels commonly do with 16-bit types and asynchronous copies. nvcc compiles the same file:
// nvcc -std=c++20 -arch=sm_90a -c portable_kernels.cu
#pragma once

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

}  // namespace portable_kernels
