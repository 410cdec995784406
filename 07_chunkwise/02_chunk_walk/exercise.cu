// 07 chunkwise, one block loops over the chunks: linear attention with the state on chip.
// Change: rewrite for 16 tokens at a time instead of one, with o = q S + (q k^T . M) v inside a
//         chunk, and S += k^T v between chunks.
// Why:    products of small matrices replace single steps. Tensor cores can compute them, as in
//         10_linear_attention.
// Needs:  K up to 256, V up to 2^20, all options of linear attention, fp32, any CUDA GPU.
// Costs:  16 x 16 scores per chunk, in every block of columns. Each of the B * H * V / 32 blocks
//         goes through all of time. A NaN in v_s reaches its column of o in its whole chunk, also
//         earlier tokens, because 0 times NaN is NaN. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/teaching_chunks.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"

namespace chunkwise {
namespace {

using ladder::LinearAttentionArgs;

__global__ void __launch_bounds__(kThreads)
    walk_chunks(const LinearAttentionArgs args, const Steps steps) {
  extern __shared__ float smem[];
  const int K = static_cast<int>(args.K), stride = row_stride(args);
  float* const q_smem = smem;                             // (kChunk, stride)
  float* const k_smem = q_smem + kChunk * stride;         // (kChunk, stride)
  float* const v_smem = k_smem + kChunk * stride;         // (kChunk, 32)
  float* const state_smem = v_smem + kChunk * kWarpSize;  // (K, 32)
  __shared__ float scores_smem[kChunk][kChunk];

  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const std::int64_t iv = static_cast<std::int64_t>(blockIdx.x) * columns_of(args) + lane;
  const bool has_column = lane < columns_of(args) && iv < args.V;
  const std::int64_t keys = keys_of(args, b);

  for (int ik = warp; ik < K; ik += kWarps)
    state_smem[ik * kWarpSize + lane] = 0.0f;

  for (std::int64_t t = 0; t < steps.count; t += kChunk) {
    const std::int64_t l0 = t - steps.first_query;
    const int queries = rows_from(l0, args.T_q, kChunk);
    const std::int64_t query = (b * args.T_q + l0) * args.H + h,
                       key = (b * args.T_k + t) * args.H + h;
    stage_features(q_smem, args.q + query * K, args, queries);
    stage_features(k_smem, args.k + key * K, args, rows_from(t, keys, kChunk));
    stage_values(v_smem, args.v + key * args.V, args, iv, rows_from(t, keys, kChunk));
    __syncthreads();  // the chunk is in shared memory

    for (int i = threadIdx.x; i < kChunk * kChunk; i += kThreads) {
      const int l = i / kChunk, s = i % kChunk;
      float score = 0.0f;
      for (int ik = 0; ik < K; ++ik)
        score += q_smem[l * stride + ik] * k_smem[s * stride + ik];
      // TODO(2): roughly 1 line; apply the causal mask to score; budget: no access to memory.
      scores_smem[l][s] = score;
    }
    __syncthreads();  // all scores are in shared memory

    for (int l = warp; l < queries; l += kWarps) {
      float o = 0.0f;
      for (int ik = 0; ik < K; ++ik)
        o += q_smem[l * stride + ik] * state_smem[ik * kWarpSize + lane];
      for (int s = 0; s < kChunk; ++s)
        o += scores_smem[l][s] * v_smem[s * kWarpSize + lane];
      const float denominator = __shfl_sync(0xffffffffu, o, kWarpSize - 1) + args.eps;
      if (args.normalize) o /= denominator;
      if (has_column) args.o[(query + l * args.H) * args.V + iv] = o;
    }
    __syncthreads();  // all warps have read the old state, so it may be updated

    // TODO(1): roughly 6 lines; add the chunk's k^T v to the state, each warp in its share of the
    // TODO(1): rows, each lane in one column; budget: one read and one write of each state element,
    // TODO(1): none of global memory.
    __syncthreads();  // all threads have finished this chunk, so its buffer is free
  }
}

void linear_attention(const LinearAttentionArgs& args) {
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  const auto bytes = static_cast<int>(
      (2 * kChunk * row_stride(args) + (kChunk + args.K) * kWarpSize) * sizeof(float));
  ladder::cuda::allow_shared_memory("linear_attention_chunk_walk", walk_chunks, bytes);
  const std::int64_t columns = columns_of(args);
  const dim3 grid(static_cast<unsigned>((args.V + columns - 1) / columns),
                  static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  walk_chunks<<<grid, kThreads, bytes>>>(args, steps_of(args, kChunk));
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_chunk_walk",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
