// 06 shared_mem: the causal product for few heads, parallel over time by prefix sums.
// Change: rewrite. A warp has a few consecutive steps, a lane a few key rows. The state before the
//         warp's first step is a prefix sum over the block's warps.
// Why:    with few heads most of a GPU idles. A block computes 16 to 64 steps of 8 columns at once.
// Needs:  K (to 256) and V multiples of 4, 16-byte aligned arrays, warp shuffles.
// Costs:  k v is summed twice (three FMAs, not two), and each block of 8 columns fetches q and k.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "06_shared_mem/causal_product.hpp"
#include "06_shared_mem/lane_sums.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"

namespace shared_mem {
namespace {

using ladder::LinearAttentionArgs;

// Fetches rows (or columns) of kSteps consecutive time steps into registers.
template <int kSteps, int kCount>
__device__ void fetch(float (&x_reg)[kSteps][kCount], const float* x, int stride, Range range,
                      int width) {
  constexpr int kWord = kCount < 4 ? kCount : 4;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int i = 0; i < kCount; i += kWord) {
#pragma unroll
      for (int e = 0; e < kWord; ++e)
        x_reg[s][i + e] = 0.0f;
      if (range.has(s) && i < width) {
        load<kWord>(x_reg[s] + i, x + static_cast<std::int64_t>(s) * stride + i);
      }
    }
  }
}

// Applies phi. Elements past the end stay 0, although phi(0) is 1.
template <int kSteps, int kCount>
__device__ void map_features(float (&x_reg)[kSteps][kCount], Range range, int width) {
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      x_reg[s][i] = range.has(s) && i < width ? elu_plus_one(x_reg[s][i]) : 0.0f;
  }
}

// Lane l has kRows rows from l * kRows on. With kNormalize, one more column, of ones, sums k.
template <int kRows, int kSteps, int kWarps, bool kNormalize>
__global__ void __launch_bounds__(kWarps * 32)
    prefix_causal_product(const LinearAttentionArgs args) {
  constexpr int kColumns = kPrefixColumns + (kNormalize ? 1 : 0);
  constexpr int kState = kColumns * kRows * 32;  // a block's part of the state
  constexpr int kThreads = kWarps * 32;
  constexpr int kScans = (kState + kThreads - 1) / kThreads;
  // Adjacent lanes use adjacent words, so there are no bank conflicts.
  extern __shared__ float sum_smem[];  // (kWarps, kColumns, kRows, 32)

  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kPrefixColumns;
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const Steps steps = steps_of(args, b);
  const int rows = static_cast<int>(args.K) - lane * kRows;
  const int columns = static_cast<int>(args.V - first_column);
  const int stride_K = static_cast<int>(args.H * args.K);
  const int stride_V = static_cast<int>(args.H * args.V);
  const float* q = args.q + (b * args.T_q * args.H + h) * args.K + lane * kRows;
  const float* k = args.k + (b * args.T_k * args.H + h) * args.K + lane * kRows;
  const float* v = args.v + (b * args.T_k * args.H + h) * args.V + first_column;
  float* o = args.o + (b * args.T_q * args.H + h) * args.V + first_column;

  float next_q[kSteps][kRows], next_k[kSteps][kRows], next_v[kSteps][kPrefixColumns];
  const auto fetch_next = [&](std::int64_t t) {
    const std::int64_t l = t - steps.first_query;
    const Range keys = range_of<kSteps>(t, steps.keys);
    fetch(next_q, q + l * stride_K, stride_K, range_of<kSteps>(l, args.T_q), rows);
    fetch(next_k, k + t * stride_K, stride_K, keys, rows);
    fetch(next_v, v + t * stride_V, stride_V, keys, columns);
  };
  float* const mine = sum_smem + warp * kState + lane;  // (kColumns, kRows), 32 apart
  float carry[kScans] = {};                             // the state before the iteration

  fetch_next(warp * kSteps);
  for (std::int64_t t0 = 0; t0 < steps.end; t0 += kWarps * kSteps) {
    const std::int64_t t = t0 + warp * kSteps;
    float q_reg[kSteps][kRows], k_reg[kSteps][kRows], v_reg[kSteps][kColumns];
    const std::int64_t l = t - steps.first_query;
    const Range queries = range_of<kSteps>(l, args.T_q);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        q_reg[s][r] = next_q[s][r], k_reg[s][r] = next_k[s][r];
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        v_reg[s][c] = c < kPrefixColumns ? next_v[s][c % kPrefixColumns] : 1.0f;
    }
    if (args.feature_map != ladder::FeatureMap::kIdentity) {
      map_features(q_reg, queries, rows);
      map_features(k_reg, range_of<kSteps>(t, steps.keys), rows);
    }
    fetch_next(t + kWarps * kSteps);

    // 1. The sum that this warp's steps add to the state.
#pragma unroll
    for (int i = 0; i < kColumns * kRows; ++i) {
      float sum = 0.0f;
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        sum += k_reg[s][i % kRows] * v_reg[s][i / kRows];
      mine[i * 32] = sum;
    }
    __syncthreads();

    // 2. Sums over earlier warps. Each thread accumulates its elements of the state over all warps.
#pragma unroll
    for (int i = 0; i < kScans; ++i) {
      const int element = i * kThreads + tid;
      if (kState % kThreads != 0 && element >= kState) continue;
      // TODO(1): roughly 7 lines; replace each warp's sum by this element of the state before that
      // TODO(1): warp's steps; set carry[i] to the element's value after the iteration; budget: one
      // TODO(1): read and one write of shared memory for each sum.
    }
    // The prefix sums are complete. No other barrier is needed, because in the next iteration a
    // lane overwrites only words that it alone reads below.
    __syncthreads();

    // 3. The warp's own steps, from the state before them.
    float out[kSteps * kPrefixColumns] = {}, denominator[kSteps] = {};
#pragma unroll
    for (int i = 0; i < kColumns * kRows; ++i) {
      const int row = i % kRows, c = i / kRows;
      float kv = mine[i * 32];
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        // TODO(2): roughly 4 lines; add this step's k v to `kv`, then q times `kv` to this step's
        // TODO(2): sum for column c in `out`, or, past the last column of v, to this step's
        // TODO(2): denominator; budget: two multiply-adds.
      }
    }

    // 4. The dot products with q, over 32 lanes. A lane's sums and denominator have the same step.
    sum_over_lanes<kSteps * kPrefixColumns, 32>(out, lane);
    constexpr int kOut = kSteps * kPrefixColumns / 32;
    static_assert(kOut >= 1 && kPrefixColumns % kOut == 0 && kSteps <= 32);
    const int step = lane * kOut / kPrefixColumns;
    const int c = lane * kOut % kPrefixColumns;
    if constexpr (kNormalize) {
      sum_over_lanes<kSteps, 32>(denominator, lane);
      const float factor = 1.0f / (denominator[0] + args.eps);
#pragma unroll
      for (int i = 0; i < kOut; ++i)
        out[i] *= factor;
    }
    if (queries.has(step) && c < columns) store<kOut>(o + (l + step) * stride_V + c, out);
  }
}

template <int kRows, int kSteps, int kWarps, bool kNormalize>
void launch_prefix(const LinearAttentionArgs& args) {
  constexpr int kSharedBytes =
      kWarps * (kPrefixColumns + (kNormalize ? 1 : 0)) * kRows * 32 * sizeof(float);
  ladder::cuda::allow_shared_memory("prefix_causal_product",
                                    prefix_causal_product<kRows, kSteps, kWarps, kNormalize>,
                                    kSharedBytes);
  const dim3 grid(static_cast<unsigned>((args.V + kPrefixColumns - 1) / kPrefixColumns),
                  static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  prefix_causal_product<kRows, kSteps, kWarps, kNormalize>
      <<<grid, kWarps * 32, kSharedBytes, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <int kRows, int kSteps, int kWarps>
void launch_prefix(const LinearAttentionArgs& args) {
  if (args.normalize) return launch_prefix<kRows, kSteps, kWarps, true>(args);
  return launch_prefix<kRows, kSteps, kWarps, false>(args);
}

// Four warps if they cover the whole sequence in one iteration, eight otherwise. 16 warps leave 128
// registers per thread, enough for half the steps, and were faster at no length.
template <int kRows, int kSteps>
void launch_prefix(const LinearAttentionArgs& args) {
  if (args.T_q <= 4 * kSteps) return launch_prefix<kRows, kSteps, 4>(args);
  return launch_prefix<kRows, kSteps, 8>(args);
}

void linear_attention(const LinearAttentionArgs& args) {
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  if (args.K <= 32) return launch_prefix<1, 8>(args);
  if (args.K <= 64) return launch_prefix<2, 8>(args);
  if (args.K <= 128) return launch_prefix<4, 4>(args);
  return launch_prefix<8, 4>(args);
}

const ladder::Registration registration{
    {.name = "prefix_causal_product",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace shared_mem
