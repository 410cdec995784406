// Shared by lessons 05 and 06. Contains SIMD vectors without intrinsics, a vector exp, padded
// scratch memory and the division of work into tasks.
#pragma once

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace openmp {

// Floats per SIMD register. -DLADDER_SIMD_LANES=1, 4, 8 or 16 overrides it.
#if defined(LADDER_SIMD_LANES)
inline constexpr int kVec = LADDER_SIMD_LANES;
#elif defined(__AVX512F__)
inline constexpr int kVec = 16;
#elif defined(__AVX__)
inline constexpr int kVec = 8;
#else
inline constexpr int kVec = 4;
#endif

// The register tile is kRows key rows by kColumns vectors of value columns. Each broadcast of q, k
// or w serves kColumns vectors, each vector of v and o serves kRows rows. AVX-512 and ARM have 32
// registers, older x86 has 16.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kRows = 8;
#else
inline constexpr int kRows = 4;
#endif
inline constexpr int kColumns = 2;

// Value columns per register tile. Threads share a head's columns in multiples of it.
inline constexpr std::int64_t kTileColumns = kColumns * kVec;

// Steps per tile. The state is loaded and stored once per tile, and a tile's q, k, v, w, o fit
// L1/L2.
inline constexpr std::int64_t kSteps = 32;

// The states of a task's heads together are 256 KB, to stay in L2 from one time tile to the next.
inline constexpr std::int64_t kStateFloats = 64 * 1024;

// Rows in scratch are padded to whole cache lines, which are also whole vectors and row blocks.
inline constexpr std::int64_t kLine = 16;

// With fewer FMAs than this (some microseconds) another thread does not pay off.
inline constexpr double kMinFmaPerThread = 100000;

using Vec = float __attribute__((vector_size(kVec * sizeof(float))));
using VecInt = std::int32_t __attribute__((vector_size(kVec * sizeof(float))));

inline Vec load(const float* from) {
  Vec x;
  std::memcpy(&x, from, sizeof(x));
  return x;
}

inline void store(float* to, Vec x) {
  std::memcpy(to, &x, sizeof(x));
}

// Prefetches a later row, because a head's steps are H * K floats apart, too far for hardware
// prefetchers. always_inline, because GCC 12 drops calls of a function that only prefetches.
[[gnu::always_inline]] inline void prefetch(const float* row, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLine)
    __builtin_prefetch(row + i);
}

inline void copy(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, count * sizeof(float));
}

inline float sum_of_lanes(Vec x) {
  float sum = 0.0f;
  for (int lane = 0; lane < kVec; ++lane)
    sum += x[lane];
  return sum;
}

// exp for x <= 88, about 1 ulp, exactly 1 at 0 and exactly 0 at -inf. exp(x) = 2^n exp(r), where x
// = n ln 2 + r and |r| <= ln 2 / 2. For exp(r) the Taylor series ends with r^7 / 7!, because the
// next term is below a tenth of an ulp.
inline Vec exp(Vec x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23, whose addition leaves the nearest integer in the low bits
  constexpr float kSmallest = -104.0f;  // exp of anything below rounds to 0

  x = x < kSmallest ? Vec{} + kSmallest : x;
  const Vec shifted = x * kLog2E + kRound;
  const Vec n = shifted - kRound;
  const Vec r = (x - n * kLn2High) - n * kLn2Low;
  Vec series = r * (1.0f / 5040) + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  // 2^n as two factors, because at n = -150 the result is denormal and one exponent field is too
  // narrow.
  const VecInt power = std::bit_cast<VecInt>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const VecInt half = power >> 1;
  const Vec scale_1 = std::bit_cast<Vec>((half + 127) << 23);
  const Vec scale_2 = std::bit_cast<Vec>((power - half + 127) << 23);
  return series * scale_1 * scale_2;
}

inline std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

inline std::int64_t round_up(std::int64_t x, std::int64_t unit) {
  return ceil_div(x, unit) * unit;
}

// The division of work. A task is a few neighbouring heads of one batch entry. Their rows are
// contiguous in memory, so a time step is one long run. With fewer heads than threads, a task is
// one head and some of its columns.
struct Split {
  int threads;
  std::int64_t heads;    // per task
  std::int64_t columns;  // per task, whole register tiles
  std::int64_t head_groups;
  std::int64_t column_parts;
  std::int64_t tasks;

  Split(double fma_count, std::int64_t B, std::int64_t H, std::int64_t K, std::int64_t V) {
    const double worth = 1.0 + fma_count / kMinFmaPerThread;
    threads = static_cast<int>(std::min<double>(omp_get_max_threads(), worth));
    columns = round_up(ceil_div(V, ceil_div(threads, B * H)), std::max(kTileColumns, kLine));
    column_parts = ceil_div(V, columns);
    // An equal share of heads for every thread, in groups whose states fit kStateFloats.
    const std::int64_t share = std::min(H, ceil_div(B * H, threads));
    heads = ceil_div(share, ceil_div(share * K * columns, kStateFloats));
    head_groups = ceil_div(H, heads);
    tasks = B * head_groups * column_parts;
    threads = static_cast<int>(std::min<std::int64_t>(threads, tasks));
  }
};

// One task, with heads first_head.. of batch entry b and columns first.. of each.
struct Task {
  std::int64_t b, first_head, end_head, first, width;

  Task(const Split& split, std::int64_t index, std::int64_t H, std::int64_t V) {
    const std::int64_t group = index / split.column_parts % split.head_groups;
    b = index / split.column_parts / split.head_groups;
    first_head = group * split.heads;
    end_head = std::min(H, first_head + split.heads);
    first = index % split.column_parts * split.columns;
    width = std::min(split.columns, V - first);
  }
};

// Scratch memory of all threads, each part in cache lines of its own.
class Scratch {
 public:
  Scratch(int threads, std::int64_t floats_per_thread)
      : part_(round_up(floats_per_thread, 2 * kLine)),
        memory_(new (std::align_val_t{kAlignment}) float[threads * part_]) {}

  // This thread's part, cleared.
  float* mine() const {
    float* part = memory_.get() + omp_get_thread_num() * part_;
    std::fill(part, part + part_, 0.0f);
    return part;
  }

 private:
  static constexpr std::size_t kAlignment =
      128;  // two lines, because the prefetcher fetches them in pairs
  struct Delete {
    void operator()(float* memory) const {
      ::operator delete[](memory, std::align_val_t{kAlignment});
    }
  };
  std::int64_t part_;
  std::unique_ptr<float[], Delete> memory_;
};

}  // namespace openmp
