// 06 shared_mem: the packed causal product, state in registers, tiles of steps in shared memory.
// Change: rewrite. A few lanes share a state column and add their parts of o by shuffles.
// Why:    no atomics. A block fetches each key, query, value once, a tile of steps before its use.
// Needs:  K (to 256) and V multiples of 4, 16-byte aligned arrays, sm_80 for asynchronous copies.
// Costs:  about one shuffle per output, two barriers per tile. All blocks of a head fetch q and k.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "06_shared_mem/causal_product.hpp"
#include "06_shared_mem/lane_sums.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/shared_memory.hpp"

namespace shared_mem {
namespace {

using ladder::LinearAttentionArgs;

// The tiling of a block's part of the state. kRowLanes lanes share a row of q, and each holds
// kRowVecs float4 of each of its kColumns columns. A block has kBlockColumns columns and stages
// kSteps time steps. Lanes add up sums every kGroup steps.
template <int kRowLanes_, int kRowVecs_, int kColumns_, int kBlockColumns_, int kSteps_,
          int kGroup_>
struct Cut {
  static constexpr int kRowLanes = kRowLanes_, kRowVecs = kRowVecs_, kColumns = kColumns_;
  static constexpr int kBlockColumns = kBlockColumns_, kSteps = kSteps_, kGroup = kGroup_;
  static constexpr int kRows = kRowLanes * kRowVecs * 4;
  static constexpr int kRowWarps = (kRows + 31) / 32;
  static constexpr int kThreads = kBlockColumns / kColumns * kRowLanes;
  static constexpr int kMinBlocks = kThreads == 256 ? 2 : 0;          // 0: no minimum
  static constexpr int kTile = kSteps * (2 * kRows + kBlockColumns);  // floats of q, k and v
  static constexpr int kSharedBytes = (2 * kTile + kRowWarps * kSteps) * sizeof(float);
  static_assert(kThreads % 32 == 0 && kThreads >= kRows && kSteps % kGroup == 0 &&
                kSteps % 16 == 0);
};

// Copies a tile's steps of x into rows of kWidth floats, zeros where x has none. A thread maps the
// vectors that it copied itself, so it needs no barrier in between.
template <int kWidth, typename C>
__device__ void stage(float* x_smem, const float* x, int stride, int width, Range range) {
  [[maybe_unused]] constexpr int kUnroll =
      C::kThreads == 256 ? 1 : 4;  // 256 threads have few registers each
#pragma unroll kUnroll
  for (int i = threadIdx.x; i < C::kSteps * kWidth / 4; i += C::kThreads) {
    const int step = i / (kWidth / 4), channel = i % (kWidth / 4) * 4;
    if (range.has(step) && channel < width) {
      __pipeline_memcpy_async(
          x_smem + i * 4, x + static_cast<std::int64_t>(step) * stride + channel, sizeof(float4));
    } else {
      *reinterpret_cast<float4*>(x_smem + i * 4) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }
}

// q and k are contiguous, so one loop maps both.
template <typename C>
__device__ void map_features(float* qk_smem, int width, Range queries, Range keys) {
  constexpr int kVecs = C::kSteps * C::kRows / 4;
#pragma unroll 2
  for (int i = threadIdx.x; i < 2 * kVecs; i += C::kThreads) {
    const int step = i % kVecs / (C::kRows / 4), channel = i % (C::kRows / 4) * 4;
    const bool there = i < kVecs ? queries.has(step) : keys.has(step);
    float4 x = *reinterpret_cast<const float4*>(qk_smem + i * 4);
    x = make_float4(elu_plus_one(x.x), elu_plus_one(x.y), elu_plus_one(x.z), elu_plus_one(x.w));
    // phi(0) is 1, but padding must stay 0.
    if (there && channel < width) *reinterpret_cast<float4*>(qk_smem + i * 4) = x;
  }
}

// Thread ik keeps row ik of z, the sum of k. A warp sums its 32 rows of q . z for 16 steps at once.
template <typename C>
__device__ void sum_denominators(const float* q_smem, const float* k_smem, float& z,
                                 float* denominator_smem) {
  const int row = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= C::kRowWarps) return;
#pragma unroll 1
  for (int first = 0; first < C::kSteps; first += 16) {
    float part[16];
#pragma unroll
    for (int s = 0; s < 16; ++s) {
      z += k_smem[(first + s) * C::kRows + row];
      const float term = q_smem[(first + s) * C::kRows + row] * z;
      part[s] =
          C::kRows % 32 == 0 || row < C::kRows ? term : 0.0f;  // no branch, so that loads overlap
    }
    sum_over_lanes<16, 32>(part, lane);
    if (lane % 2 == 0) denominator_smem[warp * C::kSteps + first + lane / 2] = part[0];
  }
}

template <typename C, bool kPlain>
__global__ void __launch_bounds__(C::kThreads, C::kMinBlocks)
    packed_causal_product(const LinearAttentionArgs args) {
  extern __shared__ float4
      tiles_smem[];  // (2, kTile), then the denominators' parts (kRowWarps, kSteps)
  float* const tiles = reinterpret_cast<float*>(tiles_smem);
  float* const denominator_smem = tiles + 2 * C::kTile;

  const int row_lane = threadIdx.x % C::kRowLanes;
  const int column = threadIdx.x / C::kRowLanes * C::kColumns;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * C::kBlockColumns;
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const Steps steps = steps_of(args, b);
  const int K = static_cast<int>(args.K);
  const int columns = static_cast<int>(
      args.V - first_column < C::kBlockColumns ? args.V - first_column : C::kBlockColumns);
  const int stride_K = static_cast<int>(args.H * args.K);
  const int stride_V = static_cast<int>(args.H * args.V);
  const float* q = args.q + (b * args.T_q * args.H + h) * args.K;
  const float* k = args.k + (b * args.T_k * args.H + h) * args.K;
  const float* v = args.v + (b * args.T_k * args.H + h) * args.V + first_column;
  float* o = args.o + (b * args.T_q * args.H + h) * args.V + first_column;

  const auto stage_tile = [&](float* q_smem, std::int64_t t) {
    float* const k_smem = q_smem + C::kSteps * C::kRows;
    float* const v_smem = k_smem + C::kSteps * C::kRows;
    const std::int64_t l = t - steps.first_query;
    const Range keys = range_of<C::kSteps>(t, steps.keys);
    stage<C::kRows, C>(q_smem, q + l * stride_K, stride_K, K, range_of<C::kSteps>(l, args.T_q));
    stage<C::kRows, C>(k_smem, k + t * stride_K, stride_K, K, keys);
    stage<C::kBlockColumns, C>(v_smem, v + t * stride_V, stride_V, columns, keys);
    __pipeline_commit();
  };

  float state[C::kRowVecs * 4][C::kColumns] = {};
  float z = 0.0f;
  int now = 1;  // the tile in use, of two
  // Starts one tile early, so that the staging code exists only once, because 32 KB of instructions
  // are cached.
  for (std::int64_t t0 = -C::kSteps; t0 < steps.end; t0 += C::kSteps, now ^= 1) {
    float* const q_smem = tiles + now * C::kTile;
    float* const k_smem = q_smem + C::kSteps * C::kRows;
    float* const v_smem = k_smem + C::kSteps * C::kRows;
    const std::int64_t l0 = t0 - steps.first_query;
    float* const o_tile = o + l0 * stride_V;
    const Range queries = range_of<C::kSteps>(l0, args.T_q);
    stage_tile(tiles + (now ^ 1) * C::kTile, t0 + C::kSteps);
    if (t0 < 0) continue;
    __pipeline_wait_prior(1);
    if (!kPlain && args.feature_map != ladder::FeatureMap::kIdentity) {
      map_features<C>(q_smem, K, queries, range_of<C::kSteps>(t0, steps.keys));
    }
    __syncthreads();  // all threads' copies of this tile have arrived
    if (!kPlain && args.normalize) {
      sum_denominators<C>(q_smem, k_smem, z, denominator_smem);
      __syncthreads();
    }

    // No bank conflicts by design. The kRowLanes lanes load adjacent float4 of q and k, and the
    // warp's other lanes the same ones. Adjacent groups of lanes load adjacent words of v.
#pragma unroll 1
    for (int group = 0; group < C::kSteps; group += C::kGroup) {
      float out[C::kGroup * C::kColumns] = {};  // o, summed over this lane's rows
#pragma unroll
      for (int s = 0; s < C::kGroup; ++s) {
        const int step = group + s;
        float v_reg[C::kColumns];
        load<C::kColumns>(v_reg, v_smem + step * C::kBlockColumns + column);
#pragma unroll
        for (int i = 0; i < C::kRowVecs; ++i) {
          float q_reg[4], k_reg[4];
          // TODO(1): roughly 3 lines; `load` four rows of k and of q, such that a column's
          // TODO(1): kRowLanes lanes together have each row once; budget: two reads of 16 bytes for
          // TODO(1): each i, no bank conflict.
#pragma unroll
          for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int c = 0; c < C::kColumns; ++c) {
              float& kv = state[i * 4 + e][c];
              kv += k_reg[e] * v_reg[c];
              out[s * C::kColumns + c] += q_reg[e] * kv;
            }
          }
        }
      }
      // TODO(2): roughly 1 line; add up the lanes' parts of the sums in `out`, so that row lane l
      // TODO(2): has the whole sums from l * kOut on; budget: no more shuffles than sums.

      constexpr int kOut = C::kGroup * C::kColumns / C::kRowLanes;
      constexpr int kWord = kOut < C::kColumns ? kOut : C::kColumns;
#pragma unroll
      for (int i = 0; i < kOut; i += kWord) {
        const int step = group + (row_lane * kOut + i) / C::kColumns;
        const int c = column + (row_lane * kOut + i) % C::kColumns;
        if (!queries.has(step) || c >= columns) continue;
        if (!kPlain && args.normalize) {
          float denominator = args.eps;
#pragma unroll
          for (int warp = 0; warp < C::kRowWarps; ++warp)
            denominator += denominator_smem[warp * C::kSteps + step];
          const float factor = 1.0f / denominator;
#pragma unroll
          for (int e = 0; e < kWord; ++e)
            out[i + e] *= factor;
        }
        store<kWord>(o_tile + static_cast<std::int64_t>(step) * stride_V + c, out + i);
      }
    }
    __syncthreads();  // all threads have read this tile, and its buffer may be refilled
  }
}

template <typename C, bool kPlain>
void launch_packed(const LinearAttentionArgs& args) {
  ladder::cuda::allow_shared_memory("packed_causal_product", packed_causal_product<C, kPlain>,
                                    C::kSharedBytes);
  const dim3 grid(static_cast<unsigned>((args.V + C::kBlockColumns - 1) / C::kBlockColumns),
                  static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  packed_causal_product<C, kPlain>
      <<<grid, C::kThreads, C::kSharedBytes, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename C>
void launch_packed(const LinearAttentionArgs& args) {
  const bool plain = args.feature_map == ladder::FeatureMap::kIdentity && !args.normalize;
  plain ? launch_packed<C, true>(args) : launch_packed<C, false>(args);
}

void linear_attention(const LinearAttentionArgs& args) {
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  const int multiprocessors = ladder::cuda::multiprocessors_to_fill();
  // Narrow blocks (16 columns) spread few heads over the GPU, and wide ones (32 or 64) load q and k
  // less often. Blocks are narrow while at most 512 of their threads share an SM. Measured on an
  // H200 (132 SMs), B=1, T=1024, in ms, narrow | wide, K=V=64: 0.149 | 0.151 (H=132), 0.192 | 0.154
  // (H=144). K=V=128: 0.153 | 0.160 (H=33), 0.233 | 0.160 (H=36). K=V=256: 0.252 | 0.288 (H=16),
  // 0.385 | 0.287 (H=17).
  const std::int64_t narrow_blocks = args.B * args.H * ((args.V + 15) / 16);
  if (narrow_blocks <= multiprocessors * (args.K <= 64 ? 4 : 2)) {
    if (args.K <= 32) return launch_packed<Cut<8, 1, 2, 16, 32, 16>>(args);
    if (args.K <= 64) return launch_packed<Cut<16, 1, 2, 16, 32, 16>>(args);
    if (args.K <= 128) return launch_packed<Cut<32, 1, 2, 16, 32, 16>>(args);
    return launch_packed<Cut<32, 2, 2, 16, 16, 16>>(args);
  }
  if (args.K <= 32) return launch_packed<Cut<4, 2, 4, 32, 32, 8>>(args);
  if (args.K <= 48) return launch_packed<Cut<4, 3, 4, 64, 32, 8>>(args);
  if (args.K <= 64) return launch_packed<Cut<4, 4, 4, 64, 32, 8>>(args);
  if (args.K <= 128) return launch_packed<Cut<8, 4, 4, 64, 16, 8>>(args);
  return launch_packed<Cut<16, 4, 4, 64, 16, 4>>(args);
}

const ladder::Registration registration{
    {.name = "packed_causal_product",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace shared_mem
