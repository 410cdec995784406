// 08 flash attention, scalar tiles: attention without a matrix of scores in memory, by plain FMAs.
// Change: rewrite of 08.01, in which a block has a tile of queries. Tiles of keys and values are
//         streamed past it, and each updates the softmax so far.
// Why:    the three kernels write T_q x T_k scores twice and read them again and again. Here a
//         score stays in a register.
// Needs:  D in {32, 64, 96, 128, 256}, fp32, bf16 or fp16, a causal mask, lengths and packed
//         sequences. Arrays q, k and v are aligned to four elements. A block needs 86 KB of shared
//         memory, or 110 KB for D = 256.
// Costs:  every tile of queries loads all its keys and values again, without tensor cores.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "08_flash_attention/sequence.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using ladder::cuda::load;
using ladder::cuda::store;

constexpr int kWarpSize = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// A warp has 16 queries. Half of its lanes share a row, and a lane has every second row.
constexpr int kWarpQueries = 16;
constexpr int kRowLanes = 16;
constexpr int kRows = kWarpQueries / 2;

// Elements per access to shared memory, 16 bytes of q, k and weights, 8 bytes of v and o.
constexpr int kVec = 4;
constexpr int kPair = 2;

// Shared memory, in floats. It holds the queries, a tile of keys and later, in the same buffer, its
// values, and the weights. Rows are padded by kVec, so that 8 lanes that read 8 rows access all 32
// banks. Two rows of weights, which are stored at once, are half of the banks apart.
template <int kD>
struct Cut {
  static constexpr int kWarps = 4, kThreads = kWarps * kWarpSize;
  static constexpr int kQueries = kWarps * kWarpQueries;
  static constexpr int kKeys = kD <= 128 ? 64 : 32;
  static constexpr int kStride = kD + kVec, kWeightStride = kKeys + kRowLanes;
  static constexpr int kBytes =
      ((kQueries + kKeys) * kStride + kQueries * kWeightStride) * sizeof(float);
};

// A lane's part of its rows, which is the scores of keys lane, lane + 16, ... (of 16 lanes) of a
// tile, and pairs of columns of o.
template <int kKeys>
using Scores = float[kRows][kKeys / kRowLanes];
template <int kD>
using Sums = float[kRows][kD / kRowLanes / kPair][kPair];

__device__ int row_of(int i) {
  const int lane = threadIdx.x % kWarpSize;
  return 2 * i + lane / kRowLanes;
}

__device__ void read(float (&to)[kVec], const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}
__device__ void read(float (&to)[kPair], const float* from_smem) {
  *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from_smem);
}
__device__ void write(float* to_smem, float first, float second) {
  *reinterpret_cast<float2*>(to_smem) = make_float2(first, second);
}

// Copies kTileRows rows of x to a tile of shared memory, as floats. Only `rows` of them are in
// bounds. Rows past the last one repeat it, because a weight of 0 times a NaN would be NaN.
template <int kD, int kTileRows, typename Element>
__device__ void fetch(float* tile, const Element* x, std::int64_t stride, int rows) {
  using Raw = std::conditional_t<sizeof(Element) == sizeof(float), float4, uint2>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * kVec; i < kTileRows * kD;
       i += Cut<kD>::kThreads * kVec) {
    const int row = i / kD, column = i % kD;
    alignas(Raw) Element raw[kVec];
    *reinterpret_cast<Raw*>(raw) =
        *reinterpret_cast<const Raw*>(x + min(row, rows - 1) * stride + column);
    *reinterpret_cast<float4*>(tile + row * Cut<kD>::kStride + column) =
        make_float4(load(raw), load(raw + 1), load(raw + 2), load(raw + 3));
  }
}

// The softmax of a warp's rows over tiles of keys. Weights are powers of 2: exp(scale s) is
// 2^(scale log2(e) s).
struct OnlineSoftmax {
  float scale;           // including log2(e)
  float largest[kRows];  // maximum scaled score so far, the same in all lanes of a row
  float sum[kRows];      // sum of this lane's weights, relative to `largest` like o

  explicit __device__ OnlineSoftmax(float natural_scale)
      : scale(natural_scale * ladder::cuda::kLog2e) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = -INFINITY, sum[i] = 0.0f;
  }

  // Turns the scores into weights, and rescales o and the sums to the new maximum.
  template <int kLaneKeys, int kLanePairs>
  __device__ void update(float (&scores)[kRows][kLaneKeys], float (&o)[kRows][kLanePairs][kPair]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float most = scores[i][0];
#pragma unroll
      for (int n = 1; n < kLaneKeys; ++n)
        most = fmaxf(most, scores[i][n]);
#pragma unroll
      for (int distance = kRowLanes / 2; distance > 0; distance /= 2)
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, distance));
      most = fmaxf(largest[i], most * scale);
      // Without a key yet the weight is 2^-inf, not 2^(inf - inf).
      const float offset = most == -INFINITY ? 0.0f : most;
      const float shrink = exp2f(largest[i] - offset);
      largest[i] = most;
      sum[i] *= shrink;
#pragma unroll
      for (int n = 0; n < kLanePairs; ++n) {
        o[i][n][0] *= shrink;
        o[i][n][1] *= shrink;
      }
#pragma unroll
      for (int n = 0; n < kLaneKeys; ++n) {
        float& weight = scores[i][n];
        weight = exp2f(fmaf(weight, scale, -offset));
        sum[i] += weight;
      }
    }
  }

  // The sum of all lanes of a row.
  __device__ float total(int i) const {
    float total = sum[i];
#pragma unroll
    for (int distance = kRowLanes / 2; distance > 0; distance /= 2)
      total += __shfl_xor_sync(kAllLanes, total, distance);
    return total;
  }
  // The natural logarithm of the sum of exp(scale s), or -inf for a row without keys.
  __device__ float lse(int i, float total) const {
    return largest[i] * ladder::cuda::kLn2 + logf(total);
  }
};

// Stores the result of a warp's rows, of which the first `rows` are in bounds, to o and lse. It
// passes through `tile`, the warp's own rows of the queries' tile, so that neighbouring lanes store
// neighbouring elements. No other warp reads these rows.
template <int kD, typename Element>
__device__ void send(Element* o, std::int64_t stride, float* lse, int rows, float* tile,
                     const Sums<kD>& sums, const OnlineSoftmax& softmax) {
  const int lane = threadIdx.x % kWarpSize, row_lane = lane % kRowLanes;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const float total = softmax.total(i);
    const float share = total == 0.0f ? 0.0f : 1.0f / total;
#pragma unroll
    for (int n = 0; n < kD / kRowLanes / kPair; ++n)
      write(tile + row_of(i) * Cut<kD>::kStride + (row_lane + n * kRowLanes) * kPair,
            sums[i][n][0] * share, sums[i][n][1] * share);
    if (row_lane == 0 && row_of(i) < rows) lse[row_of(i)] = softmax.lse(i, total);
  }
  __syncwarp();
  for (int row = 0; row < min(rows, kWarpQueries); ++row) {
    for (int column = lane; column < kD; column += kWarpSize)
      store(o + row * stride + column, tile[row * Cut<kD>::kStride + column]);
  }
}

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  extern __shared__ float4 smem[];
  float* const q_smem = reinterpret_cast<float*>(smem);         // (kQueries, kStride)
  float* const kv_smem = q_smem + C::kQueries * C::kStride;     // (kKeys, kStride)
  float* const weights_smem = kv_smem + C::kKeys * C::kStride;  // (kQueries, kWeightStride)

  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * C::kQueries;
  if (first >= s.queries) return;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{C::kQueries}));
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD, stride_k = args.H_kv * kD;
  const std::int64_t q_offset = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t k_offset = s.first_key * stride_k + h_kv * kD;

  // Tiles of keys. All queries see the first ones whole, and the others need the mask.
  const int keys = static_cast<int>(s.keys_seen(first + queries - 1));
  const int tiles = (keys + C::kKeys - 1) / C::kKeys;
  const int whole_tiles = static_cast<int>(s.keys_seen(first)) / C::kKeys;

  const auto fetch_k = [&](int tile) {
    fetch<kD, C::kKeys>(kv_smem, args.k + k_offset + tile * (C::kKeys * stride_k), stride_k,
                        keys - tile * C::kKeys);
  };
  const auto fetch_v = [&](int tile) {
    fetch<kD, C::kKeys>(kv_smem, args.v + k_offset + tile * (C::kKeys * stride_k), stride_k,
                        keys - tile * C::kKeys);
  };
  if (tiles > 0) fetch<kD, C::kQueries>(q_smem, args.q + q_offset, stride_q, queries);

  // This warp's rows, and the lane's first key and columns.
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * kWarpQueries;
  const int row_lane = static_cast<int>(threadIdx.x) % kRowLanes;
  const float* const q_rows = q_smem + first_row * C::kStride;
  float* const weight_rows = weights_smem + first_row * C::kWeightStride;

  OnlineSoftmax softmax(args.scale);
  Sums<kD> o = {};
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();  // all warps have finished the previous values, which the keys may overwrite
    fetch_k(tile);
    __syncthreads();  // the keys are in shared memory

    Scores<C::kKeys> scores = {};
#pragma unroll 2
    for (int d = 0; d < kD; d += kVec) {
      alignas(sizeof(float4)) float q[kVec], k[C::kKeys / kRowLanes][kVec];
#pragma unroll
      for (int n = 0; n < C::kKeys / kRowLanes; ++n)
        read(k[n], kv_smem + (row_lane + n * kRowLanes) * C::kStride + d);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        read(q, q_rows + row_of(i) * C::kStride + d);
#pragma unroll
        for (int n = 0; n < C::kKeys / kRowLanes; ++n) {
#pragma unroll
          for (int e = 0; e < kVec; ++e)
            scores[i][n] += q[e] * k[n][e];
        }
      }
    }
    __syncthreads();  // all warps have finished the keys, which the values may overwrite
    fetch_v(tile);

    if (tile >= whole_tiles) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const std::int64_t seen = s.keys_seen(first + first_row + row_of(i)) - tile * C::kKeys;
#pragma unroll
        for (int n = 0; n < C::kKeys / kRowLanes; ++n) {
          if (row_lane + n * kRowLanes >= seen) scores[i][n] = -INFINITY;
        }
      }
    }

    softmax.update(scores, o);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int n = 0; n < C::kKeys / kRowLanes; ++n)
        weight_rows[row_of(i) * C::kWeightStride + row_lane + n * kRowLanes] = scores[i][n];
    }
    __syncthreads();  // the values and the weights are in shared memory

#pragma unroll 1
    for (int key = 0; key < C::kKeys; key += kVec) {
      alignas(sizeof(float4)) float weights[kRows][kVec], v[kPair];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        read(weights[i], weight_rows + row_of(i) * C::kWeightStride + key);
#pragma unroll
      for (int e = 0; e < kVec; ++e) {
#pragma unroll
        for (int n = 0; n < kD / kRowLanes / kPair; ++n) {
          read(v, kv_smem + (key + e) * C::kStride + (row_lane + n * kRowLanes) * kPair);
#pragma unroll
          for (int i = 0; i < kRows; ++i) {
            o[i][n][0] += weights[i][e] * v[0];
            o[i][n][1] += weights[i][e] * v[1];
          }
        }
      }
    }
  }
  send<kD>(args.o + q_offset + first_row * stride_q, stride_q,
           args.lse + s.first_lse + h * args.T_q + first + first_row, queries - first_row,
           q_smem + first_row * C::kStride, o, softmax);
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  ladder::cuda::allow_shared_memory("attention_scalar_tiles", attend<kD, Element>, C::kBytes);
  const dim3 grid(static_cast<unsigned>((args.T_q + C::kQueries - 1) / C::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(sequence_count(args)));
  attend<kD, Element><<<grid, C::kThreads, C::kBytes, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  ladder::validate(args);
  ladder::require_usual_D(args, "this kernel");
  require_grid(args);
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  ladder::require_pointer("q", args.q, kVec * sizeof(Element));
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kVec * sizeof(Element));
    ladder::require_pointer("v", args.v, kVec * sizeof(Element));
  }
  switch (args.D) {
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 96: return launch<96>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_scalar_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Attention>(
         attention<float>, attention<ladder::bfloat16>, attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
