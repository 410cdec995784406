// Chunks of 64 steps. Contains their offsets in the tensors, the work buffers, the tiles of shared
// memory, a warp's part of them, and their copies.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/decay_tree.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

using ladder::BasicWkvArgs;
using ladder::BasicWkvGradArgs;

constexpr int kBlocks = kSide / kBlock;
constexpr int kTileSize = kSide * kSide;

// Sizes of the second kernel, which works inside the chunks.
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kBlocksPerWarp = 2;  // of 16 steps, and a warp has 16 channels

// Pairs of blocks of 16 steps, the diagonal, then level 4, then level 5. There is one hexadecimal
// digit per pair, from the right.
constexpr int kPairs = kBlocks * (kBlocks + 1) / 2;
constexpr int kPairsPerWarp = (kPairs + kWarps - 1) / kWarps;  // warp + 8 x
inline __device__ int later_block(int pair) {
  return 0x3232313210 >> 4 * pair & 15;
}
inline __device__ int earlier_block(int pair) {
  return 0x1100203210 >> 4 * pair & 15;
}

// ---- Work buffers ----

// Chunks of a walk, in its direction.
struct ChunkRange {
  int first, end;
};

template <typename Element>
struct Work {
  static constexpr bool kInSegments = false;  // true in lesson 20d
  int chunks, tiles_K, tiles_V;
  Element* states;       // (B, H, chunks, tiles_K, tiles_V, 64, 64), S before the chunk
  Element* adjoints;     // the same, D after the chunk
  float* dv_parts;       // (tiles_K, B, T, H, V), if tiles_K > 1
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K), for a decay per head

  __device__ ChunkRange walked_chunks() const { return {0, chunks}; }
  __device__ std::int64_t state_tile(std::int64_t bh, int chunk, int tile_K, int tile_V) const {
    return (((bh * chunks + chunk) * tiles_K + tile_K) * tiles_V + tile_V) * kTileSize;
  }
  // Offset from a tile to its rounding errors, which follow all tiles if they are stored.
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
  int columns;          // in bounds

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

// Copies `rows` rows of `columns` elements into a tile. Zeros fill the rest, which is not read.
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

// ---- Shared memory of the second kernel ----

// A warp's part of a chunk, 16 channels and two blocks of steps, the first of which is at the
// chunk's middle.
struct Part {
  int lane, warp;
  int row;    // the first of the channels
  bool late;  // whether its steps are in the chunk's second half

  __device__ __forceinline__ int block_of(int x) const { return late ? 2 + x : 1 - x; }
};

// Indices in the stage: v, d_o, S, D and the rounding errors of S and D.
enum Staged { kValues, kOutputGradients, kState, kAdjoint, kStateRest, kAdjointRest };

// Sums over a block's steps, by channel.
struct ChannelSums {
  float from_before[kBlocks][kSide], from_after[kBlocks][kSide];  // through all further blocks
  float from_half[kBlocks][kSide];                                // through the chunk's half
  float du[kBlocks][kSide], d_log_w[kBlocks][kSide];
};

// kRests adds the rounding errors of S and D. A decay per head in fp32 needs them, because its
// gradient is a sum over all steps, and an error that is made once per chunk is equal in all of
// them.
template <bool kRests_, typename Element_, typename LogW_>
struct alignas(16) ChunkTiles {
  using Element = Element_;
  using LogW = LogW_;
  static constexpr bool kRests = kRests_;
  // A gradient in fp32, which may be a sum over all steps, must not contain the same rounding error
  // of a pair in every step. Therefore it also adds the error.
  static constexpr bool kWithRest = sizeof(LogW) > sizeof(Element);

  Element q[kTileSize], k[kTileSize];
  LogW log_w[kTileSize];  // later d_log_w
  union {
    Element stage[kRests ? 6 : 4][kTileSize];  // see Staged
    struct {
      Element out[2][kTileSize];  // dq and dk
      // A second block's sums, while the first one needs the registers.
      float parked[2][2][4][kThreads];
    };
  };
  Element level4[kTileSize], level5[kTileSize];  // rows [channel][step], halves of 16 and 32 steps
  Element left[kTileSize];  // [channel][step]: k decayed to the end of the chunk
  union {
    Element scores[kTileSize];  // [s][p], the weight of v_s in o_p, with the bonus
    ChannelSums sums;           // after the last use of the scores
  };
  Element d_scores[kTileSize];  // G, where [p][s] = [s][p] = scale * d_o_p . v_s
  Right<Element> spans[kSpans][kWarpSize];
  float total[kBlocks][kSide];                          // decay of a block's steps, by channel
  float before[kBlocks][kSide], after[kBlocks][kSide];  // of the chunk's steps outside of a block
  float bonus[kBlocks][kSide];                          // sums of q u k over 16 channels, by step
  float next[kBlocks][kSide];  // the same for level 0, an even step's key, the next step's query
  float d_own[kSide];          // scale * d_o_t . v_t, the diagonal of G
  float overlap[kSide];        // the product of S and D through the whole chunk
};

// ---- Reads and writes ----

// A chunk of a head, and 64 rows of K.
struct Place {
  std::int64_t b, h, bh;
  unsigned bn;  // batch and chunk
  int chunk, tile_K;
  int T, K, V;
  int first, rows;  // step of the chunk, and steps in bounds
  int first_ik;

  template <typename Args>
  __device__ __forceinline__ Place(const Args& forward, int chunks) {
    const unsigned heads = static_cast<unsigned>(forward.H);
    h = blockIdx.x % heads;
    bn = blockIdx.x / heads;
    chunk = bn % chunks, tile_K = blockIdx.y;
    b = bn / chunks, bh = b * heads + h;
    T = forward.T, K = forward.K, V = forward.V;
    first = chunk * kSide, rows = T - first < kSide ? T - first : kSide;
    first_ik = tile_K * kSide;
  }
};

template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void fetch_keys(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                           const BasicWkvArgs<Element, LogW>& forward,
                                           const Place& place) {
  fetch<kThreads, kAligned>(SquareTile<Element>{tiles_smem.q},
                            Steps(forward.q, forward, place.b, place.h, place.K, place.first_ik),
                            place.first, place.rows);
  fetch<kThreads, kAligned>(SquareTile<Element>{tiles_smem.k},
                            Steps(forward.k, forward, place.b, place.h, place.K, place.first_ik),
                            place.first, place.rows);
  fetch<kThreads, kAligned>(SquareTile<LogW>{tiles_smem.log_w},
                            log_w_steps(forward, place.b, place.h, place.first_ik), place.first,
                            place.rows);
  __pipeline_commit();
}

// v, d_o, S before the chunk and D after it, for a tile of V.
template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void fetch_values(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                             const BasicWkvGradArgs<Element, LogW>& args,
                                             const Work<Element>& work, const Place& place,
                                             int tile_V) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int V = place.V;
  const auto to = [&](Staged staged) { return SquareTile<Element>{tiles_smem.stage[staged]}; };
  const Steps v(forward.v, forward, place.b, place.h, V, tile_V * kSide);
  const Steps d_o(args.d_o, forward, place.b, place.h, V, tile_V * kSide);
  const std::int64_t at = work.state_tile(place.bh, place.chunk, place.tile_K, tile_V);
  const Element* const state = work.states + at;
  const Element* const adjoint = work.adjoints + at;
  fetch<kThreads, kAligned>(to(kValues), v, place.first, place.rows);
  fetch<kThreads, kAligned>(to(kOutputGradients), d_o, place.first, place.rows);
  fetch<kThreads, true>(to(kState), state, kSide, kSide, kSide);
  fetch<kThreads, true>(to(kAdjoint), adjoint, kSide, kSide, kSide);
  if constexpr (kRests) {
    const std::int64_t rests = work.rests(forward);
    fetch<kThreads, true>(to(kStateRest), state + rests, kSide, kSide, kSide);
    fetch<kThreads, true>(to(kAdjointRest), adjoint + rests, kSide, kSide, kSide);
  }
  __pipeline_commit();
}

// A lane's two channels, and their bonus.
template <bool kGla, typename Element, typename LogW>
__device__ __forceinline__ void find_channels(const BasicWkvArgs<Element, LogW>& forward,
                                              const Place& place, const Part& part, int (&ik)[2],
                                              float (&u)[2]) {
  const int K = place.K;
  for (int i = 0; i < 2; ++i) {
    ik[i] = part.row + part.lane / 4 + 8 * i;
    u[i] = kGla ? 1.0f
           : place.first_ik + ik[i] < K
               ? ladder::cuda::load(forward.u + place.h * K + place.first_ik + ik[i])
               : 0.0f;
  }
}

// dq, dk and d_log_w of all steps.
template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void write_gradients(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                                const BasicWkvGradArgs<Element, LogW>& args,
                                                const Work<Element>& work, const Place& place) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int K = place.K;
  const auto write_to = [&](auto* array, auto from_smem) {
    write<kThreads, kAligned>(Steps(array, forward, place.b, place.h, K, place.first_ik),
                              place.first, place.rows, from_smem);
  };
  write_to(args.dq, SquareTile<Element>{tiles_smem.out[0]});
  write_to(args.dk, SquareTile<Element>{tiles_smem.out[1]});
  if (work.d_log_w_parts == nullptr) write_to(args.d_log_w, SquareTile<LogW>{tiles_smem.log_w});
}

// The parts that sum_parts() adds: du, and d_log_w if a head has one decay.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void write_parts(const ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                            const BasicWkvArgs<Element, LogW>& forward,
                                            const Work<Element>& work, const Place& place,
                                            int tid) {
  const int K = place.K;
  if (tid >= kSide || place.first_ik + tid >= K) return;
  const std::int64_t at = (place.bn * forward.H + place.h) * K + place.first_ik + tid;
  const auto sum = [&](const float(&parts)[kBlocks][kSide]) {
    return parts[0][tid] + parts[1][tid] + parts[2][tid] + parts[3][tid];
  };
  if (work.du_parts != nullptr) work.du_parts[at] = sum(tiles_smem.sums.du);
  if (work.d_log_w_parts != nullptr) work.d_log_w_parts[at] = sum(tiles_smem.sums.d_log_w);
}

}  // namespace chunkwise::backward
