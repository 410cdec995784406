// Chunks of 64 steps: where they lie in the tensors, in the work buffers and in tiles of shared memory, and how they are copied.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/20_backward/gradient_blocks.hpp"

namespace chunkwise::backward {

constexpr int kWarpSize = 32;

// Steps of a chunk, and the sides of the tiles that K and V are cut into.
constexpr int kSide = 64;
constexpr int kBlocks = kSide / kBlock;
constexpr int kTileSize = kSide * kSide;

// These sizes are the second kernel's, which works inside the chunks.
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kBlocksPerWarp = 2;  // of 16 steps; a warp has 16 channels

template <typename Element>
using SquareTile = Tile<Element, kSide>;

// ---- Work buffers ----

template <typename Element>
struct Work {
  int chunks, tiles_K, tiles_V;
  Element* states;       // (B, H, chunks, tiles_K, tiles_V, 64, 64): S before the chunk
  Element* adjoints;     // the same: D after the chunk
  float* dv_parts;       // (tiles_K, B, T, H, V), where tiles_K > 1
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K), for a decay per head

  __device__ std::int64_t state_tile(std::int64_t bh, int chunk, int tile_K, int tile_V) const {
    return (((bh * chunks + chunk) * tiles_K + tile_K) * tiles_V + tile_V) * kTileSize;
  }
  // From a tile to what it lost when it was rounded, where that is kept: the rests lie behind all tiles.
  template <typename Args>
  __device__ std::int64_t rests(const Args& args) const {
    return state_tile(args.B * args.H, 0, 0, 0);
  }
};

// ---- Access ----

// One head's steps in an array (B, T, H, channels), from channel `first` on.
template <typename Element>
struct Steps {
  Element* data;        // step 0
  std::int64_t stride;  // to the next step
  int columns;          // that exist

  template <typename Args>
  __device__ Steps(Element* array, const Args& args, std::int64_t b, std::int64_t h,
                   std::int64_t channels, int first)
      : Steps(array + h * channels + first, args, b * args.T * args.H * channels, args.H * channels,
              static_cast<int>(channels) - first) {}

  // With strides that may be zero.
  template <typename Args>
  __device__ Steps(Element* head, const Args& args, std::int64_t batch_offset,
                   std::int64_t step_stride, int columns)
      : data(head + batch_offset + (args.reverse ? (args.T - 1) * step_stride : 0)),
        stride(args.reverse ? -step_stride : step_stride),
        columns(columns) {}

  __device__ Element* at(std::int64_t step) const { return data + step * stride; }
};

template <typename Args>
__device__ auto log_w_steps(const Args& args, std::int64_t b, std::int64_t h, int first) {
  return Steps(args.log_w + h * args.K + first, args, b * args.log_w_stride_B, args.log_w_stride_T,
               static_cast<int>(args.K) - first);
}

// Copies `rows` rows of `columns` elements into a tile; zeros fill the rest, and what does not exist is not read.
template <int kThreads, bool kAligned, typename Element>
__device__ void fetch(SquareTile<Element> to_smem, const Element* from, std::int64_t stride,
                      int rows, int columns) {
  constexpr int kUnit = SquareTile<Element>::kUnit, kUnits = kSide / kUnit;
  constexpr int kRows = kThreads / kUnits;  // at once
  const int first_row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * kUnit;
  const Element* source = from + first_row * stride + column;
#pragma unroll
  for (int row = first_row; row < first_row + kSide; row += kRows, source += kRows * stride) {
    const int count = row < rows ? columns - column : 0;
    Element* const to = to_smem.at(row, column);
    if constexpr (kAligned) {
      __pipeline_memcpy_async(to, source, 16, count > 0 ? 0 : 16);
    } else {
#pragma unroll
      for (int i = 0; i < kUnit; ++i)
        to[i] = i < count ? source[i] : Element{};
    }
  }
}

template <int kThreads, bool kAligned, typename Element>
__device__ void fetch(SquareTile<Element> to_smem, const Steps<const Element>& steps, int first,
                      int rows) {
  fetch<kThreads, kAligned>(to_smem, steps.at(first), steps.stride, rows, steps.columns);
}

template <int kThreads, bool kAligned, typename Element>
__device__ void write(const Steps<Element>& steps, int first, int rows,
                      SquareTile<Element> from_smem) {
  constexpr int kUnit = SquareTile<Element>::kUnit, kUnits = kSide / kUnit;
  constexpr int kRows = kThreads / kUnits;  // at once
  const int first_row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * kUnit;
  Element* to = steps.at(first + first_row) + column;
#pragma unroll
  for (int row = first_row; row < first_row + kSide; row += kRows, to += kRows * steps.stride) {
    if (row >= rows || column >= steps.columns) continue;
    const Element* const from = from_smem.at(row, column);
    if constexpr (kAligned) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    } else {
      for (int i = 0; i < kUnit && column + i < steps.columns; ++i)
        to[i] = from[i];
    }
  }
}

}  // namespace chunkwise::backward
