// 08 flash attention: one kernel, one thread per query; keys and values are loaded in tiles.
// Change: rewrite of 08.01, with tiles of 16 keys in shared memory, and a softmax that is corrected
//         from tile to tile instead of a matrix of scores.
// Why:    three kernels write T_q x T_k scores to memory, read them at least four times, and write
//         them again. Here a score is a register.
// Needs:  D = 64, fp32, causal or not, grouped heads, but no key lengths and no packed sequences.
//         Any CUDA GPU.
// Costs:  every block of 128 queries reads all keys and values that its last query sees, and uses
//         no tensor cores.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/attention/attention.hpp"

namespace {

using ladder::BasicAttentionArgs;

// Channels of a head. A thread holds its query and its output, kD floats each, in registers.
constexpr int kD = 64;

// Queries of a block, one per thread, and keys of a tile, one score per register.
constexpr int kQueries = 128, kKeys = 16;

// Elements per access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void copy(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

// Query l sees keys 0 to keys_seen - 1.
__device__ std::int64_t keys_seen(const BasicAttentionArgs<float>& args, std::int64_t l) {
  return args.causal ? l + 1 + args.T_k - args.T_q : args.T_k;
}

__global__ void __launch_bounds__(kQueries) attention_tiles(const BasicAttentionArgs<float> args) {
  // All threads read the same 16 bytes at a time, which is one broadcast without a bank conflict.
  __shared__ alignas(sizeof(float4)) float k_smem[kKeys][kD], v_smem[kKeys][kD];

  const std::int64_t tiles = (args.T_q + kQueries - 1) / kQueries;
  const std::int64_t first_query = blockIdx.x % tiles * kQueries;
  const std::int64_t h = blockIdx.x / tiles % args.H_q, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t b = blockIdx.x / tiles / args.H_q;
  const std::int64_t query = first_query + threadIdx.x;
  const bool exists = query < args.T_q;  // if not, the thread only helps to load
  const std::int64_t row = (b * args.T_q + query) * args.H_q + h;

  float q[kD] = {}, o[kD] = {};
  for (int d = 0; d < kD && exists; d += kVec)
    copy(q + d, args.q + row * kD + d);

  float largest = -INFINITY;  // maximum score so far
  float sum = 0.0f;           // sum of exp(score - largest), the weights with which o sums v
  const std::int64_t last_query = min(first_query + kQueries, args.T_q) - 1;
  for (std::int64_t first = 0; first < keys_seen(args, last_query); first += kKeys) {
    __syncthreads();  // all threads have finished the previous tile; it may be overwritten
    for (int i = threadIdx.x * kVec; i < kKeys * kD; i += kQueries * kVec) {
      // Threads past the last key load that key again. Its score is masked, and 0 times a NaN would
      // be NaN.
      const std::int64_t key = min(first + i / kD, args.T_k - 1);
      const std::int64_t from = ((b * args.T_k + key) * args.H_kv + h_kv) * kD + i % kD;
      copy(k_smem[0] + i, args.k + from), copy(v_smem[0] + i, args.v + from);
    }
    __syncthreads();  // the tile is complete

    float scores[kKeys], tile_largest = largest;
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      // TODO(1): roughly 9 lines; set scores[key] to args.scale * q . k, or -INFINITY if the query
      // TODO(1): does not see key first + key; raise tile_largest to it if that is smaller; budget:
      // TODO(1): 16 reads of 16 bytes of k_smem.
    }

    // Without a key so far the weight is exp(-inf - 0), not exp(-inf + inf).
    const float base = tile_largest == -INFINITY ? 0.0f : tile_largest;
    // TODO(2): roughly 5 lines; rescale sum and o from the maximum before this tile to base;
    // TODO(2): then update largest; budget: one expf.

#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      // TODO(3): roughly 8 lines; add this key's weight, relative to base, to sum, and its weighted
      // TODO(3): value to o; budget: one expf, 16 reads of 16 bytes of v_smem.
    }
  }

  if (!exists) return;
  // TODO(4): roughly 5 lines; store o / sum to args.o (zeros for a query without keys), and lse,
  // TODO(4): the log of the sum of exp(score), to args.lse; budget: 16 stores of 16 bytes, and one
  // TODO(4): of lse.
}

void attention(const BasicAttentionArgs<float>& args) {
  ladder::validate(args);
  ladder::require(args.D == kD, "D is " + std::to_string(args.D) + "; this kernel allows only 64");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows T_k keys for every batch");
  ladder::require(args.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows no packed sequences");
  const std::int64_t blocks = (args.T_q + kQueries - 1) / kQueries * args.B * args.H_q;
  ladder::require(blocks <= INT32_MAX,
                  "B * H_q * T_q is too large; allowed: up to 2^31 - 1 blocks");
  if (blocks == 0) return;
  for (const auto& [name, pointer] : {std::pair{"q", args.q}, {"k", args.k}, {"v", args.v}})
    if (pointer != nullptr) ladder::require_pointer(name, pointer, sizeof(float4));
  ladder::require_pointer("o", args.o, sizeof(float4));
  attention_tiles<<<static_cast<unsigned>(blocks), kQueries>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "attention_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Attention>(attention)}};

}  // namespace
