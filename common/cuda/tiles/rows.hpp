// Rows of a tensor: neighbours that a thread takes to registers, and tiles that a block takes to
// shared memory, with edges. What does not exist is not read, and becomes zeros; what does not
// exist is not written.
//
// `aligned` says that all rows begin at a multiple of what is moved at once and that what exists of
// a row ends there too; then it is moved at once, otherwise element by element.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/swizzle.hpp"

namespace ladder::cuda::tiles {

// ---- Neighbours, and registers of float ----

// kCount neighbours at once, 1, 2 or a multiple of 4.
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

// bf16 and fp16 travel in words of as many elements.
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

// kCount neighbours in global memory, of which the first `count` exist. The others keep what
// `to_reg` had.
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

// ---- Asynchronous copies (cp.async): global to shared memory, past the registers ----
//
// They have arrived for the thread that asked behind its __pipeline_commit() and
// __pipeline_wait_prior(), and for the others behind a barrier after that.

// kCount neighbours, 4, 8 or 16 bytes, of which the first `count` exist. 16-bit elements that are
// not aligned are too small for an asynchronous copy: the thread itself moves them.
template <int kCount, typename Element>
__device__ void copy_async(Element* to_smem, const Element* from, int count, bool aligned) {
  constexpr std::size_t kBytes = kCount * sizeof(Element);
  if (aligned) {
    __pipeline_memcpy_async(to_smem, from, kBytes, count > 0 ? 0 : kBytes);
    return;
  }
  for (int i = 0; i < kCount; ++i) {
    if constexpr (sizeof(Element) == sizeof(float)) {
      __pipeline_memcpy_async(to_smem + i, from + i, sizeof(float), i < count ? 0 : sizeof(float));
    } else {
      to_smem[i] = i < count ? from[i] : Element{};
    }
  }
}

// ---- A tile, by kThreads threads ----

// Which units of a tile of kRows rows a thread has: neighbouring threads have neighbouring units of
// a row, 128 bytes of it (64 where a row is no multiple of 128), then threads go on in the next
// row. Thread number `thread` begins at (row, column).
template <typename Tile, int kRows, int kThreads>
struct Share {
  static constexpr int kRowsAtOnce = kThreads / Tile::kGroupUnits;
  static_assert(kThreads % Tile::kGroupUnits == 0 && kRows % kRowsAtOnce == 0);
  const int row, column;

  explicit __device__ Share(int thread)
      : row(thread / Tile::kGroupUnits), column(thread % Tile::kGroupUnits * Tile::kUnit) {}

  // visit(row, column) for each unit. kUnroll: the code is there once for each row, so that all
  // requests follow each other.
  template <bool kUnroll, typename Visit>
  __device__ void for_each(Visit visit) const {
    const auto visit_row = [&](int first) {
#pragma unroll
      for (int group = 0; group < Tile::kColumns; group += Tile::kGroup)
        visit(first, column + group);
    };
    if constexpr (kUnroll) {
#pragma unroll
      for (int rows = 0; rows < kRows; rows += kRowsAtOnce)
        visit_row(row + rows);
    } else {
#pragma unroll 1
      for (int rows = 0; rows < kRows; rows += kRowsAtOnce)
        visit_row(row + rows);
    }
  }
};

// Asks for `rows` rows of `columns` elements, `stride` elements apart, for a tile of kRows rows;
// zeros fill the rest. The threads are those of one Share: a thread may look at its own units
// behind its own wait, without a barrier.
template <int kRows, int kThreads, typename Tile>
__device__ void copy_rows_async(Tile to_smem, const typename Tile::Element* from,
                                std::int64_t stride, int rows, int columns, bool aligned,
                                int thread) {
  const Share<Tile, kRows, kThreads> share(thread);
  const auto copy_unit = [&](int row, int column, int rows_here) {
    copy_async<Tile::kUnit>(to_smem.at(row, column), from + row * stride + column,
                            row < rows_here ? columns - column : 0, aligned);
  };
  if (aligned && rows >= kRows) {
    share.template for_each<true>([&](int row, int column) { copy_unit(row, column, kRows); });
  } else {
    share.template for_each<false>([&](int row, int column) { copy_unit(row, column, rows); });
  }
}

// The way back. The stores say that nobody here reads these lines again.
template <int kRows, int kThreads, typename Tile>
__device__ void write_rows(typename Tile::Element* to, Tile from_smem, std::int64_t stride,
                           int rows, int columns, bool aligned, int thread) {
  const Share<Tile, kRows, kThreads> share(thread);
  share.template for_each<true>([&](int row, int column) {
    if (row >= rows || column >= columns) return;
    const auto* const unit = from_smem.at(row, column);
    auto* const place = to + row * stride + column;
    if (aligned) {
      __stcs(reinterpret_cast<float4*>(place), *reinterpret_cast<const float4*>(unit));
    } else {
      for (int e = 0; e < Tile::kUnit && column + e < columns; ++e)
        place[e] = unit[e];
    }
  });
}

}  // namespace ladder::cuda::tiles
