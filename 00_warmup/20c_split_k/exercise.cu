// 20c split-K: C = A W with weights of 4 bits, K split over several blocks.
// Change: rewrite of the ends. A block has 32 columns and a part of K. Partial sums of the same
//         columns are added by atomics, or stored and added by a second kernel.
// Why:    few columns make few blocks, but with K split, all SMs have work.
// Needs:  as 20b. A split has 1024 k or a multiple of it.
// Costs:  with atomics, C is set to 0 before, and the last bits of a result may change from call to
//         call. A second pass needs memory for all partial sums, and one more launch.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "00_warmup/int4_parts.hpp"
#include "00_warmup/low_bit.hpp"
#include "00_warmup/split_k_kernel.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256, kWarpSize = 32, kWarps = kThreads / kWarpSize;
constexpr int kAcross = 8;                   // threads across, for 128 bytes of each row of words
constexpr int kSlices = kThreads / kAcross;  // threads down, which share K
constexpr int kAhead = 3;                    // parts in flight per thread
constexpr int kChunk = 9216;                 // elements of A in shared memory at a time
constexpr int kSpace =
    4;  // floats after each part of A, so that a warp's slices load from different banks

// Nibble 0 to 7 of a word as a float, without a conversion, as int4_parts.hpp explains.
__device__ float in_place(unsigned word, int nibble) {
  unsigned bits = word;
  if (nibble >= kPlaces) bits >>= 4 * kPlaces;
  bits &= 15u << 4 * place_of(nibble);
  return __uint_as_float(bits);
}

// Requests a part before `end`. Elements past it, or past the edges of W, keep old values, but a is
// 0 there, or no result is stored.
template <bool kWide>
__device__ void fetch(const LowBitArgs<4>& args, int group_shift, int number, int end,
                      std::int64_t n, Part& part) {
  const std::int64_t N = args.N, left = N - n;
  const int first = number * kWords;
  const int of_k = static_cast<int>((args.K + kNibbles - 1) / kNibbles);
  const int words = n < N ? min(of_k, end * kWords) : 0;
  const auto* w = reinterpret_cast<const unsigned*>(args.w) + first * N + n;
  for (int i = 0; i < kWords; ++i)
    if (first + i < words) part.words[i] = four_of<uint4, kWide>(w + i * N, left);
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
    share -= zero[column] * (of_a * kDown);
    sum[column] += scale[column] * share;
  }
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, kWide ? 2 : 1)
    int4_split_kernel(const LowBitArgs<4> args, int group_shift, int parts_each, int splits,
                      float* partial) {
  constexpr int kRow = kAcross * kColumns;  // columns per block
  __shared__ alignas(16) float a_smem[kChunk / kPart][kPart + kSpace];
  __shared__ float sums_smem[kWarps][kRow];
  const int K = static_cast<int>(args.K), parts = (K + kPart - 1) / kPart;
  const auto across = static_cast<unsigned>((args.N + kRow - 1) / kRow);
  const std::int64_t m = blockIdx.x / across / splits;
  const int split = blockIdx.x / across % splits;
  const std::int64_t first_n = blockIdx.x % across * std::int64_t{kRow};
  const int slice = threadIdx.x / kAcross;
  const std::int64_t n = first_n + threadIdx.x % kAcross * kColumns;

  // This block's parts of K.
  int begin = 0, end = 0;  // until hole 1 is filled
  // TODO(1): roughly 2 lines; compute the number of the block's first part (begin), and of the part
  // TODO(1): after its last one (end); each split has parts_each parts, the last split perhaps
  // TODO(1): fewer; budget: no access to memory

  // Requested before the block waits for A.
  Part ahead[kAhead] = {};
  for (int p = 0; p < kAhead; ++p) {
    ahead[p].zero = make_uchar4(8, 8, 8, 8);
    fetch<kWide>(args, group_shift, begin + p * kSlices + slice, end, n, ahead[p]);
  }
  float sum[kColumns] = {};
  constexpr int kTurn = kAhead * kSlices;  // parts per iteration, of all threads
  for (int first = begin; first < end; first += kTurn) {
    if ((first - begin) % (kChunk / kPart) == 0) {
      __syncthreads();  // all threads have read the previous chunk, which may now be overwritten
      const int needed = (end - first + kSlices - 1) / kSlices * kSlices;
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
      if (number >= end) break;
      add_part(ahead[p], a_smem[(number - begin + slice) % (kChunk / kPart)], sum);
      fetch<kWide>(args, group_shift, number + kTurn + slice, end, n, ahead[p]);
    }
  }

  // Add up the slices of a warp, then the warps.
  for (int column = 0; column < kColumns; ++column) {
    for (int distance = kWarpSize / 2; distance >= kAcross; distance /= 2)
      sum[column] += __shfl_xor_sync(0xffffffffu, sum[column], distance);
  }
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  if (lane < kAcross) {
    for (int column = 0; column < kColumns; ++column)
      sums_smem[warp][lane * kColumns + column] = sum[column];
  }
  __syncthreads();
  if (threadIdx.x >= kRow || first_n + threadIdx.x >= args.N) return;
  float total = sums_smem[0][threadIdx.x];
  for (int i = 1; i < kWarps; ++i)
    total += sums_smem[i][threadIdx.x];
  const std::int64_t at = m * args.N + first_n + threadIdx.x;
  if (partial == nullptr) {
    // TODO(1): roughly 1 line; add total to element `at` of c, as the other splits do at the same
    // TODO(1): time; budget: one atomic
  } else {
    // TODO(2): roughly 1 line; store total in `partial`, which has room for one c per split;
    // TODO(2): budget: one store
  }
}

// The second pass, in which c is the sum of the splits' partial sums, in their order.
__global__ void __launch_bounds__(kThreads)
    add_splits_kernel(const float* partial, int splits, std::int64_t count, float* c) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  float sum = 0.0f;
  // TODO(2): roughly 2 lines; add up the values that the splits stored for element i of c;
  // TODO(2): budget: one read for each split
  c[i] = sum;
}

// ---- Launchers ----

// The launch for a problem, with no blocks if there is no work.
struct Launch {
  unsigned blocks = 0;
  int group_shift = 0;  // parts per group, as a power of 2
  int splits = 1, parts_each = kSlices;
};

// K is split while all blocks run at once, two per SM, and each slice has a part.
Launch prepared(const LowBitArgs<4>& args) {
  ladder::validate_lists(args);
  Launch launch;
  launch.group_shift = group_shift_of(args);
  ladder::require(args.K <= INT32_MAX - 2 * kChunk,
                  "K is " + std::to_string(args.K) + "; allowed: up to 2^31 - 18433");
  const std::int64_t across = (args.N + kAcross * kColumns - 1) / (kAcross * kColumns);
  ladder::require(across == 0 || args.M <= INT32_MAX / across,
                  "M * N is too large; allowed: up to 2^31 - 1 blocks of 32 columns");
  const std::int64_t unsplit = args.M * across;
  if (unsplit == 0) return launch;
  if (args.K > 0) ladder::require_pointer("w", args.w, alignof(unsigned));
  const auto turns = static_cast<int>(std::max<std::int64_t>(
      1, (args.K + kPart * kSlices - 1) / (kPart * kSlices)));  // iterations of all slices
  const std::int64_t places = 2 * ladder::cuda::multiprocessor_count();
  const auto wanted = static_cast<int>(std::clamp<std::int64_t>(places / unsplit, 1, turns));
  const int turns_each = (turns + wanted - 1) / wanted;
  launch.parts_each = turns_each * kSlices;
  launch.splits = (turns + turns_each - 1) / turns_each;
  launch.blocks = static_cast<unsigned>(unsplit * launch.splits);
  return launch;
}

// `partial` is memory for splits * M * N numbers, or null.
void start(const LowBitArgs<4>& args, const Launch& launch, float* partial) {
  const auto kernel = in_fours(args) ? int4_split_kernel<true> : int4_split_kernel<false>;
  kernel<<<launch.blocks, kThreads>>>(args, launch.group_shift, launch.parts_each, launch.splits,
                                      partial);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void int4_split_atomic(const LowBitArgs<4>& args) {
  const Launch launch = prepared(args);
  if (launch.blocks == 0) return;
  CUDA_CHECK(cudaMemsetAsync(args.c, 0, args.M * args.N * sizeof(float)));
  start(args, launch, nullptr);
}

void int4_split_second_pass(const LowBitArgs<4>& args) {
  const Launch launch = prepared(args);
  if (launch.blocks == 0) return;
  const std::int64_t count = args.M * args.N;
  const ladder::cuda::Scratch<float> partial(launch.splits * count);
  start(args, launch, partial.pointer());
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  add_splits_kernel<<<blocks, kThreads>>>(partial.pointer(), launch.splits, count, args.c);
  CUDA_CHECK(cudaGetLastError());
}

namespace {

ladder::Registration rung(const char* name, int step, void (*launch)(const LowBitArgs<4>&)) {
  return ladder::Registration({.name = name,
                               .step = step,
                               .device = ladder::DeviceKind::kCuda,
                               .rung = true,
                               .launchers = ladder::launchers<LowBit<4>>(launch)});
}
const ladder::Registration registrations[] = {
    rung("int4_split_atomic", 1, int4_split_atomic),
    rung("int4_split_second_pass", 2, int4_split_second_pass)};

}  // namespace
}  // namespace warmup
