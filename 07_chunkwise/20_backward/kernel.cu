// 07 chunkwise, backward: the gradients of WKV and of GLA on tensor cores.
// Change: two walks at once, over the chunks forward for the state S and backward for its gradient D; then all chunks in parallel.
// Why:    given S at a chunk's first step and D at its last, everything inside is products of small matrices.
// Needs:  any B, T, H, K and V up to 65535; both states, scale, reverse, decay per token or per head; fp32 or bf16; a GPU since Ampere.
// Costs:  S and D of every chunk in memory, each as large as one of the tensors where V = 64; no atomics. A NaN may reach all
//         gradients of its own block of 16 steps: masked elements are 0, and 0 times NaN is NaN.
//         See README for the derivation and for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chapter07::backward {

using ladder::BasicWkvArgs;
using ladder::BasicWkvGradArgs;
using ladder::cuda::Scratch;

constexpr int kWarpSize = 32;

// Steps of a chunk, and the sides of the tiles that K and V are cut into.
constexpr int kSide = 64;
constexpr int kBlocks = kSide / kBlock;
constexpr int kTileSize = kSide * kSide;

// Kernels count steps and channels in ints; a grid has 65535 rows, one for each tile of a state.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = 65535, kMostTiles = 65535;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // of all heads of a step, in q or v

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

// ---- Blocks in registers: [channel][step], as in decay_tree.hpp ----

// M[m][n] = tile[row + n][column + m], as it is stored: a factor of floats would be split, which -inf cannot be.
inline __device__ Sum load_values_transposed(SquareTile<bfloat16> tile, int row, int column,
                                             int lane) {
  const Factor<bfloat16> factor = load_transposed(tile, row, column, lane);
  Sum values;
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    values.d[ij / 2][ij % 2 * 2] = __uint_as_float(factor.pair[ij] << 16);
    values.d[ij / 2][ij % 2 * 2 + 1] = __uint_as_float(factor.pair[ij] & 0xffff0000u);
  }
  return values;
}
inline __device__ Sum load_values_transposed(SquareTile<float> tile, int row, int column,
                                             int lane) {
  Sum values;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int x = 0; x < 4; ++x)
      values.d[j][x] = *tile.at(row + lane % 4 * 2 + j * 8 + x % 2, column + lane / 4 + x / 2 * 8);
  }
  return values;
}

// The second factor of a product, transposed as multiply_add() wants it. An instruction takes two registers that lie side by side,
// and a load fills four that do: they come in the order of the instructions, which is not that of a Factor.
template <typename Element>
struct Right : Factor<Element> {};

template <>
struct Right<bfloat16> {
  std::uint32_t pair[4];  // [2 i + j]
};

// M[m][n] = tile[row + m][column + n]
inline __device__ Right<bfloat16> load_right(SquareTile<bfloat16> tile, int row, int column,
                                             int lane) {
  Right<bfloat16> right;
  ladder::cuda::load_matrices(right.pair,
                              tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  return right;
}
inline __device__ Right<float> load_right(SquareTile<float> tile, int row, int column, int lane) {
  return {load(tile, row, column, lane)};
}

// M[m][n] = tile[row + n][column + m]
inline __device__ Right<bfloat16> load_right_transposed(SquareTile<bfloat16> tile, int row,
                                                        int column, int lane) {
  Right<bfloat16> right;
  ladder::cuda::load_matrices_transposed(right.pair,
                                         tile.at(row + lane % 16, column + lane / 16 * 8));
  return right;
}
inline __device__ Right<float> load_right_transposed(SquareTile<float> tile, int row, int column,
                                                     int lane) {
  return {load_transposed(tile, row, column, lane)};
}

template <typename Element>
__device__ Right<Element> as_right(const Sum& sum) {
  const Factor<Element> factor = as_factor<Element>(sum);
  if constexpr (sizeof(Element) == 2) {
    return {{factor.pair[0], factor.pair[2], factor.pair[1], factor.pair[3]}};
  } else {
    return {factor};
  }
}

inline __device__ void multiply_add(Sum& sum, const Factor<bfloat16>& a, const Right<bfloat16>& b) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    ladder::cuda::mma_bf16(sum.d[i], a.pair, {b.pair[2 * i], b.pair[2 * i + 1]});
}

// f(j, x) for all of a lane's elements [j][x].
template <typename F>
__device__ void for_each(F f) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int x = 0; x < 4; ++x)
      f(j, x);
  }
}

inline __device__ Sum times(const Sum& a, const Sum& b) {
  Sum product;
  for_each([&](int j, int x) { product.d[j][x] = a.d[j][x] * b.d[j][x]; });
  return product;
}

// What is lost when a sum is rounded to bf16.
inline __device__ Sum rounding_of(const Sum& sum) {
  Sum rest;
  for_each([&](int j, int x) {
    const std::uint32_t rounded = ladder::cuda::pack_bf16(0.0f, sum.d[j][x]);
    rest.d[j][x] = sum.d[j][x] - __uint_as_float(rounded);
  });
  return rest;
}

// Row m of the tile is row m of the block.
template <typename Element>
__device__ void put(SquareTile<Element> tile, int row, int column, const Sum& sum, int lane) {
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    Element* const to = tile.at(row + lane / 4 + ij % 2 * 8, column + lane % 4 * 2 + ij / 2 * 8);
    const float first = sum.d[ij / 2][ij % 2 * 2], second = sum.d[ij / 2][ij % 2 * 2 + 1];
    if constexpr (sizeof(Element) == 2) {
      *reinterpret_cast<std::uint32_t*>(to) = ladder::cuda::pack_bf16(first, second);
    } else {
      *reinterpret_cast<float2*>(to) = make_float2(first, second);
    }
  }
}

// Row m of the tile is column m of the block.
template <typename Element>
__device__ void put_transposed(SquareTile<Element> tile, int row, int column, const Sum& sum,
                               int lane) {
  for_each([&](int j, int x) {
    ladder::cuda::store(tile.at(row + lane % 4 * 2 + j * 8 + x % 2, column + lane / 4 + x / 2 * 8),
                        sum.d[j][x]);
  });
}

// The sums of a lane's two channels over all steps of the block.
inline __device__ void sum_over_steps(float (&totals)[2], const Sum& sum) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float total = sum.d[0][2 * i] + sum.d[0][2 * i + 1] + sum.d[1][2 * i] + sum.d[1][2 * i + 1];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    totals[i] = total + __shfl_xor_sync(kAllLanes, total, 2);
  }
}

// ---- First kernel: the walks ----

constexpr int kWalkThreads = kBlocks * kWarpSize;  // a warp has 16 rows of the state
constexpr int kStages = 2;

template <typename Element, typename LogW>
struct alignas(16) WalkStage {
  Element key[kTileSize], value[kTileSize];
  LogW log_w[kTileSize];
};

// S takes k and v, forward; D takes q and d_o, backward. kRests: what S and D lose when they are rounded is stored too.
template <bool kGla, bool kBackward, bool kAligned, bool kRests, typename Element, typename LogW>
__device__ void walk(const BasicWkvGradArgs<Element, LogW>& args, const Work<Element>& work,
                     WalkStage<Element, LogW>* stages_smem) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int tile_K = blockIdx.y % work.tiles_K, tile_V = blockIdx.y / work.tiles_K;
  const unsigned heads = static_cast<unsigned>(forward.H);
  const std::int64_t bh = blockIdx.x, h = blockIdx.x % heads, b = blockIdx.x / heads;
  const int T = forward.T, K = forward.K, V = forward.V;
  const int first_ik = tile_K * kSide, first_iv = tile_V * kSide;
  const Steps key(kBackward ? forward.q : forward.k, forward, b, h, K, first_ik);
  const Steps value(kBackward ? args.d_o : forward.v, forward, b, h, V, first_iv);
  const auto log_w = log_w_steps(forward, b, h, first_ik);
  const float scale = forward.scale;

  const auto fetch_chunk = [&](int n) {
    WalkStage<Element, LogW>& stage = stages_smem[n % kStages];
    const int first = (kBackward ? work.chunks - 1 - n : n) * kSide;
    if (n < work.chunks) {
      fetch<kWalkThreads, kAligned>(SquareTile<Element>{stage.key}, key, first, T - first);
      fetch<kWalkThreads, kAligned>(SquareTile<Element>{stage.value}, value, first, T - first);
      fetch<kWalkThreads, kAligned>(SquareTile<LogW>{stage.log_w}, log_w, first, T - first);
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int n = 0; n < kStages - 1; ++n)
    fetch_chunk(n);

  Sum state[kBlocks];
  const float* const first_state = kBackward ? args.d_final_state : forward.initial_state;
  const auto place = [&](int n, int j, int x) {
    const int ik = first_ik + warp * kBlock + lane / 4 + x / 2 * 8;
    const int iv = first_iv + n * kBlock + lane % 4 * 2 + j * 8 + x % 2;
    return ik < K && iv < V ? (bh * K + ik) * V + iv : -1;
  };
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) {
    for_each([&](int j, int x) {
      const std::int64_t at = place(n, j, x);
      state[n].d[j][x] = first_state != nullptr && at >= 0 ? first_state[at] : 0.0f;
    });
  }

  for (int n = 0; n < work.chunks; ++n) {
    __syncthreads();  // the stage to be filled has been read by all
    fetch_chunk(n + kStages - 1);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    const WalkStage<Element, LogW>& stage = stages_smem[n % kStages];
    const SquareTile<Element> key_smem{const_cast<Element*>(stage.key)};
    const SquareTile<Element> value_smem{const_cast<Element*>(stage.value)};
    const SquareTile<LogW> log_w_smem{const_cast<LogW*>(stage.log_w)};

    Element* const to = (kBackward ? work.adjoints : work.states) +
                        work.state_tile(bh, kBackward ? work.chunks - 1 - n : n, tile_K, tile_V) +
                        warp * kBlock * kSide;
#pragma unroll
    for (int m = 0; m < kBlocks; ++m) {
      store(state[m], to + m * kBlock, kSide, kBlock, kBlock, true, lane);
      if constexpr (kRests)
        store(rounding_of(state[m]), to + work.rests(forward) + m * kBlock, kSide, kBlock, kBlock,
              true, lane);
    }

    // Sixteen steps at a time: first the state decays, then it takes what is left of their keys.
#pragma unroll 1
    for (int x = 0; x < kBlocks; ++x) {
      const int step = (kBackward ? kBlocks - 1 - x : x) * kBlock;
      const Sum k = load_values_transposed(key_smem, step, warp * kBlock, lane);
      Sum w = load_values_transposed(log_w_smem, step, warp * kBlock, lane);
      for_each([&](int j, int y) { w.d[j][y] = decay_of<Element>(w.d[j][y]); });
      Decays decays = first_decays<kGla>(w);
#pragma unroll
      for (int level = 0; level < kBlockLevels; ++level)
        climb(decays, w, level, lane);
      Sum rows;
      for_each([&](int j, int y) {
        const float decay = kBackward ? scale * decays.before.d[j][y] : decays.after.d[j][y];
        rows.d[j][y] = k.d[j][y] * decay;
      });
      const auto rows_reg = as_factor<Element>(rows);
#pragma unroll
      for (int m = 0; m < kBlocks; ++m) {
        for_each([&](int j, int y) { state[m].d[j][y] *= decays.total[0][y / 2]; });
        multiply_add(state[m], rows_reg, load_right_transposed(value_smem, step, m * kBlock, lane));
      }
    }
  }

  if constexpr (kBackward) {
    if (args.d_initial_state == nullptr) return;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      for_each([&](int j, int x) {
        const std::int64_t at = place(n, j, x);
        if (at >= 0) args.d_initial_state[at] = state[n].d[j][x];
      });
    }
  }
}

// Blocks with blockIdx.z = 1 walk backward.
template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
__global__ void __launch_bounds__(kWalkThreads, 4)
    walk_chunks(const BasicWkvGradArgs<Element, LogW> args, const Work<Element> work) {
  extern __shared__ float4 smem[];
  auto* const stages_smem = reinterpret_cast<WalkStage<Element, LogW>*>(smem);
  if (blockIdx.z == 0) {
    walk<kGla, false, kAligned, kRests>(args, work, stages_smem);
  } else {
    walk<kGla, true, kAligned, kRests>(args, work, stages_smem);
  }
}

// ---- Second kernel: inside the chunks ----

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kBlocksPerWarp = 2;  // of 16 steps; a warp has 16 channels

// A span says which rows reach across which steps: one for each level in a block, and two for what comes from outside of it.
constexpr int kFromBefore = kBlockLevels, kFromAfter = kBlockLevels + 1, kSpans = kBlockLevels + 2;

// Sums over a block's steps, by channel.
struct ChannelSums {
  float from_before[kBlocks][kSide], from_after[kBlocks][kSide];  // through all further blocks
  float from_half[kBlocks][kSide];                                // through the chunk's half
  float du[kBlocks][kSide], d_log_w[kBlocks][kSide];
};

// kRests: with what S and D lost when they were rounded. A decay per head in fp32 needs it: its gradient is a sum over all steps,
// and what is rounded once per chunk is wrong by the same amount in all of them.
template <bool kRests, typename Element, typename LogW>
struct alignas(16) ChunkTiles {
  Element q[kTileSize], k[kTileSize];
  LogW log_w[kTileSize];  // and d_log_w on its way out
  union {
    Element stage[kRests ? 6 : 4][kTileSize];  // v, d_o, S, D and the rests of S and D
    struct {
      Element out[2][kTileSize];  // dq and dk
      // A second block's sums, while the first one needs the registers.
      float parked[2][2][4][kThreads];
    };
  };
  Element level4[kTileSize], level5[kTileSize];  // rows [channel][step], halves of 16 and 32 steps
  Element left[kTileSize];  // [channel][step]: what is left of k after the chunk
  union {
    Element scores[kTileSize];  // [s][p]: what o_p takes of v_s, bonus included
    ChannelSums sums;           // when the scores have been used
  };
  Element pairs[kTileSize];  // [p][s] = [s][p] = scale * d_o_p . v_s
  Right<Element> spans[kSpans][kWarpSize];
  float total[kBlocks][kSide];                          // decay of a block's steps, by channel
  float before[kBlocks][kSide], after[kBlocks][kSide];  // of the chunk's steps outside of a block
  float bonus[kBlocks][kSide];                          // sums of q u k over 16 channels, by step
  float next[kBlocks][kSide];  // the same of level 0: an even step's key, the next step's query
  float own[kSide];            // scale * d_o_t . v_t
  float overlap[kSide];        // what reaches from S to D through all of the chunk
};

// Pairs of blocks of 16 steps: the diagonal, then level 4, then level 5. One hexadecimal digit for each pair, from the right.
constexpr int kPairs = kBlocks * (kBlocks + 1) / 2;
inline __device__ int later_block(int pair) {
  return 0x3232313210 >> 4 * pair & 15;
}
inline __device__ int earlier_block(int pair) {
  return 0x1100203210 >> 4 * pair & 15;
}

// Of a block [t][r], the pairs that meet at `level`: those whose highest differing bit it is.
inline __device__ bool meet(int level, int t, int r) {
  return (t ^ r) >> level == 1;
}

// Only they stay. Level 3 is the pairs between the block's halves, the others are within one half, the same in both.
inline __device__ Right<bfloat16> meeting(Right<bfloat16> pairs, int level, int lane) {
  const int t = lane / 4, r = lane % 4 * 2;
  const std::uint32_t mask =
      (meet(level, t, r) ? 0xffffu : 0u) | (meet(level, t, r + 1) ? 0xffff0000u : 0u);
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    const bool same_half = ij % 2 == ij / 2;
    pairs.pair[ij] = same_half == (level == 3) ? 0u
                     : same_half               ? pairs.pair[ij] & mask
                                               : pairs.pair[ij];
  }
  return pairs;
}
inline __device__ Right<float> meeting(Right<float> pairs, int level, int lane) {
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (meet(level, lane / 4 + ij % 2 * 8, lane % 4 * 2 + ij / 2 * 8 + e)) continue;
      pairs.big[ij][e] = pairs.small[ij][e] = 0;
    }
  }
  return pairs;
}

// [t][r]: 1 where the decay of step t lies between row r and where it comes from or goes to.
template <bool kGla, typename Element>
__device__ Right<Element> make_span(int span, int lane) {
  const int level = span < kBlockLevels ? span : kBlockLevels;
  Sum ones;
  for_each([&](int j, int x) {
    const int t = lane / 4 + x / 2 * 8, r = lane % 4 * 2 + j * 8 + x % 2;
    const bool query = span == level ? span == kFromBefore || (t >> level) % 2 == 1 : false;
    const bool between = query ? (kGla ? r >= t : r > t) : r < t;
    ones.d[j][x] = t >> level == r >> level && between ? 1.0f : 0.0f;
  });
  return as_right<Element>(ones);
}

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
__global__ void __launch_bounds__(kThreads, kRests || sizeof(Element) == sizeof(float) ? 1 : 2)
    chunk_gradients(const BasicWkvGradArgs<Element, LogW> args, const Work<Element> work) {
  extern __shared__ float4 smem[];
  auto& tiles_smem = *reinterpret_cast<ChunkTiles<kRests, Element, LogW>*>(smem);
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const unsigned heads = static_cast<unsigned>(forward.H);
  const std::int64_t h = blockIdx.x % heads;
  const unsigned bn = blockIdx.x / heads;  // batch and chunk
  const int chunk = bn % work.chunks, tile_K = blockIdx.y;
  const std::int64_t b = bn / work.chunks, bh = b * heads + h;
  const int T = forward.T, K = forward.K, V = forward.V;
  const int first = chunk * kSide, rows = T - first < kSide ? T - first : kSide;
  const int first_ik = tile_K * kSide;
  const float scale = forward.scale;

  const SquareTile<Element> q_smem{tiles_smem.q}, k_smem{tiles_smem.k};
  const SquareTile<LogW> log_w_smem{tiles_smem.log_w};
  const SquareTile<Element> level4_smem{tiles_smem.level4}, level5_smem{tiles_smem.level5};
  const SquareTile<Element> left_smem{tiles_smem.left}, scores_smem{tiles_smem.scores};
  const SquareTile<Element> pairs_smem{tiles_smem.pairs};
  const SquareTile<Element> v_smem{tiles_smem.stage[0]}, d_o_smem{tiles_smem.stage[1]};
  const SquareTile<Element> state_smem{tiles_smem.stage[2]}, adjoint_smem{tiles_smem.stage[3]};
  // Read only where kRests has them.
  const SquareTile<Element> state_rest_smem{tiles_smem.stage[kRests ? 4 : 2]};
  const SquareTile<Element> adjoint_rest_smem{tiles_smem.stage[kRests ? 5 : 3]};
  const SquareTile<Element> dq_smem{tiles_smem.out[0]}, dk_smem{tiles_smem.out[1]};
  // Rows of levels 1 to 3 lie where three other tiles will: they are needed for the scores only.
  const auto level_smem = [&](int level) {
    return level == 1 ? pairs_smem : level == 2 ? left_smem : scores_smem;
  };

  fetch<kThreads, kAligned>(q_smem, Steps(forward.q, forward, b, h, K, first_ik), first, rows);
  fetch<kThreads, kAligned>(k_smem, Steps(forward.k, forward, b, h, K, first_ik), first, rows);
  fetch<kThreads, kAligned>(log_w_smem, log_w_steps(forward, b, h, first_ik), first, rows);
  __pipeline_commit();
  const auto fetch_values = [&](int tile_V) {
    const Steps v(forward.v, forward, b, h, V, tile_V * kSide);
    const Steps d_o(args.d_o, forward, b, h, V, tile_V * kSide);
    const std::int64_t at = work.state_tile(bh, chunk, tile_K, tile_V);
    const Element* const state = work.states + at;
    const Element* const adjoint = work.adjoints + at;
    fetch<kThreads, kAligned>(v_smem, v, first, rows);
    fetch<kThreads, kAligned>(d_o_smem, d_o, first, rows);
    fetch<kThreads, true>(state_smem, state, kSide, kSide, kSide);
    fetch<kThreads, true>(adjoint_smem, adjoint, kSide, kSide, kSide);
    if constexpr (kRests) {
      fetch<kThreads, true>(state_rest_smem, state + work.rests(forward), kSide, kSide, kSide);
      fetch<kThreads, true>(adjoint_rest_smem, adjoint + work.rests(forward), kSide, kSide, kSide);
    }
    __pipeline_commit();
  };
  fetch_values(0);

  if (warp < kSpans) {
    // Named first: the X-ray does not see what a call returns straight into memory.
    const Right<Element> span = make_span<kGla, Element>(warp, lane);
    tiles_smem.spans[warp][lane] = span;
  }

  // The warp's channels and its two blocks of steps, first the one that touches the chunk's middle.
  const int row = warp % kBlocks * kBlock;
  const bool late = warp >= kBlocks;
  const auto block_of = [&](int x) { return late ? 2 + x : 1 - x; };
  int ik[2];
  float u[2];
  for (int i = 0; i < 2; ++i) {
    ik[i] = row + lane / 4 + 8 * i;
    u[i] = kGla                   ? 1.0f
           : first_ik + ik[i] < K ? ladder::cuda::load(forward.u + h * K + first_ik + ik[i])
                                  : 0.0f;
  }
  const auto load_rows = [&](int block, Sum& q, Sum& k, Sum& w) {
    q = load_values_transposed(q_smem, block * kBlock, row, lane);
    k = load_values_transposed(k_smem, block * kBlock, row, lane);
    w = load_values_transposed(log_w_smem, block * kBlock, row, lane);
    for_each([&](int j, int x) { w.d[j][x] = decay_of<Element>(w.d[j][x]); });
  };
  __pipeline_wait_prior(1);
  __syncthreads();

  // The rows of each level, and the bonus.
  Sum left[kBlocksPerWarp];
  float middle[2] = {1.0f, 1.0f};  // decay between this block and the chunk's middle
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = block_of(x);
    Sum q, k, w;
    load_rows(block, q, k, w);
    Decays decays = first_decays<kGla>(w);
    const auto sum_over_channels = [&](float sum) {
#pragma unroll
      for (int lanes = 4; lanes < kWarpSize; lanes *= 2)
        sum += __shfl_xor_sync(kAllLanes, sum, lanes);
      return sum;
    };
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int step = block * kBlock + lane % 4 * 2 + 8 * j;
      const auto product = [&](int y) { return u[y / 2] * q.d[j][y] * k.d[j][y]; };
      const auto next_product = [&](int y) {
        return q.d[j][y + 1] * decays.before.d[j][y + 1] * k.d[j][y];
      };
      const float even = sum_over_channels(product(0) + product(2));
      const float odd = sum_over_channels(product(1) + product(3));
      const float next = sum_over_channels(next_product(0) + next_product(2));
      if (lane < 4) {
        tiles_smem.bonus[warp % kBlocks][step] = even;
        tiles_smem.bonus[warp % kBlocks][step + 1] = odd;
        tiles_smem.next[warp % kBlocks][step] = next;
      }
    }
    climb(decays, w, 0, lane);
#pragma unroll
    for (int level = 1; level < kBlockLevels; ++level) {
      put(level_smem(level), row, block * kBlock, rows_at(level, q, k, decays, lane), lane);
      climb(decays, w, level, lane);
    }
    left[x] = times(k, decays.after);
    const Sum read = times(q, decays.before);
    put(level4_smem, row, block * kBlock, block % 2 == 1 ? read : left[x], lane);
    Sum far = late ? read : left[x];
    for_each([&](int j, int y) { far.d[j][y] *= middle[y / 2]; });
    put(level5_smem, row, block * kBlock, far, lane);
    for (int i = 0; i < 2; ++i) {
      middle[i] = decays.total[0][i];
      if (lane % 4 == 0) tiles_smem.total[block][ik[i]] = middle[i];
    }
  }
  __syncthreads();

  {
    const int block = tid / kSide, channel = tid % kSide;
    float before = 1.0f, after = 1.0f;
    for (int other = 0; other < kBlocks; ++other) {
      if (other < block) before *= tiles_smem.total[other][channel];
      if (other > block) after *= tiles_smem.total[other][channel];
    }
    tiles_smem.before[block][channel] = before;
    tiles_smem.after[block][channel] = after;
  }
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    for (int i = 0; i < 2; ++i) {
      float after = 1.0f;
      for (int other = 1; other < kBlocks; ++other)
        if (other > block_of(x)) after *= tiles_smem.total[other][ik[i]];
      for (int j = 0; j < 2; ++j) {
        left[x].d[j][2 * i] *= after;
        left[x].d[j][2 * i + 1] *= after;
      }
    }
  }

  // Scores, with keys as rows. Queries and keys of a level lie in one tile: its product with itself has their scores.
  constexpr int kPairsPerWarp = (kPairs + kWarps - 1) / kWarps;
  Sum scores[kPairsPerWarp] = {};
  if (warp < kBlocks) {
    const int column = warp * kBlock;
#pragma unroll
    for (int level = 1; level < kBlockLevels; ++level) {
      Sum all = {};
#pragma unroll
      for (int n = 0; n < kBlocks; ++n)
        multiply_add(all, load_transposed(level_smem(level), n * kBlock, column, lane),
                     load_right_transposed(level_smem(level), n * kBlock, column, lane));
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int s = lane / 4, p = lane % 4 * 2 + e;
        if (level == 3) {
          scores[0].d[1][e] = all.d[1][e];
        } else if (p > s && meet(level, p, s)) {
          scores[0].d[0][e] = all.d[0][e];
          scores[0].d[1][2 + e] = all.d[1][2 + e];
        }
      }
    }
    const auto add_up = [&](const float(&parts)[kBlocks][kSide], int step) {
      return parts[0][step] + parts[1][step] + parts[2][step] + parts[3][step];
    };
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int s = lane / 4, p = lane % 4 * 2, step = column + s + 8 * j;
      if (p == s) {
        scores[0].d[j][2 * j] = add_up(tiles_smem.bonus, step);
        scores[0].d[j][2 * j + 1] = add_up(tiles_smem.next, step);
      } else if (p + 1 == s) {
        scores[0].d[j][2 * j + 1] = add_up(tiles_smem.bonus, step);
      }
    }
  }
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = warp + x * kWarps;
    if (pair < kBlocks || pair >= kPairs) continue;
    const int p = later_block(pair), s = earlier_block(pair);
    const SquareTile<Element> rows_smem = p / 2 == s / 2 ? level4_smem : level5_smem;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
      multiply_add(scores[x], load_transposed(rows_smem, n * kBlock, s * kBlock, lane),
                   load_right_transposed(rows_smem, n * kBlock, p * kBlock, lane));
  }
  __syncthreads();  // all have read the levels' rows
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x)
    put(left_smem, row, block_of(x) * kBlock, left[x], lane);
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = warp + x * kWarps;
    if (pair >= kPairs) continue;
    for_each([&](int j, int y) { scores[x].d[j][y] *= scale; });
    put(scores_smem, earlier_block(pair) * kBlock, later_block(pair) * kBlock, scores[x], lane);
  }

  // Products with S and D, tile of V by tile of V; dv is complete after its tile.
  Sum pairs[kPairsPerWarp] = {};
  Sum from_state[kBlocksPerWarp] = {}, from_adjoint[kBlocksPerWarp] = {};
  Sum overlap = {};  // S times D transposed, of which only the diagonal is wanted
#pragma unroll 1
  for (int tile_V = 0; tile_V < work.tiles_V; ++tile_V) {
    const int first_iv = tile_V * kSide;
    if (tile_V > 0) {
      __syncthreads();  // all have read what is overwritten now
      fetch_values(tile_V);
    }
    __pipeline_wait_prior(0);
    __syncthreads();

#pragma unroll
    for (int x = 0; x < kPairsPerWarp; ++x) {
      const int pair = warp + x * kWarps;
      if (pair >= kPairs) continue;
      const int p = later_block(pair) * kBlock, s = earlier_block(pair) * kBlock;
#pragma unroll
      for (int n = 0; n < kBlocks; ++n)
        multiply_add(pairs[x], load(d_o_smem, p, n * kBlock, lane),
                     load_right(v_smem, s, n * kBlock, lane));
    }

#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      const auto state = load(state_smem, row, n * kBlock, lane);
      const auto adjoint = load(adjoint_smem, row, n * kBlock, lane);
      if (!late) multiply_add(overlap, state, adjoint);
#pragma unroll
      for (int x = 0; x < kBlocksPerWarp; ++x) {
        multiply_add(from_state[x], state,
                     load_right(d_o_smem, block_of(x) * kBlock, n * kBlock, lane));
        multiply_add(from_adjoint[x], adjoint,
                     load_right(v_smem, block_of(x) * kBlock, n * kBlock, lane));
      }
      if constexpr (kRests) {
        const auto state_rest = load(state_rest_smem, row, n * kBlock, lane);
        const auto adjoint_rest = load(adjoint_rest_smem, row, n * kBlock, lane);
        if (!late) {
          multiply_add(overlap, state, adjoint_rest);
          multiply_add(overlap, state_rest, adjoint);
        }
#pragma unroll
        for (int x = 0; x < kBlocksPerWarp; ++x) {
          multiply_add(from_state[x], state_rest,
                       load_right(d_o_smem, block_of(x) * kBlock, n * kBlock, lane));
          multiply_add(from_adjoint[x], adjoint_rest,
                       load_right(v_smem, block_of(x) * kBlock, n * kBlock, lane));
        }
      }
    }

    constexpr int kColumnBlocks = 2;  // of dv for a warp
    const int s = warp / 2, first_column = warp % 2 * kColumnBlocks * kBlock;
    Sum dv[kColumnBlocks] = {};
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      const auto left_reg = load_transposed(left_smem, n * kBlock, s * kBlock, lane);
#pragma unroll
      for (int x = 0; x < kColumnBlocks; ++x)
        multiply_add(
            dv[x], left_reg,
            load_right_transposed(adjoint_smem, n * kBlock, first_column + x * kBlock, lane));
    }
    for (int p = s; p < kBlocks; ++p) {
      const auto scores = load(scores_smem, s * kBlock, p * kBlock, lane);
#pragma unroll
      for (int x = 0; x < kColumnBlocks; ++x)
        multiply_add(dv[x], scores,
                     load_right_transposed(d_o_smem, p * kBlock, first_column + x * kBlock, lane));
    }
#pragma unroll
    for (int x = 0; x < kColumnBlocks; ++x) {
      const int iv = first_iv + first_column + x * kBlock, step = first + s * kBlock;
      const auto store_dv = [&](auto* array) {
        const Steps to(array, forward, b, h, V, iv);
        store(dv[x], to.at(step), to.stride, T - step, to.columns, kAligned, lane);
      };
      if (work.dv_parts == nullptr) {
        store_dv(args.dv);
      } else {
        store_dv(work.dv_parts + tile_K * forward.B * T * forward.H * V);
      }
    }
  }

  if (!late && lane % 4 == lane / 8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float diagonal = lane / 4 % 2 == 0 ? overlap.d[i][2 * i] : overlap.d[i][2 * i + 1];
      tiles_smem.overlap[ik[i]] = diagonal * tiles_smem.before[0][ik[i]] *
                                  tiles_smem.total[0][ik[i]] * tiles_smem.after[0][ik[i]];
    }
  }
  // Both orders of a pair. On the diagonal there are no pairs, only what the bonus needs.
  const auto put_pairs = [&](SquareTile<Element> tile, const Sum& sum, int p, int s) {
    if (p != s) {
      put(tile, p, s, sum, lane);
      put_transposed(tile, s, p, sum, lane);
      return;
    }
    for_each([&](int j, int y) {
      const int step_p = p + lane / 4 + y / 2 * 8, step_s = s + lane % 4 * 2 + j * 8 + y % 2;
      if (step_p < step_s) return;
      const float value = step_p > step_s ? sum.d[j][y] : 0.0f;
      ladder::cuda::store(tile.at(step_p, step_s), value);
      ladder::cuda::store(tile.at(step_s, step_p), value);
    });
  };
  // A gradient in fp32, which may be a sum over all steps, must not have the same rounding of a pair in every step: it takes the
  // rest too.
  constexpr bool kWithRest = sizeof(LogW) > sizeof(Element);
  const SquareTile<Element> rest_smem = left_smem;
  if constexpr (kWithRest) __syncthreads();  // all have read what was left of k
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = warp + x * kWarps;
    if (pair >= kPairs) continue;
    const int p = later_block(pair) * kBlock, s = earlier_block(pair) * kBlock;
    for_each([&](int j, int y) {
      pairs[x].d[j][y] *= scale;
      const int step_p = p + lane / 4 + y / 2 * 8, step_s = s + lane % 4 * 2 + j * 8 + y % 2;
      if (step_p == step_s) tiles_smem.own[step_p] = pairs[x].d[j][y];
    });
    put_pairs(pairs_smem, pairs[x], p, s);
    if constexpr (kWithRest) put_pairs(rest_smem, rounding_of(pairs[x]), p, s);
  }
  __syncthreads();

  // Level by level: rows times pairs are gradients of the queries and of the keys at once. A product of a row with its gradient
  // belongs to every decay between the row and the other half.
  ChannelSums& sums_smem = tiles_smem.sums;
  Sum d_log_w[kBlocksPerWarp] = {};
  // One block at a time, to have registers enough.
  for_each([&](int j, int y) {
    tiles_smem.parked[0][j][y][tid] = from_state[1].d[j][y];
    tiles_smem.parked[1][j][y][tid] = from_adjoint[1].d[j][y];
  });
#pragma unroll 1
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = block_of(x), column = block * kBlock;
    Sum q, k, w, dq = {}, dk = {}, d_log_w_here = {};
    load_rows(block, q, k, w);
    Decays decays = first_decays<kGla>(w);
    const auto add_to_d_log_w = [&](const Sum& rows_times_gradient, int span) {
      multiply_add(d_log_w_here, as_factor<Element>(rows_times_gradient),
                   tiles_smem.spans[span][lane]);
      if constexpr (kWithRest)
        multiply_add(d_log_w_here, as_factor<Element>(rounding_of(rows_times_gradient)),
                     tiles_smem.spans[span][lane]);
    };
    const auto add_wide = [&](Sum& gradient, const Factor<Element>& rows_reg, int other) {
      multiply_add(gradient, rows_reg, load_right(pairs_smem, column, other, lane));
      if constexpr (kWithRest)
        multiply_add(gradient, rows_reg, load_right(rest_smem, column, other, lane));
    };
    const auto own_pairs = load_right(pairs_smem, column, column, lane);
#pragma unroll
    for (int level = 0; level < kBlockLevels; ++level) {
      const Sum rows_reg = rows_at(level, q, k, decays, lane);
      Sum gradient = {};
      const auto rows_factor = as_factor<Element>(rows_reg);
      multiply_add(gradient, rows_factor, meeting(own_pairs, level, lane));
      if constexpr (kWithRest)
        multiply_add(gradient, rows_factor,
                     meeting(load_right(rest_smem, column, column, lane), level, lane));
      if (kGla || level > 0) add_to_d_log_w(times(rows_reg, gradient), level);
      for_each([&](int j, int y) {
        if (is_query(level, j, y % 2, lane)) {
          dq.d[j][y] += gradient.d[j][y] * decays.before.d[j][y];
        } else {
          dk.d[j][y] += gradient.d[j][y] * decays.after.d[j][y];
        }
      });
      climb(decays, w, level, lane);
    }

    // Beyond the block: S and D, the other half of the chunk, the other block of this half.
    Sum& wide_dq = from_state[0];
    Sum& wide_dk = from_adjoint[0];
    float to_middle[2];
    for (int i = 0; i < 2; ++i) {
      const float before = scale * tiles_smem.before[block][ik[i]];
      const float after = tiles_smem.after[block][ik[i]];
      to_middle[i] = block == 0   ? tiles_smem.total[1][ik[i]]
                     : block == 3 ? tiles_smem.total[2][ik[i]]
                                  : 1.0f;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
#pragma unroll
        for (int y = 2 * i; y < 2 * i + 2; ++y) {
          wide_dq.d[j][y] *= before * decays.before.d[j][y];
          wide_dk.d[j][y] *= after * decays.after.d[j][y];
        }
      }
    }
    float from_before[2], from_after[2], from_half[2];
    sum_over_steps(from_before, times(q, wide_dq));
    sum_over_steps(from_after, times(k, wide_dk));

    Sum far = {}, near = {};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int other = (late ? 0 : 2) * kBlock + n * kBlock;
      add_wide(far, load(level5_smem, row, other, lane), other);
    }
    const int sibling = (block ^ 1) * kBlock;
    add_wide(near, load(level4_smem, row, sibling, lane), sibling);
    const bool odd = block % 2 == 1;
    Sum reaching;
    for_each([&](int j, int y) {
      const float before = decays.before.d[j][y], after = decays.after.d[j][y];
      const float far_change = far.d[j][y] * to_middle[y / 2] * (late ? before : after);
      const float near_change = near.d[j][y] * (odd ? before : after);
      reaching.d[j][y] = far_change * (late ? q.d[j][y] : k.d[j][y]);
      wide_dq.d[j][y] += (late ? far_change : 0.0f) + (odd ? near_change : 0.0f);
      wide_dk.d[j][y] += (late ? 0.0f : far_change) + (odd ? 0.0f : near_change);
    });
    sum_over_steps(from_half, reaching);
    add_to_d_log_w(times(q, wide_dq), kFromBefore);
    add_to_d_log_w(times(k, wide_dk), kFromAfter);

    Sum q_k_own;
    for_each([&](int j, int y) {
      const float own = tiles_smem.own[column + lane % 4 * 2 + j * 8 + y % 2];
      dq.d[j][y] += wide_dq.d[j][y] + u[y / 2] * k.d[j][y] * own;
      dk.d[j][y] += wide_dk.d[j][y] + u[y / 2] * q.d[j][y] * own;
      q_k_own.d[j][y] = q.d[j][y] * k.d[j][y] * own;
    });
    put_transposed(dq_smem, column, row, dq, lane);
    put_transposed(dk_smem, column, row, dk, lane);
    float du[2];
    sum_over_steps(du, q_k_own);
    if (lane % 4 == 0) {
      for (int i = 0; i < 2; ++i) {
        sums_smem.from_before[block][ik[i]] = from_before[i];
        sums_smem.from_after[block][ik[i]] = from_after[i];
        sums_smem.from_half[block][ik[i]] = from_half[i];
        sums_smem.du[block][ik[i]] = du[i];
      }
    }
    for_each([&](int j, int y) {
      from_state[0].d[j][y] = tiles_smem.parked[0][j][y][tid];
      from_adjoint[0].d[j][y] = tiles_smem.parked[1][j][y][tid];
    });
    d_log_w[0] = d_log_w[1];
    d_log_w[1] = d_log_w_here;
  }
  __syncthreads();

  const SquareTile<LogW> d_log_w_smem{tiles_smem.log_w};
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = block_of(x);
    for (int i = 0; i < 2; ++i) {
      float across = tiles_smem.overlap[ik[i]];
      for (int other = 0; other < kBlocks; ++other) {
        if (other > block) across += sums_smem.from_before[other][ik[i]];
        if (other < block) across += sums_smem.from_after[other][ik[i]];
      }
      if (block == 1) across += sums_smem.from_half[0][ik[i]];
      if (block == 2) across += sums_smem.from_half[3][ik[i]];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        d_log_w[x].d[j][2 * i] += across;
        d_log_w[x].d[j][2 * i + 1] += across;
      }
    }
    if (work.d_log_w_parts != nullptr) {
      Sum existing;
      for_each([&](int j, int y) {
        const int step = block * kBlock + lane % 4 * 2 + j * 8 + y % 2;
        existing.d[j][y] = step < rows ? d_log_w[x].d[j][y] : 0.0f;
      });
      float total[2];
      sum_over_steps(total, existing);
      for (int i = 0; i < 2; ++i)
        if (lane % 4 == 0) sums_smem.d_log_w[block][ik[i]] = total[i];
    }
    put_transposed(d_log_w_smem, block * kBlock, row, d_log_w[x], lane);
  }
  __syncthreads();

  write<kThreads, kAligned>(Steps(args.dq, forward, b, h, K, first_ik), first, rows, dq_smem);
  write<kThreads, kAligned>(Steps(args.dk, forward, b, h, K, first_ik), first, rows, dk_smem);
  if (work.d_log_w_parts == nullptr)
    write<kThreads, kAligned>(Steps(args.d_log_w, forward, b, h, K, first_ik), first, rows,
                              d_log_w_smem);
  if (tid < kSide && first_ik + tid < K) {
    const std::int64_t at = (bn * forward.H + h) * K + first_ik + tid;
    const auto sum = [&](const float(&parts)[kBlocks][kSide]) {
      return parts[0][tid] + parts[1][tid] + parts[2][tid] + parts[3][tid];
    };
    if (work.du_parts != nullptr) work.du_parts[at] = sum(sums_smem.du);
    if (work.d_log_w_parts != nullptr) work.d_log_w_parts[at] = sum(sums_smem.d_log_w);
  }
}

// ---- Third kernel: sums over blocks, always in the same order ----

constexpr int kSumThreads = 256;

// to[i] = sum over parts[n][i]; kShares threads share the parts of an element.
template <int kShares, typename Element>
__global__ void __launch_bounds__(kSumThreads)
    sum_parts(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  __shared__ float sum_smem[kShares][kElements];
  const int x = threadIdx.x % kElements, share = threadIdx.x / kElements;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kElements + x;
  float sum = 0.0f;
  if (i < elements) {
#pragma unroll 4
    for (std::int64_t n = share; n < count; n += kShares)
      sum += parts[n * elements + i];
  }
  sum_smem[share][x] = sum;
  __syncthreads();
  if (share != 0 || i >= elements) return;
  for (int other = 1; other < kShares; ++other)
    sum += sum_smem[other][x];
  ladder::cuda::store(to + i, sum);
}

template <int kShares, typename Element>
void launch_sum(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  const auto blocks = static_cast<unsigned>((elements + kElements - 1) / kElements);
  sum_parts<kShares><<<blocks, kSumThreads>>>(to, parts, elements, count);
  CUDA_CHECK(cudaGetLastError());
}

// ---- Launchers ----

template <typename Element, typename LogW>
bool has_decay_per_head(const BasicWkvArgs<Element, LogW>& args) {
  return args.log_w_stride_T == 0 && args.log_w_stride_B == 0;
}

template <typename Element, typename LogW>
bool is_aligned(const BasicWkvGradArgs<Element, LogW>& args) {
  const auto off = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  constexpr std::int64_t kUnit = 16 / sizeof(Element);
  return forward.K % kUnit == 0 && forward.V % kUnit == 0 && !off(forward.q) && !off(forward.k) &&
         !off(forward.v) && !off(forward.log_w) && !off(args.d_o) && !off(args.dq) &&
         !off(args.dk) && !off(args.dv) && !off(args.d_log_w);
}

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
void launch(const BasicWkvGradArgs<Element, LogW>& args) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const std::int64_t B = forward.B, T = forward.T, H = forward.H, K = forward.K, V = forward.V;
  const std::int64_t chunks = (T + kSide - 1) / kSide;
  const std::int64_t tiles_K = (K + kSide - 1) / kSide, tiles_V = (V + kSide - 1) / kSide;
  const bool per_head = has_decay_per_head(forward);

  constexpr int kWalkBytes = kStages * sizeof(WalkStage<Element, LogW>);
  constexpr int kGradientBytes = sizeof(ChunkTiles<kRests, Element, LogW>);
  const auto walk = walk_chunks<kGla, kAligned, kRests, Element, LogW>;
  const auto gradients = chunk_gradients<kGla, kAligned, kRests, Element, LogW>;
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", walk, kWalkBytes);
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", gradients, kGradientBytes);

  const std::int64_t state_count = B * H * chunks * tiles_K * tiles_V * kTileSize;
  const std::int64_t part_count = B * chunks * H * K;
  const Scratch<Element> states((1 + kRests) * state_count);
  const Scratch<Element> adjoints((1 + kRests) * state_count);
  const Scratch<float> dv_parts(tiles_K > 1 ? tiles_K * B * T * H * V : 0);
  const Scratch<float> du_parts(kGla ? 0 : part_count), d_log_w_parts(per_head ? part_count : 0);
  const Work<Element> work{static_cast<int>(chunks),  static_cast<int>(tiles_K),
                           static_cast<int>(tiles_V), states.pointer(),
                           adjoints.pointer(),        dv_parts.pointer(),
                           du_parts.pointer(),        d_log_w_parts.pointer()};

  if (B > 0) {
    const dim3 grid(static_cast<unsigned>(B * H), static_cast<unsigned>(tiles_K * tiles_V), 2);
    walk<<<grid, kWalkThreads, kWalkBytes>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (B > 0 && T > 0) {
    const dim3 grid(static_cast<unsigned>(B * H * chunks), static_cast<unsigned>(tiles_K));
    gradients<<<grid, kThreads, kGradientBytes>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    if (tiles_K > 1) launch_sum<1>(args.dv, work.dv_parts, B * T * H * V, tiles_K);
  }
  constexpr int kShares = 8;  // few elements with many parts
  if (!kGla) launch_sum<kShares>(args.du, work.du_parts, H * K, B * chunks);
  if (per_head) launch_sum<kShares>(args.d_log_w, work.d_log_w_parts, H * K, B * chunks);
}

template <bool kGla, bool kAligned, typename Element, typename LogW>
void choose_rests(const BasicWkvGradArgs<Element, LogW>& args) {
  if constexpr (sizeof(LogW) > sizeof(Element)) {
    if (has_decay_per_head(args.forward)) return launch<kGla, kAligned, true>(args);
  }
  launch<kGla, kAligned, false>(args);
}

template <typename Element, typename LogW>
void require_limits(const BasicWkvArgs<Element, LogW>& args) {
  const auto refuse_unless = [](bool condition, const std::string& what, const char* allowed) {
    ladder::require(condition, what + "; chunkwise backward allows " + allowed);
  };
  const auto is = [](const char* name, std::int64_t size) {
    return std::string(name) + " is " + std::to_string(size);
  };
  refuse_unless(args.T <= kMostSteps, is("T", args.T), "up to 2^30 = 1073741824");
  refuse_unless(args.K <= kMostChannels, is("K", args.K), "up to 65535");
  refuse_unless(args.V <= kMostChannels, is("V", args.V), "up to 65535");
  const auto tiles = [](std::int64_t size) { return (size + kSide - 1) / kSide; };
  refuse_unless(tiles(args.K) * tiles(args.V) <= kMostTiles,
                is("K", args.K) + " and " + is("V", args.V),
                "K / 64 * V / 64 up to 65535, both quotients rounded up");
  refuse_unless(args.H <= kMostElements / args.K && args.H <= kMostElements / args.V,
                is("H", args.H), "H * K and H * V up to 2^30 = 1073741824");
  refuse_unless(args.B <= INT32_MAX / args.H / (args.T / kSide + 1), is("B", args.B),
                "B * H * (T / 64 + 1) up to 2^31 - 1");
  // With several tiles of K a kernel adds up their dv, a thread for each element.
  const std::int64_t elements = args.B * args.T * args.H * args.V;
  refuse_unless(tiles(args.K) == 1 || elements <= std::int64_t{INT32_MAX} * kSumThreads,
                is("B * T * H * V", elements), "up to 2^39 - 2^8 where K is above 64");
}

template <bool kGla, typename Element, typename LogW>
void choose(const BasicWkvGradArgs<Element, LogW>& args) {
  require_limits(args.forward);
  if (is_aligned(args)) return choose_rests<kGla, true>(args);
  choose_rests<kGla, false>(args);
}

template <typename Element, typename LogW>
void wkv(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate(args);
  choose<false>(args);
}

template <typename Element, typename LogW>
void gla(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate_gla(args);
  choose<true>(args);
}

const ladder::Registration wkv_registration{
    {.name = "wkv_chunkwise_backward",
     .chapter = "07_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::WkvBackward>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                         wkv<bfloat16, float>)}};

const ladder::Registration gla_registration{
    {.name = "gla_chunkwise_backward",
     .chapter = "07_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::GlaBackward>(gla<float, float>, gla<bfloat16, bfloat16>,
                                                         gla<bfloat16, float>)}};

}  // namespace chapter07::backward
