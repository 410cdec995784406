// Shared by the forward steps on tensor cores: the work of a block, the mask, the softmax of scores
// in a warp's registers, and the store of the result.
//
// A warp has kRowBlocks blocks of 16 queries. A lane holds two rows of every 16 x 8 accumulator
// (common/cuda/tiles/fragment.hpp), lane / 4 and lane / 4 + 8, and two columns of each. Four lanes
// share a row, and they have the same rows of every accumulator.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/softcap.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::Accumulator;

constexpr int kBlock = 16;  // rows of a block of a product

// Registers per lane: kRowBlocks * kD / 2 for o, kRowBlocks * kKeys / 2 for the scores. An SM has
// 64 Ki of them, and a lane at most 255.
template <int kD>
struct Cut {
  static constexpr int kWarps = 4, kThreads = kWarps * kWarpSize;
  static constexpr int kRowBlocks =
      kD <= 128 ? 2 : 1;  // the number of uses of a loaded block of K or V
  static constexpr int kQueries = kWarps * kRowBlocks * kBlock;
  static constexpr int kKeys = kD == 64 ? 128 : 64;
  static constexpr int kBlocks = kD == 32 ? 3 : 2;  // thread blocks per SM
  static constexpr int kBytes = (kQueries + 2 * kKeys) * kD * 2;
};

// The queries of a block of query_grid(): the sequence's from `first` on, those with the most keys
// first. There may be none.
struct BlockQueries {
  WindowedSequence sequence;
  std::int64_t first;
};
// kPacked is a template parameter because code for packed sequences changes the registers, and
// costs the other kernels up to 6 %.
template <int kQueries, bool kPacked, typename Element>
__device__ BlockQueries queries_of_block(const FullAttentionArgs<Element>& args) {
  if constexpr (!kPacked) {
    const std::int64_t tile = gridDim.x - 1 - blockIdx.x;
    return {sequence_of(args, blockIdx.z), tile * kQueries};
  }
  const SequenceTile at = query_tile_of_block<kQueries>(args);
  const WindowedSequence s = sequence_of(args, at.sequence);
  const std::int64_t first = ((s.queries + kQueries - 1) / kQueries - 1 - at.tile) * kQueries;
  return {s, first < 0 ? s.queries : first};
}

// Returns the kernel for these arguments, with its shared memory allowed.
template <typename C, typename Element>
auto one_of(const FullAttentionArgs<Element>& args, const char* who,
            void (*of_packed)(FullAttentionArgs<Element>),
            void (*of_others)(FullAttentionArgs<Element>)) {
  const auto kernel = args.cu_seqlens_q != nullptr ? of_packed : of_others;
  ladder::cuda::allow_shared_memory(who, kernel, C::kBytes);
  return kernel;
}

// Offsets of a head's rows, for q and o from the block's first query on, for k and v from the
// start, and their strides, all in elements.
struct HeadPlaces {
  int D, stride_q, stride_k;
  std::int64_t q_offset, k_offset;
};
template <typename Element>
__device__ HeadPlaces places_of(const FullAttentionArgs<Element>& args, const Sequence& s,
                                std::int64_t first, std::int64_t h, std::int64_t h_kv) {
  const int D = static_cast<int>(args.D);
  const int stride_q = static_cast<int>(args.H_q) * D, stride_k = static_cast<int>(args.H_kv) * D;
  return {D, stride_q, stride_k, (s.first_query + first) * stride_q + h * D,
          s.first_key * stride_k + h_kv * D};
}

// Tiles of keys, from the first key on.
struct KeyTiles {
  int count = 0;  // seen by some query of the block
  int whole = 0;  // the first of them, in which every query sees every key
};

// Tiles of keys, of which the first are out of every window.
struct WindowTiles : KeyTiles {
  // Some query of the block sees a tile from `first` on. All queries see every key of tiles
  // `first_whole` to `whole` - 1.
  int first = 0, first_whole = 0;
  __device__ bool is_whole(int tile) const { return tile >= first_whole && tile < whole; }
};

// visit(score, row, key) for each score of a warp, with rows from `first_row` and keys from
// `first_key` on.
template <int kRowBlocks, int kKeys, typename Visit>
__device__ void for_each_score(Accumulator (&scores)[kRowBlocks][kKeys], int first_row,
                               int first_key, Visit visit) {
  const int lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [row, key] = ladder::cuda::tiles::accumulator_place(lane, i);
#pragma unroll
      for (int n = 0; n < kKeys; ++n)
        visit(scores[b][n][i], first_row + b * kBlock + row, first_key + n * 8 + key);
    }
  }
}

// Sets the scores of masked keys to -inf. The warp's rows begin at `first_row`, its keys at
// `first_key`.
template <int kRowBlocks, int kKeys>
__device__ void mask(Accumulator (&scores)[kRowBlocks][kKeys], const Visible& visible,
                     int first_row, int first_key) {
  const int lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [row, key] = ladder::cuda::tiles::accumulator_place(lane, i);
      const int keys = visible.keys(first_row + b * kBlock + row) - first_key - key;
#pragma unroll
      for (int n = 0; n < kKeys; ++n) {
        if (n * 8 >= keys) scores[b][n][i] = -INFINITY;
      }
    }
  }
}

// The softmax of a warp's rows over tiles of keys. Weights are powers of 2: exp(scale s) is
// 2^(scale log2(e) s).
template <int kRowBlocks>
struct OnlineSoftmax {
  float scale;                   // including log2(e)
  float largest[kRowBlocks][2];  // maximum scaled score so far, the same in all four lanes of a row
  float sum[kRowBlocks][2];      // sum of this lane's weights, relative to `largest` like o

  explicit __device__ OnlineSoftmax(float natural_scale)
      : scale(natural_scale * ladder::cuda::kLog2e) {
#pragma unroll
    for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        largest[b][i] = -INFINITY, sum[b][i] = 0.0f;
    }
  }

  // Turns the scores into weights, and rescales o and the sums to the new maximum.
  template <int kKeys, int kChannels>
  __device__ void update(Accumulator (&scores)[kRowBlocks][kKeys],
                         Accumulator (&o)[kRowBlocks][kChannels]) {
    float offset[kRowBlocks][2], shrink[kRowBlocks][2];
    bool grown = false;
#pragma unroll
    for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float most = fmaxf(scores[b][0][2 * i], scores[b][0][2 * i + 1]);
#pragma unroll
        for (int n = 1; n < kKeys; ++n)
          most = fmaxf(most, fmaxf(scores[b][n][2 * i], scores[b][n][2 * i + 1]));
        most = fmaxf(largest[b][i], ladder::cuda::tiles::quad_max(most) * scale);
        offset[b][i] = most == -INFINITY ? 0.0f : most;  // without keys, 2^-inf, not 2^(inf - inf)
        shrink[b][i] = ladder::cuda::exp2_flushed(largest[b][i] - offset[b][i]);
        grown = grown || shrink[b][i] != 1.0f;
        largest[b][i] = most;
      }
    }
    if (__any_sync(kAllLanes, grown)) {  // rare after the first tiles
#pragma unroll
      for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i % 2 == 0) sum[b][i / 2] *= shrink[b][i / 2];
#pragma unroll
          for (int n = 0; n < kChannels; ++n)
            o[b][n][i] *= shrink[b][i / 2];
        }
      }
    }
#pragma unroll
    for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
      for (int n = 0; n < kKeys; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& weight = scores[b][n][i];
          weight = ladder::cuda::exp2_flushed(fmaf(weight, scale, -offset[b][i / 2]));
          sum[b][i / 2] += weight;
        }
      }
    }
  }

  // The sum of all four lanes of a row.
  __device__ float total(int b, int i) const {
    return ladder::cuda::tiles::quad_sum(sum[b][i]);
  }
  // The natural logarithm of the sum of exp(scale s), or -inf for a row without keys.
  __device__ float lse(int b, int i, float total) const {
    return largest[b][i] * ladder::cuda::kLn2 + logf(total);
  }
};

// A softmax for a softcap, or a scale of 0 or below. bend() then applies both to the scores before
// they are masked, and otherwise it does nothing and update() scales. update() needs the maximum of
// unscaled scores, because with a negative scale it would be the minimum, and 0 times a masked
// score is NaN.
template <int kRowBlocks>
struct BentSoftmax : OnlineSoftmax<kRowBlocks> {
  float natural_scale, softcap;

  __device__ BentSoftmax(float natural_scale, float softcap)
      : OnlineSoftmax<kRowBlocks>(bends(natural_scale, softcap) ? 1.0f : natural_scale),
        natural_scale(natural_scale),
        softcap(softcap) {}

  static __device__ bool bends(float natural_scale, float softcap) {
    return softcap > 0.0f || !(natural_scale > 0.0f);
  }
  template <int kKeys>
  __device__ void bend(Accumulator (&scores)[kRowBlocks][kKeys]) const {
    if (!bends(natural_scale, softcap)) return;
    const Softcap cap(softcap);
    for_each_score(scores, 0, 0,
                   [&](float& score, int, int) { score = cap.bent(natural_scale * score); });
  }
};

// Stores the result of a warp's rows, of which the first `rows` are in bounds, to o and lse,
// `columns` of each row. It passes through `tile`, the warp's own rows of the queries' tile, so
// that neighbouring lanes store neighbouring 16-byte vectors. No other warp reads these rows.
template <typename Tile, int kRowBlocks, int kChannels>
__device__ void send(typename Tile::Element* o, int stride, float* lse, int rows, Tile tile,
                     const Accumulator (&sums)[kRowBlocks][kChannels],
                     const OnlineSoftmax<kRowBlocks>& softmax, int columns = Tile::kColumns) {
  const int lane = threadIdx.x % kWarpSize;
  __syncwarp();  // the warp has read its queries
#pragma unroll
  for (int b = 0; b < kRowBlocks; ++b) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = b * kBlock + i * 8 + lane / 4;
      const float total = softmax.total(b, i);
      const float share = total == 0.0f ? 0.0f : 1.0f / total;
#pragma unroll
      for (int n = 0; n < kChannels; ++n) {
        const float* const x = sums[b][n] + 2 * i;
        *reinterpret_cast<std::uint32_t*>(tile.at(row, n * 8 + lane % 4 * 2)) =
            ladder::cuda::pack<typename Tile::Element>(x[0] * share, x[1] * share);
      }
      if (lane % 4 == 0 && row < rows) lse[row] = softmax.lse(b, i, total);
    }
  }
  __syncwarp();
#pragma unroll 4
  for (int unit = lane; unit < kRowBlocks * kBlock * Tile::kUnits; unit += kWarpSize) {
    const int row = unit / Tile::kUnits, column = unit % Tile::kUnits * Tile::kUnit;
    if (row < rows && column < columns) {
      *reinterpret_cast<float4*>(o + static_cast<std::int64_t>(row) * stride + column) =
          *reinterpret_cast<const float4*>(tile.at(row, column));
    }
  }
}

// The width of the tile for rows of D channels, a multiple of 8. It is the narrowest that fits. The
// widest needs 96 KB of shared memory for queries, keys and values, less than the 99 KB per block
// of the smallest GPUs (sm_86, sm_89).
static_assert(Cut<kMostChannels>::kBytes <= 99 * 1024);
inline int width_of_tile(std::int64_t D) {
  for (const int width : {32, 64, 96, 128}) {
    if (D <= width) return width;
  }
  return kMostChannels;
}

// Requirements besides D: rows of whole 16-byte vectors, and a grid within the limits.
template <typename Args>
void require_tensor_core_tiles(const Args& args) {
  validate(args);
  require_grid(args);
  if (args.B == 0) return;
  if (args.T_q > 0) {
    ladder::require_pointer("q", args.q, 16);
    ladder::require_pointer("o", args.o, 16);
  }
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, 16);
    ladder::require_pointer("v", args.v, 16);
  }
}

// For a kernel with all options, D too is limited to whole 16-byte vectors.
template <typename Element>
void require_tensor_core_tiles(const FullAttentionArgs<Element>& args) {
  require_tensor_core_tiles<FullAttentionArgs<Element>>(args);
  require_units_of_channels(args);
}

}  // namespace flash_attention
