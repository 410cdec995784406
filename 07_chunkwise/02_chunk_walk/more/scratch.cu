// 07 chunkwise, one block walks the chunks: linear attention with the state on chip.
// Change: rewrite: 16 tokens at a time instead of one: o = q S + (q k^T . M) v inside a chunk, S += k^T v between chunks.
// Why:    products of small matrices instead of a step after the other; this is what tensor cores can do, see 10_linear_attention.
// Needs:  K up to 256, V up to 2^20; all options of linear attention; fp32; any CUDA GPU.
// Costs:  16 x 16 scores per chunk, in every block of columns; B * H * V / 32 blocks, and each walks all of the time.
//         A NaN in v_s reaches its column of o in all of its chunk, the earlier tokens too: 0 times NaN is NaN.
//         See README for what was measured.
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
    // TODO(1): roughly 4 lines; the chunk's rows of q, k and v, by stage_features and stage_values: q has `queries` rows from `query` on, k and
    // TODO(1): v those of the chunk that rows_from finds below `keys`, from `key` on. All threads wait for them. budget: one read of each
    // TODO(1): element by the whole block.

    // TODO(2): roughly 9 lines; score(l, s) = q_l . k_s for all pairs of the chunk, shared out among the threads; 0 where key s is later than
    // TODO(2): query l. All threads wait for them. budget: each score is computed once, none of global memory.

    for (int l = warp; l < queries; l += kWarps) {
      float o = 0.0f;
      // TODO(3): roughly 4 lines; the two products that an output is the sum of: q_l with the state, and l's scores with v. Column of a lane:
      // TODO(3): `lane`. budget: none of global memory.
      const float denominator = __shfl_sync(0xffffffffu, o, kWarpSize - 1) + args.eps;
      if (args.normalize) o /= denominator;
      // TODO(4): roughly 1 line; row l of the chunk, column iv, if this lane has one. budget: one store for each output.
    }
    // TODO(4): roughly 1 line; what all have read so far is about to change.

    // TODO(5): roughly 7 lines; the chunk's k^T v is added to the state, a warp a row, a lane a column; then the next chunk may come to the
    // TODO(5): same places. budget: one read and one write of each state element, none of global memory.
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
