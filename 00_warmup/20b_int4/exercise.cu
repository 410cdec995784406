// 20b int4: C = A W, a row of C at a time, with packed weights of 4 bits.
// Change: rewrite. No tile of W in shared memory. A thread loads words of four columns, 16 bytes at
//         a time, for 32 weights. A block's threads share 32 columns and interleave along K.
// Why:    with one row each weight is used once, so reading them without pauses sets the time.
// Needs:  weights that begin at a multiple of 4 bytes, GROUP 32, 64, 128 and so on, or K or more,
//         and elements of A that are 0 or from 2^-41 to below 2^59 in magnitude (add_part adds 32).
// Costs:  each row of A reads all weights. 128 registers per thread, a third for parts in flight.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "00_warmup/int4_kernel.hpp"
#include "00_warmup/int4_parts.hpp"
#include "00_warmup/low_bit.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256, kWarpSize = 32, kWarps = kThreads / kWarpSize;
constexpr int kAcross = 8;                   // threads across, for 128 bytes of each row of words
constexpr int kSlices = kThreads / kAcross;  // threads down, which share K
constexpr int kAhead = 2;                    // parts in flight per thread
constexpr int kChunk = 8192;                 // elements of A in shared memory at a time
constexpr int kSpace =
    4;  // floats after each part of A, so that a warp's slices load from different banks

// Nibble 0 to 7 of a word as a float, without a conversion, as int4_parts.hpp explains.
__device__ float in_place(unsigned word, int nibble) {
  unsigned bits = word;
  // TODO(1): roughly 2 lines; if nibble is 6 or 7, move it to position 0 or 1; clear all bits but
  // TODO(1): the nibble's; budget: no conversion
  return __uint_as_float(bits);
}

// Loads words of W with __ldcs because they are used once and should not replace reused data in L1.
template <bool kWide>
__device__ uint4 words_of(const unsigned* w, std::int64_t left) {
  if (kWide) return __ldcs(reinterpret_cast<const uint4*>(w));
  return four_of<uint4, false>(w, left);
}

// Requests a part. Past W's edges elements keep old values, but a is 0 or no result is stored.
template <bool kWide>
__device__ void fetch(const LowBitArgs<4>& args, int group_shift, int number, std::int64_t n,
                      Part& part) {
  const std::int64_t N = args.N, left = N - n;
  const int first = number * kWords;
  const int words = n < N ? static_cast<int>((args.K + kNibbles - 1) / kNibbles) : 0;
  const auto* w = reinterpret_cast<const unsigned*>(args.w) + first * N + n;
  for (int i = 0; i < kWords; ++i)
    if (first + i < words) part.words[i] = words_of<kWide>(w + i * N, left);
  const std::int64_t scales = (number >> group_shift) * N + n;
  if (first < words) part.scale = four_of<float4, kWide>(args.scale + scales, left);
  if (first < words && args.zero != nullptr)
    part.zero = four_of<uchar4, kWide>(args.zero + scales, left);
}

// `a` points to the part's elements in shared memory.
__device__ void add_part(const Part& part, const float* a, float (&sum)[kColumns]) {
  float of_q[kColumns] = {}, of_a = 0.0f;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    alignas(16) float eight[kNibbles];
    for (int j = 0; j < kNibbles; j += 4)
      *reinterpret_cast<float4*>(eight + j) =
          *reinterpret_cast<const float4*>(a + i * kNibbles + j);
    const unsigned words[kColumns] = {part.words[i].x, part.words[i].y, part.words[i].z,
                                      part.words[i].w};
#pragma unroll
    for (int j = 0; j < kNibbles; ++j) {
      of_a += eight[j] * power_of_2(4 * place_of(j));
      for (int column = 0; column < kColumns; ++column)
        of_q[column] += eight[j] * in_place(words[column], j);
    }
  }
  const float scale[kColumns] = {part.scale.x, part.scale.y, part.scale.z, part.scale.w};
  const float zero[kColumns] = {1.0f * part.zero.x, 1.0f * part.zero.y, 1.0f * part.zero.z,
                                1.0f * part.zero.w};
  // The sum of a (q - zero) is the sum of a q, less zero times the sum of a.
  for (int column = 0; column < kColumns; ++column) {
    float share = of_q[column] * kOfProduct;
    // TODO(1): roughly 1 line; subtract the column's zero point times the sum of a from share; of_a
    // TODO(1): is 2^64 times that sum
    sum[column] += scale[column] * share;
  }
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, kWide ? 2 : 1)
    int4_row_kernel(const LowBitArgs<4> args, int group_shift) {
  constexpr int kRow = kAcross * kColumns;  // columns per block
  __shared__ alignas(16) float a_smem[kChunk / kPart][kPart + kSpace];
  __shared__ float sums_smem[kWarps][kRow];
  const int K = static_cast<int>(args.K), parts = (K + kPart - 1) / kPart;
  const auto across = static_cast<unsigned>((args.N + kRow - 1) / kRow);
  const std::int64_t m = blockIdx.x / across, first_n = blockIdx.x % across * std::int64_t{kRow};
  const int slice = threadIdx.x / kAcross;
  const std::int64_t n = first_n + threadIdx.x % kAcross * kColumns;

  // Requested before the block waits for A.
  Part ahead[kAhead] = {};
  for (int p = 0; p < kAhead; ++p) {
    ahead[p].zero = make_uchar4(8, 8, 8, 8);
    fetch<kWide>(args, group_shift, p * kSlices + slice, n, ahead[p]);
  }
  float sum[kColumns] = {};
  constexpr int kTurn = kAhead * kSlices;  // parts per iteration, of all threads
  for (int first = 0; first < parts; first += kTurn) {
    if (first % (kChunk / kPart) == 0) {
      __syncthreads();  // all threads have read the previous chunk, which may now be overwritten
      const int needed = (parts - first + kSlices - 1) / kSlices * kSlices;
      const int nibble = threadIdx.x % 2 * 4;  // for the first of four elements of A
#pragma unroll 8
      for (int i = 4 * threadIdx.x; i < min(kChunk, needed * kPart); i += 4 * kThreads) {
        const int k = first * kPart + i;
        float4 four = {};
        if (k < K) four = four_of<float4, kWide>(args.a + m * K + k, K - k);
        four.x *= power_of_2(kUp - 4 * place_of(nibble));
        four.y *= power_of_2(kUp - 4 * place_of(nibble + 1));
        four.z *= power_of_2(kUp - 4 * place_of(nibble + 2));
        four.w *= power_of_2(kUp - 4 * place_of(nibble + 3));
        *reinterpret_cast<float4*>(&a_smem[i / kPart][i % kPart]) = four;
      }
      __syncthreads();  // this chunk is complete, so all threads may read it
    }
#pragma unroll
    for (int p = 0; p < kAhead; ++p) {
      const int number = first + p * kSlices;  // for the first slice
      if (number >= parts) break;
      add_part(ahead[p], a_smem[(number + slice) % (kChunk / kPart)], sum);
      fetch<kWide>(args, group_shift, number + kTurn + slice, n, ahead[p]);
    }
  }

  // Add up the slices of a warp, then the warps.
  // TODO(2): roughly 4 lines; for each of the four columns, add up the sums of the lanes that have
  // TODO(2): the same columns
  // TODO(2): budget: two shuffles a column
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  if (lane < kAcross) {
    for (int column = 0; column < kColumns; ++column)
      sums_smem[warp][lane * kColumns + column] = sum[column];
  }
  __syncthreads();
  if (threadIdx.x >= kRow || first_n + threadIdx.x >= args.N) return;
  float total = sums_smem[0][threadIdx.x];
  // TODO(2): roughly 2 lines; add the other warps' sums to total; budget: seven reads of shared
  // TODO(2): memory
  args.c[m * args.N + first_n + threadIdx.x] = total;
}

// ---- Launcher ----

}  // namespace

void int4_row(const LowBitArgs<4>& args) {
  ladder::validate_lists(args);
  const int group_shift = group_shift_of(args);
  ladder::require(args.K <= INT32_MAX - 2 * kChunk,
                  "K is " + std::to_string(args.K) + "; allowed: up to 2^31 - 16385");
  const std::int64_t across = (args.N + kAcross * kColumns - 1) / (kAcross * kColumns);
  ladder::require(across == 0 || args.M <= INT32_MAX / across,
                  "M * N is too large; allowed: up to 2^31 - 1 blocks of 32 columns");
  if (args.M * across == 0) return;
  if (args.K > 0) ladder::require_pointer("w", args.w, alignof(unsigned));
  const auto blocks = static_cast<unsigned>(args.M * across);
  if (in_fours(args)) {
    int4_row_kernel<true><<<blocks, kThreads>>>(args, group_shift);
  } else {
    int4_row_kernel<false><<<blocks, kThreads>>>(args, group_shift);
  }
  CUDA_CHECK(cudaGetLastError());
}

namespace {

const ladder::Registration int4_row_registration{
    {.name = "int4_row",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<LowBit<4>>(int4_row)}};

}  // namespace
}  // namespace warmup
