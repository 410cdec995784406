// Rows of a tensor, as neighbours that a thread copies to registers, and tiles that a block copies
// to shared memory. Out-of-bounds elements are not read and become zeros, and are not written.
//
// `aligned` means that all rows begin at a multiple of the width of an access, and end in bounds at
// one. Then an access moves that width, otherwise single elements. It is a bool, or a Width where
// halves of 16-byte vectors may be moved too.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/swizzle.hpp"

namespace ladder::cuda::tiles {

// ---- Neighbours, and registers of float ----

constexpr int kVec = 4;  // floats in the widest access of a thread, 16 bytes

// Copies kCount (1, 2 or a multiple of 4) neighbours at once.
template <int kCount>
__device__ void copy(float* to, const float* from) {
  if constexpr (kCount % 4 == 0) {
    for (int i = 0; i < kCount; i += 4)
      *reinterpret_cast<float4*>(to + i) = *reinterpret_cast<const float4*>(from + i);
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from);
  } else {
    *to = *from;
  }
}

// bf16 and fp16 are copied in words of kCount elements.
template <typename Element, int kCount>
struct alignas(kCount * sizeof(Element)) Word {
  Element x[kCount];
};

template <int kCount, typename Element>
__device__ void copy(float* to, const Element* from) {
  const auto word = *reinterpret_cast<const Word<Element, kCount>*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    to[i] = cuda::load(word.x + i);
}

template <int kCount, typename Element>
__device__ void copy(Element* to, const float* from) {
  Word<Element, kCount> word;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    cuda::store(word.x + i, from[i]);
  *reinterpret_cast<Word<Element, kCount>*>(to) = word;
}

// kCount neighbours in global memory. Beyond the first `count`, `to_reg` keeps its values.
template <int kCount, bool kAligned, typename Element>
__device__ void load(float* to_reg, const Element* from, int count) {
  if constexpr (kAligned) {
    if (count > 0) copy<kCount>(to_reg, from);
  } else {
    for (int i = 0; i < kCount; ++i)
      if (i < count) to_reg[i] = cuda::load(from + i);
  }
}

template <int kCount, bool kAligned, typename Element>
__device__ void store(Element* to, const float* from_reg, int count) {
  if constexpr (kAligned) {
    if (count > 0) copy<kCount>(to, from_reg);
  } else {
    for (int i = 0; i < kCount; ++i)
      if (i < count) cuda::store(to + i, from_reg[i]);
  }
}

// ---- From global to shared memory ----

// For 16-byte vectors. All rows begin at, and consist of, multiples of this width. kHalf is 8
// bytes, since a row of 100 16-bit elements is 12 vectors and a half. It is a char to be as small
// as a bool among a kernel's parameters.
enum class Width : unsigned char { kElement, kHalf, kUnit };

inline __device__ bool is_whole(bool aligned) {
  return aligned;
}
inline __device__ bool is_whole(Width width) {
  return width == Width::kUnit;
}
inline __device__ bool is_half(bool) {
  return false;
}
inline __device__ bool is_half(Width width) {
  return width == Width::kHalf;
}

enum class Copy {
  kPlain,  // through a register, as the thread waits for the load before it can store
  // By cp.async, without registers. The data is visible to the issuing thread after its
  // __pipeline_commit() and __pipeline_wait_prior(), to others after a barrier.
  kAsync
};

// kCount neighbours, 4, 8 or 16 bytes, of which the first `count` are in bounds. Unaligned 16-bit
// elements are too small for an asynchronous copy.
template <Copy kCopy, int kCount, typename Element, typename Aligned>
__device__ void copy_unit(Element* to_smem, const Element* from, int count, Aligned aligned) {
  constexpr std::size_t kBytes = kCount * sizeof(Element);
  using Unit =
      std::conditional_t<kBytes == 16, uint4, std::conditional_t<kBytes == 8, uint2, unsigned>>;
  if (is_whole(aligned)) {
    if constexpr (kCopy == Copy::kAsync) {
      __pipeline_memcpy_async(to_smem, from, kBytes, count > 0 ? 0 : kBytes);
    } else {
      Unit unit = {};
      if (count > 0) unit = *reinterpret_cast<const Unit*>(from);
      *reinterpret_cast<Unit*>(to_smem) = unit;
    }
    return;
  }
  if constexpr (kBytes == 16) {
    if (is_half(aligned)) {
      constexpr int kHalf = kCount / 2;
      copy_unit<kCopy, kHalf>(to_smem, from, count, true);
      copy_unit<kCopy, kHalf>(to_smem + kHalf, from + kHalf, count - kHalf, true);
      return;
    }
  }
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kCopy == Copy::kAsync && sizeof(Element) == 4) {
      __pipeline_memcpy_async(to_smem + i, from + i, 4, i < count ? 0 : 4);
    } else {
      to_smem[i] = i < count ? from[i] : Element{};
    }
  }
}

// ---- A tile, by kThreads threads ----

// Which loops over vectors are unrolled, so that their requests are issued back to back.
enum class Unroll { kNone, kColumns, kAll };

// A thread's vectors in a tile of kRows rows. Neighbouring threads have neighbouring vectors of 128
// bytes of a row (64 if a row is no multiple of 128), then continue in the next row. Thread number
// `thread` begins at (row, column).
template <typename Tile, int kRows, int kThreads>
struct Share {
  static constexpr int kRowsAtOnce = kThreads / Tile::kGroupUnits;
  static_assert(kThreads % Tile::kGroupUnits == 0 && kRows % kRowsAtOnce == 0);
  const int row, column;

  explicit __device__ Share(int thread)
      : row(thread / Tile::kGroupUnits), column(thread % Tile::kGroupUnits * Tile::kUnit) {}

  // visit(n, c, unit) for each vector of the tile, n rows and c columns from the first.
  template <Unroll kUnroll, typename Visit>
  __device__ void for_each(Tile tile, Visit visit) const {
    [[maybe_unused]] constexpr int kUnrolledRows =
        kUnroll == Unroll::kAll ? kRows / kRowsAtOnce : 1;
    [[maybe_unused]] constexpr int kUnrolledGroups =
        kUnroll == Unroll::kNone ? 1 : Tile::kColumns / Tile::kGroup;
    constexpr bool kSteady = kRowsAtOnce % 8 == 0;  // the swizzle repeats every eight rows
    auto* const first = tile.at(row, column);
#pragma unroll kUnrolledRows
    for (int n = 0; n < kRows; n += kRowsAtOnce) {
#pragma unroll kUnrolledGroups
      for (int c = 0; c < Tile::kColumns; c += Tile::kGroup)
        visit(n, c, kSteady ? first + (n * Tile::kColumns + c) : tile.at(row + n, column + c));
    }
  }
};

// Copies `rows` rows of `columns` elements, `stride` elements apart, to a tile of kRows rows. Zeros
// fill the rest. The threads are one Share's. After its own wait, a thread may read its vectors
// without a barrier.
template <int kRows, int kThreads, typename Tile, typename Aligned>
__device__ void copy_rows_async(Tile to_smem, const typename Tile::Element* from,
                                std::int64_t stride, int rows, int columns, Aligned aligned,
                                int thread) {
  using Element = typename Tile::Element;
  const Share<Tile, kRows, kThreads> share(thread);
  const Element* const first = from + share.row * stride + share.column;
  const auto copy = [&](int n, int c, Element* unit, bool exists) {
    copy_unit<Copy::kAsync, Tile::kUnit>(unit, first + n * stride + c,
                                         exists ? columns - (share.column + c) : 0, aligned);
  };
  if (is_whole(aligned) && rows >= kRows) {
    share.template for_each<Unroll::kAll>(
        to_smem, [&](int n, int c, Element* unit) { copy(n, c, unit, true); });
  } else {
    share.template for_each<Unroll::kColumns>(
        to_smem, [&](int n, int c, Element* unit) { copy(n, c, unit, share.row + n < rows); });
  }
}

// The same through registers. Addresses are recomputed for each vector, because kept ones spilled.
template <int kRows, int kThreads, typename Tile>
__device__ void copy_rows(Tile to_smem, const typename Tile::Element* from, std::int64_t stride,
                          int rows, int columns, bool aligned, int thread) {
  using Element = typename Tile::Element;
  const Share<Tile, kRows, kThreads> share(thread);
  share.template for_each<Unroll::kAll>(to_smem, [&](int n, int c, Element* unit) {
    const int row = share.row + n, column = share.column + c;
    copy_unit<Copy::kPlain, Tile::kUnit>(unit, from + row * stride + column,
                                         row < rows ? columns - column : 0, aligned);
  });
}

// From shared to global memory. Streaming stores (__stcs) mark lines that are not read again soon.
template <int kRows, int kThreads, typename Tile, typename Aligned>
__device__ void write_rows(typename Tile::Element* to, Tile from_smem, std::int64_t stride,
                           int rows, int columns, Aligned aligned, int thread) {
  using Element = typename Tile::Element;
  const Share<Tile, kRows, kThreads> share(thread);
  Element* const first = to + share.row * stride + share.column;
  share.template for_each<Unroll::kAll>(from_smem, [&](int n, int c, const Element* unit) {
    const int exist = columns - (share.column + c);
    if (share.row + n >= rows || exist <= 0) return;
    Element* const x = first + n * stride + c;
    if (is_whole(aligned)) {
      __stcs(reinterpret_cast<float4*>(x), *reinterpret_cast<const float4*>(unit));
    } else if (is_half(aligned)) {
      const auto* const halves = reinterpret_cast<const float2*>(unit);
      __stcs(reinterpret_cast<float2*>(x), halves[0]);
      if (exist > Tile::kUnit / 2) __stcs(reinterpret_cast<float2*>(x) + 1, halves[1]);
    } else {
      for (int e = 0; e < Tile::kUnit && e < exist; ++e)
        x[e] = unit[e];
    }
  });
}

}  // namespace ladder::cuda::tiles
