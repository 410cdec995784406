// 07 chunkwise: WKV on a GPU, 16 steps at a time; one block per (batch, head), one thread per value column.
// Change: rewrite of 06.00 for K = V = 64: inside a chunk each output is a sum of scores times values; the state moves on once a chunk.
// Why:    06 decays and updates 64 state elements a thread at every step, and all its threads wait twice for a single step's rows.
// Needs:  K = V = 64, fp32, forward in time, no states in or out; any CUDA GPU.
// Costs:  16 x 16 scores a chunk, half of them zeros; 23 KB of shared memory a block. A NaN in v reaches its whole chunk.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// K and V. A block has a thread for each value column; while rows are staged, thread i has channel i of q, k and w instead.
constexpr int kChannels = 64;

// Steps per chunk. A thread keeps its column of a chunk's values in registers.
constexpr int kChunk = 16;

// Elements per access to shared memory, 16 bytes of float.
constexpr int kVec = 4;

// Rows of a chunk in shared memory. One vector of padding leaves a few bank conflicts; the page says which would end them.
using Rows = float[kChunk][kChannels + kVec];

// For the scores, four threads share a key's channels: each has a quarter of them, one vector in every four.
constexpr int kKeyThreads = kChannels / kChunk;
constexpr int kKeyVectors = kChannels / kVec / kKeyThreads;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

__global__ void __launch_bounds__(kChannels) wkv_chunks(const WkvArgs args) {
  __shared__ alignas(sizeof(float4)) Rows q_smem, k_smem, w_smem;
  __shared__ alignas(sizeof(float4)) Rows q_state_smem, k_state_smem;  // as the state meets them
  __shared__ alignas(sizeof(float4)) float scores_smem[kChunk][kChunk];
  __shared__ alignas(sizeof(float4)) float u_smem[kChannels], w_chunk_smem[kChannels];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H, b = blockIdx.x / args.H;
  const int s = tid / kKeyThreads, part = tid % kKeyThreads;  // this thread's key in a chunk

  float state[kChannels] = {};  // column tid of S, as it is before the chunk
  // TODO(1): roughly 1 line; u of this head goes to u_smem. budget: each element is read once by the block.

  for (std::int64_t first = 0; first < args.T; first += kChunk) {
    float v[kChunk];  // column tid of the chunk's values
    // TODO(1): roughly 12 lines; for each step of the chunk, channel tid of q, k and exp(log_w) goes to q_smem, k_smem and
    // TODO(1): w_smem, and column tid of v to v; log_w has strides of its own. Past the end the last step again. Unrolled, so
    // TODO(1): that v stays in registers and all loads are in flight. budget: one global read of each element of a whole chunk.

    // TODO(2): roughly 11 lines; q as the state before the chunk meets it goes to q_state_smem, k as it goes into the state
    // TODO(2): after the chunk to k_state_smem, the decay of the whole chunk to w_chunk_smem: two running products of factors
    // TODO(2): of at most 1, no division. Then what keeps the writers of these rows and their readers apart. budget: no expf,
    // TODO(2): one barrier.

    // TODO(3): roughly 33 lines; the scores of the chunk, key s of this thread: against its own query with the bonus u, against
    // TODO(3): each later query t after the decays of the steps between, against earlier queries 0. The kKeyThreads neighbours
    // TODO(3): of a key have a quarter of its channels each, vector n * kKeyThreads + part; a shuffle adds their sums, and one
    // TODO(3): of them stores the score to scores_smem[t][s]. Then what keeps writers and readers apart. budget: eight reads of
    // TODO(3): 16 bytes per later query, one barrier.

    for (int t = 0; t < kChunk && first + t < args.T; ++t) {
      // TODO(4): roughly 17 lines; the output of step first + t: what the query, as the state meets it, reads from this
      // TODO(4): thread's column of the state, and the step's row of scores times this thread's column of v; times args.scale.
      // TODO(4): budget: 16 + 4 reads of 16 bytes, one store.
    }

    // TODO(5): roughly 13 lines; the state after the chunk: the decay of the whole chunk, once, and then what each of its keys
    // TODO(5): adds with its value. Then what keeps these readers and the next chunk's writers apart. budget: 17 reads of 16
    // TODO(5): bytes for four rows of the state, one barrier.
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
  // TODO(1): roughly 1 line; the launch: a block for each batch and head, a thread for each value column. budget: one launch.
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_chunks",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
