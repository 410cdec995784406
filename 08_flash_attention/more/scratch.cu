// 08 flash attention: softmax attention on a GPU in one kernel, one thread per query; keys and values come in tiles.
// Change: rewrite of 08.01: tiles of 16 keys in shared memory, and a softmax corrected from tile to tile instead of a matrix of scores.
// Why:    three kernels write T_q x T_k scores to memory, read them four times and more, and write them again; here a score is a register.
// Needs:  D = 64, fp32, causal or not, grouped heads; no key lengths, no packed sequences; any CUDA GPU.
// Costs:  every block of 128 queries reads all keys and values that its last query sees; no tensor cores.
//         See README for what was measured.
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

// Channels of a head: a thread holds its query and its output, kD floats each, in registers.
constexpr int kD = 64;

// Queries of a block, one for each thread, and keys of a tile, one score each in a register of every thread.
constexpr int kQueries = 128, kKeys = 16;

// Elements per access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void copy(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

// The keys that query l sees: the first so many.
__device__ std::int64_t keys_seen(const BasicAttentionArgs<float>& args, std::int64_t l) {
  return args.causal ? l + 1 + args.T_k - args.T_q : args.T_k;
}

__global__ void __launch_bounds__(kQueries) attention_tiles(const BasicAttentionArgs<float> args) {
  // All threads read the same 16 bytes at a time: one broadcast, no bank conflict.
  __shared__ alignas(sizeof(float4)) float k_smem[kKeys][kD], v_smem[kKeys][kD];

  const std::int64_t tiles = (args.T_q + kQueries - 1) / kQueries;
  const std::int64_t first_query = blockIdx.x % tiles * kQueries;
  const std::int64_t h = blockIdx.x / tiles % args.H_q, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t b = blockIdx.x / tiles / args.H_q;
  const std::int64_t query = first_query + threadIdx.x;
  const bool exists = query < args.T_q;  // if not, the thread helps to load, and stores nothing
  const std::int64_t row = (b * args.T_q + query) * args.H_q + h;

  float q[kD] = {}, o[kD] = {};
  // TODO(1): roughly 2 lines; this thread's query to q, if it exists; budget: 16 reads of 16 bytes.

  float largest = -INFINITY;  // score so far
  float sum = 0.0f;           // of exp(score - largest); o is the sum of the same weights times v
  const std::int64_t last_query = min(first_query + kQueries, args.T_q) - 1;
  for (std::int64_t first = 0; first < keys_seen(args, last_query); first += kKeys) {
    // TODO(2): roughly 8 lines; rows first to first + kKeys - 1 of k and v go to k_smem and v_smem, shared out among the threads, 16 bytes at
    // TODO(2): a time; past the last key the last one again; and what keeps threads apart that write and read the same rows.
    // TODO(2): budget: one global read of each element by the whole block, two barriers.

    float scores[kKeys], tile_largest = largest;
    // TODO(3): roughly 11 lines; for each key of the tile its score, args.scale * q . k, or -INFINITY where the query does not see it; and
    // TODO(3): the largest score so far, to tile_largest; budget: 16 reads of 16 bytes of k_smem for each key.

    // No key so far: its weight is exp(-inf - 0), not exp(-inf + inf).
    const float base = tile_largest == -INFINITY ? 0.0f : tile_largest;
    // TODO(4): roughly 15 lines; sum and o become relative to base, and largest is the new one; then for each key its weight goes to sum,
    // TODO(4): and its value with that weight to o; budget: one expf for the tile and for each key; 16 reads of 16 bytes of v_smem per key.
  }

  if (!exists) return;
  // TODO(5): roughly 5 lines; o divided by sum, 0 where there is no key, goes out; and lse = log of the sum of exp(score);
  // TODO(5): budget: 16 stores of 16 bytes, and one of lse.
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
  // TODO(1): roughly 1 line; the launch: as many blocks as there are, a thread for each query; budget: one launch.
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "attention_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Attention>(attention)}};

}  // namespace
