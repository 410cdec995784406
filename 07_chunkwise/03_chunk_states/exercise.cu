// 07 chunkwise, all chunk states in memory: linear attention, parallel over time as well.
// Change: rewrite of 07.02. Three kernels replace the loop. They compute each chunk's own k^T v, a
//         scan over the chunks, and each chunk's outputs.
// Why:    each chunk is a block's work, so that few heads and a long sequence fill the GPU. Only
//         the scan is sequential.
// Needs:  K up to 256, V up to 2^20, all options of linear attention, fp32, any CUDA GPU.
// Costs:  K x V floats per chunk are written, read and written by the scan, and read again. k and v
//         are read twice. A NaN in v_s reaches its column of o in its whole chunk, also earlier
//         tokens, because 0 times NaN is NaN. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/teaching_chunks.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"

namespace chunkwise {
namespace {

using ladder::LinearAttentionArgs;

// A block computes one chunk of one head, and a lane one column of it.
struct Place {
  std::int64_t b, h, chunk, iv;
  std::int64_t query, key;  // the chunk's first tokens, in rows of q and k
  int queries, keys;        // their numbers
  float* state;             // (K, 32), this block's part of the states
};

__device__ Place place_of(const LinearAttentionArgs& args, const Steps& steps, float* states) {
  const std::int64_t chunks = (steps.count + kChunk - 1) / kChunk;
  Place place;
  place.b = blockIdx.z, place.h = blockIdx.y, place.chunk = blockIdx.x % chunks;
  const std::int64_t columns = blockIdx.x / chunks, t = place.chunk * kChunk;
  const std::int64_t l = t - steps.first_query, tiles = gridDim.x / chunks;
  place.iv = columns * columns_of(args) + threadIdx.x % kWarpSize;
  place.query = (place.b * args.T_q + l) * args.H + place.h;
  place.key = (place.b * args.T_k + t) * args.H + place.h;
  place.queries = rows_from(l, args.T_q, kChunk);
  place.keys = rows_from(t, keys_of(args, place.b), kChunk);
  place.state = states + (((place.b * args.H + place.h) * tiles + columns) * chunks + place.chunk) *
                             args.K * kWarpSize;
  return place;
}

// states: (B, H, column tiles, chunks, K, 32)
__global__ void __launch_bounds__(kThreads)
    sum_chunks(const LinearAttentionArgs args, const Steps steps, float* states) {
  extern __shared__ float smem[];
  const int K = static_cast<int>(args.K), stride = row_stride(args);
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  float* const k_smem = smem;                      // (kChunk, stride)
  float* const v_smem = k_smem + kChunk * stride;  // (kChunk, 32)
  const Place place = place_of(args, steps, states);
  stage_features(k_smem, args.k + place.key * K, args, place.keys);
  stage_values(v_smem, args.v + place.key * args.V, args, place.iv, place.keys);
  __syncthreads();

  for (int ik = warp; ik < K; ik += kWarps) {
    float sum = 0.0f;
    for (int s = 0; s < kChunk; ++s)
      sum += k_smem[s * stride + ik] * v_smem[s * kWarpSize + lane];
    place.state[ik * kWarpSize + lane] = sum;
  }
}

// Each chunk's sum becomes the sum of all chunks before it. A thread scans one element of the
// state.
__global__ void __launch_bounds__(kThreads)
    scan_chunks(float* states, std::int64_t elements, std::int64_t heads, std::int64_t chunks) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= elements * heads) return;
  // TODO(1): roughly 7 lines; in each chunk, replace element i % elements of head i / elements by
  // TODO(1): the sum of this element over all earlier chunks; budget: one read and one write of
  // TODO(1): each state element.
}

__global__ void __launch_bounds__(kThreads)
    answer_chunks(const LinearAttentionArgs args, const Steps steps, float* states) {
  extern __shared__ float smem[];
  const int K = static_cast<int>(args.K), stride = row_stride(args);
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  float* const q_smem = smem;                      // (kChunk, stride)
  float* const k_smem = q_smem + kChunk * stride;  // (kChunk, stride)
  float* const v_smem = k_smem + kChunk * stride;  // (kChunk, 32)
  __shared__ float scores_smem[kChunk][kChunk];
  const Place place = place_of(args, steps, states);
  stage_features(q_smem, args.q + place.query * K, args, place.queries);
  stage_features(k_smem, args.k + place.key * K, args, place.keys);
  stage_values(v_smem, args.v + place.key * args.V, args, place.iv, place.keys);
  __syncthreads();

  for (int i = threadIdx.x; i < kChunk * kChunk; i += kThreads) {
    const int l = i / kChunk, s = i % kChunk;
    float score = 0.0f;
    for (int ik = 0; ik < K; ++ik)
      score += q_smem[l * stride + ik] * k_smem[s * stride + ik];
    scores_smem[l][s] = s <= l ? score : 0.0f;
  }
  __syncthreads();

  for (int l = warp; l < place.queries; l += kWarps) {
    float o = 0.0f;
    for (int ik = 0; ik < K; ++ik)
      o += q_smem[l * stride + ik] * place.state[ik * kWarpSize + lane];
    for (int s = 0; s < kChunk; ++s)
      o += scores_smem[l][s] * v_smem[s * kWarpSize + lane];
    const float denominator = __shfl_sync(0xffffffffu, o, kWarpSize - 1) + args.eps;
    if (args.normalize) o /= denominator;
    if (lane < columns_of(args) && place.iv < args.V)
      args.o[(place.query + l * args.H) * args.V + place.iv] = o;
  }
}

void linear_attention(const LinearAttentionArgs& args) {
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  const Steps steps = steps_of(args, kChunk);
  const std::int64_t chunks = (steps.count + kChunk - 1) / kChunk;
  const std::int64_t tiles = (args.V + columns_of(args) - 1) / columns_of(args);
  ladder::require(chunks * tiles <= INT32_MAX,
                  "T or V is too large; chunk_states allows 2^31 - 1 "
                  "chunks of 16 tokens and 31 columns");
  const std::int64_t elements = args.K * kWarpSize, heads = args.B * args.H * tiles;
  ladder::require(heads <= INT32_MAX / elements * kThreads,
                  "B * H * K * V is too large; chunk_states allows states of up to 2^38 elements");
  const auto stage = static_cast<int>((kChunk * row_stride(args)) * sizeof(float));
  const auto values = static_cast<int>(kChunk * kWarpSize * sizeof(float));
  const dim3 grid(static_cast<unsigned>(chunks * tiles), static_cast<unsigned>(args.H),
                  static_cast<unsigned>(args.B));
  const ladder::cuda::Scratch<float> states(heads * chunks * elements);
  sum_chunks<<<grid, kThreads, stage + values, ladder::cuda::stream()>>>(args, steps,
                                                                         states.pointer());
  CUDA_CHECK(cudaGetLastError());
  scan_chunks<<<static_cast<unsigned>((elements * heads + kThreads - 1) / kThreads), kThreads, 0,
                ladder::cuda::stream()>>>(states.pointer(), elements, heads, chunks);
  CUDA_CHECK(cudaGetLastError());
  answer_chunks<<<grid, kThreads, 2 * stage + values, ladder::cuda::stream()>>>(args, steps,
                                                                                states.pointer());
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_chunk_states",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
