// Decoding, a tile of 16 rows of queries in a warp's registers, and a warp's computation with a
// stage of keys and values in shared memory.
//
// The rows of a tile share the keys of one kv head. A lane has two rows of every product, lane / 4
// and lane / 4 + 8 (common/cuda/tiles/fragment.hpp). The product of the weights and v is in the
// kernels, because as a function here it needed two more registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/decode_rows.hpp"
#include "08_flash_attention/softcap.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace flash_attention::decode {

using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

constexpr int kUnit = 8;  // elements of a 16-byte copy

// Tiles of kD columns, of which D are channels (D_v for v) and the others zeros. A block's warps
// have their own keys, each kStages stages of kKeys keys and values. All stages but one are in
// flight, which is 64 KB and more per block.
template <int kD>
struct Cut {
  static constexpr int kBytes = 96 * 1024;  // of shared memory, available on all GPUs since sm_80
  static constexpr int kWarps = kD == 256 ? 2 : 4;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kKeys = kD <= 64 ? 32 : 16;
  static constexpr int kTile = kKeys * kD;  // elements of k, and of v
  static constexpr int kStages = kBytes / (kWarps * 4 * kTile);
};

// The queries as the A of a product. Out-of-bounds rows and channels are zeros.
template <int kBlocks, typename Args>
__device__ void load_queries(std::uint32_t (&q_reg)[kBlocks][4], const Args& args, const Rows& rows,
                             const BlockRows& at, int lane) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    const bool there = row < at.count;
    const int channels = there ? static_cast<int>(args.D) : 0;
    const std::int64_t query = query_of(args, rows, at.b, at.h, at.first + (there ? row : 0));
    const auto* const q =
        reinterpret_cast<const std::uint32_t*>(args.q + query * args.D) + lane % 4;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      q_reg[block][i] = block * 16 < channels ? q[block * 8] : 0u;
      q_reg[block][i + 2] = block * 16 + 8 < channels ? q[block * 8 + 4] : 0u;
    }
  }
}

// With a negative scale -q is used, so that the maximum score remains the maximum. All of q is
// loaded first, because a sign flipped right after its load waits for it and delays the next load.
template <int kBlocks>
__device__ void flip_signs(std::uint32_t (&q_reg)[kBlocks][4], float scale) {
  const std::uint32_t sign = scale < 0.0f ? 0x80008000u : 0u;
#pragma unroll
  for (int i = 0; i < 4 * kBlocks; ++i)
    q_reg[i / 4][i % 4] ^= sign;
}

// The lane's two rows see the keys hidden[i] to seen[i] - 1.
struct VisibleKeys {
  std::int64_t seen[2], hidden[2];

  template <typename Sequence>
  __device__ VisibleKeys(const Sequence& sequence, const Rows& rows, int first_row, int count,
                         int lane) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = lane / 4 + 8 * i;
      const std::int64_t query = (first_row + (row < count ? row : 0)) / rows.group;
      seen[i] = sequence.keys_seen(query), hidden[i] = sequence.first_key_seen(query);
    }
  }

  // Masks the keys that a row does not see, among those from t on.
  template <bool kWindow, int kScores>
  __device__ void mask(float (&scores)[kScores][4], std::int64_t t, int lane) const {
#pragma unroll
    for (int j = 0; j < kScores; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::int64_t key = t + j * 8 + lane % 4 * 2 + e % 2;
        if (key >= seen[e / 2] || (kWindow && key < hidden[e / 2])) scores[j][e] = kNothing;
      }
    }
  }
};

// scores += q k^T.
template <int kD, typename Element, int kScores>
__device__ void multiply_by_keys(float (&scores)[kScores][4],
                                 const std::uint32_t (&q_reg)[kD / 16][4], const Element* k_smem,
                                 int lane) {
#pragma unroll
  for (int block = 0; block < kD / 16; ++block) {
#pragma unroll
    for (int j = 0; j < kScores; j += 2) {
      std::uint32_t r[4];
      const unsigned row = j * 8 + lane / 16 * 8 + lane % 8;
      ladder::cuda::load_matrices(
          r, k_smem + Tile<Element, kD>::place(row, block * 16 + lane / 8 % 2 * kUnit));
      ladder::cuda::mma<Element>(scores[j], q_reg[block], {r[0], r[1]});
      ladder::cuda::mma<Element>(scores[j + 1], q_reg[block], {r[2], r[3]});
    }
  }
}

// Applies the scale and the softcap.
template <int kScores>
__device__ void scale_and_cap(float (&scores)[kScores][4], float scale, float softcap) {
  const Softcap cap(softcap);
#pragma unroll
  for (int j = 0; j < kScores; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      scores[j][e] = cap.bent(scale * scores[j][e]);
  }
}

// The result of the keys so far for the lane's two rows. It consists of the maximum score (base 2),
// the sum of the weights exp2(score - m) of the lane's own columns, and the sum of the values with
// these weights.
template <int kD>
struct OnlineSoftmax {
  float acc[kD / 8][4] = {};
  float l[2] = {}, m[2] = {kNothing, kNothing};

  // Turns the scores of further keys into weights, and rescales the earlier sums to the new m.
  template <int kScores>
  __device__ void update(float (&scores)[kScores][4], float to_base_2) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float largest = kNothing;
#pragma unroll
      for (int j = 0; j < kScores; ++j)
        largest = fmaxf(largest, fmaxf(scores[j][2 * i], scores[j][2 * i + 1]));
      const float before = m[i];
      m[i] = fmaxf(before, quad_max(largest) * to_base_2);
      const float origin = m[i] == kNothing ? 0.0f : m[i];  // -inf - -inf would be NaN
      const float keep = exp2f(before - origin);
      l[i] *= keep;
#pragma unroll
      for (int c = 0; c < kD / 8; ++c)
        acc[c][2 * i] *= keep, acc[c][2 * i + 1] *= keep;
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
#pragma unroll
        for (int e = 2 * i; e < 2 * i + 2; ++e) {
          scores[j][e] = exp2f(scores[j][e] * to_base_2 - origin);
          l[i] += scores[j][e];
        }
      }
    }
  }
};

}  // namespace flash_attention::decode
