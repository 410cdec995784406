// 07 chunkwise: WKV on a GPU, 16 steps at a time, (batch, head) per block, value column per thread.
// Change: rewrite of 06.00 for K = V = 64. Inside a chunk each output is a sum of scores times
//         values. The state is updated once per chunk.
// Why:    06 decays and updates 64 state elements per thread at every step, and all its threads
//         wait twice for a single step's rows.
// Needs:  K = V = 64, fp32, forward in time, no states in or out, any CUDA GPU.
// Costs:  16 x 16 scores per chunk, half of them zeros, and 23 KB of shared memory per block. A NaN
//         in v reaches its whole chunk.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// K and V. A block has a thread per value column. While rows are staged, thread i has channel i of
// q, k and w instead.
constexpr int kChannels = 64;

// Steps per chunk. A thread keeps its column of a chunk's values in registers.
constexpr int kChunk = 16;

// Elements per access to shared memory, 16 bytes of float.
constexpr int kVec = 4;

// Rows of a chunk in shared memory. One vector of padding leaves a few bank conflicts, and the page
// shows which padding would end them.
using Rows = float[kChunk][kChannels + kVec];

// For the scores, four threads share a key's channels, and each has one vector in every four.
constexpr int kKeyThreads = kChannels / kChunk;
constexpr int kKeyVectors = kChannels / kVec / kKeyThreads;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

__global__ void __launch_bounds__(kChannels) wkv_chunks(const WkvArgs args) {
  __shared__ alignas(sizeof(float4)) Rows q_smem, k_smem, w_smem;
  __shared__ alignas(sizeof(float4)) Rows q_state_smem, k_state_smem;  // decayed for the state
  __shared__ alignas(sizeof(float4)) float scores_smem[kChunk][kChunk];
  __shared__ alignas(sizeof(float4)) float u_smem[kChannels], w_chunk_smem[kChannels];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H, b = blockIdx.x / args.H;
  const int s = tid / kKeyThreads, part = tid % kKeyThreads;  // this thread's key in a chunk

  float state[kChannels] = {};  // column tid of S, as it is before the chunk
  u_smem[tid] = args.u[h * kChannels + tid];

  for (std::int64_t first = 0; first < args.T; first += kChunk) {
    float v[kChunk];  // column tid of the chunk's values
#pragma unroll
    for (int t = 0; t < kChunk; ++t) {
      // Past the end the last step is loaded again, which no output uses, because a branch would
      // serialize these loads.
      const std::int64_t step = min(first + t, args.T - 1);
      const std::int64_t element = ((b * args.T + step) * args.H + h) * kChannels + tid;
      const std::int64_t decay =
          b * args.log_w_stride_B + step * args.log_w_stride_T + h * kChannels + tid;
      q_smem[t][tid] = args.q[element];
      k_smem[t][tid] = args.k[element];
      w_smem[t][tid] = expf(args.log_w[decay]);
      v[t] = args.v[element];
    }

    // q decays from the chunk's start to its own step, k from its own step to the chunk's end.
    // These decays are products of factors w <= 1.
    float w_before = 1.0f, w_after = 1.0f;
    // TODO(1): roughly 8 lines; store q of each step, decayed since the chunk's start, in
    // TODO(1): q_state_smem, and k, decayed until the chunk's end, in k_state_smem. Use two running
    // TODO(1): products, w_before forwards and w_after backwards, and no division. At the end
    // TODO(1): w_after must be the chunk's decay. budget: each row is read once in shared memory
    // TODO(1): for each product, no expf.
    w_chunk_smem[tid] = w_after;
    __syncthreads();  // the chunk's rows are complete

    // Key s against its own query, with the bonus. It has not decayed yet.
    float key[kKeyVectors][kVec], own_score = 0.0f;
#pragma unroll
    for (int n = 0; n < kKeyVectors; ++n) {
      const int ik = (n * kKeyThreads + part) * kVec;
      alignas(sizeof(float4)) float q4[kVec], u4[kVec];
      read(q4, &q_smem[s][ik]), read(u4, u_smem + ik), read(key[n], &k_smem[s][ik]);
      for (int i = 0; i < kVec; ++i)
        own_score += q4[i] * u4[i] * key[n][i];
    }

    // Against each later query, with the decay of the steps between, one more factor w <= 1 for
    // each. No earlier query sees the key.
    for (int t = 0; t < kChunk; ++t) {
      float score = t == s ? own_score : 0.0f;
      if (t > s) {
#pragma unroll
        for (int n = 0; n < kKeyVectors; ++n) {
          const int ik = (n * kKeyThreads + part) * kVec;
          alignas(sizeof(float4)) float q4[kVec], w4[kVec];
          read(q4, &q_smem[t][ik]), read(w4, &w_smem[t][ik]);
          // TODO(2): roughly 4 lines; add these four channels to key s's score for query t, then
          // TODO(2): decay them in `key` by step t. budget: one multiply-add and one multiplication
          // TODO(2): per channel.
        }
      }
      for (int distance = kKeyThreads / 2; distance > 0; distance /= 2)
        score += __shfl_xor_sync(0xffffffffu, score, distance);
      if (part == 0) scores_smem[t][s] = score;
    }
    __syncthreads();  // the scores are complete

    for (int t = 0; t < kChunk && first + t < args.T; ++t) {
      float sum[kVec] = {};
      // TODO(3): roughly 14 lines; add the decayed query times this thread's column of the state,
      // TODO(3): and the scores times its column of v; read() four at a time, and add to four sums.
      // TODO(3): Unroll both loops, so that state and v stay in registers. budget: 16 + 4 reads of
      // TODO(3): 16 bytes.
      args.o[((b * args.T + first + t) * args.H + h) * kChannels + tid] =
          args.scale * (sum[0] + sum[1] + sum[2] + sum[3]);
    }

#pragma unroll
    for (int ik = 0; ik < kChannels; ik += kVec) {
      alignas(sizeof(float4)) float w4[kVec], k4[kVec];
      // TODO(4): roughly 8 lines; multiply rows ik to ik + 3 of this column by the chunk's decay,
      // TODO(4): then add each key of the chunk, decayed until the chunk's end, times its value.
      // TODO(4): budget: 1 + 16 reads of 16 bytes.
    }
    __syncthreads();  // all threads have finished this chunk; its rows may be overwritten
  }
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require_square_heads_without_state(args, "chapter 07's own kernel");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  wkv_chunks<<<static_cast<unsigned>(args.B * args.H), kChannels>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_chunks",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
