// 08 flash attention, backward: the gradients of softmax attention, tile by tile, in fp32.
// Change: rewrite, in which the scores are not read but recomputed, p = exp(s - lse), from tiles of
//         q and k in shared memory.
// Why:    the forward pass keeps one number per query instead of T_k. Memory grows with T, not with
//         T^2.
// Needs:  D up to 256, any scale, fp32, bf16 or fp16.
// Costs:  S and dO V^T twice, once for dK and dV and once for dQ, and no tensor cores. Repeatable.
//         See README.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "08_flash_attention/clear_gradients.hpp"
#include "08_flash_attention/sequence.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using ladder::BasicAttentionArgs;
using ladder::BasicAttentionGradArgs;
using ladder::bfloat16;
using ladder::float16;
using ladder::FullAttentionGradArgs;

constexpr int kWarpSize = 32;
constexpr int kTile = 32;  // queries and keys of a tile, in which a lane has one column of scores
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kRows = kTile / kWarps;           // per warp
constexpr int kMostChannels = 256 / kWarpSize;  // per lane, which has every 32nd
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr std::int64_t kMostRows =
    std::int64_t{INT32_MAX} * kWarps;  // the limit of a grid, in warps

// ---- delta = rowsum(d_o * o) ----

// A warp has one of the B * T_q * H_q rows.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    sum_rows(const BasicAttentionGradArgs<Element> args, float* delta) {  // (B, T_q, H_q)
  const BasicAttentionArgs<Element>& forward = args.forward;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  if (row >= forward.B * forward.T_q * forward.H_q) return;
  const int lane = threadIdx.x % kWarpSize;
  float sum = 0.0f;
  for (int i = lane; i < forward.D; i += kWarpSize) {
    const std::int64_t at = row * forward.D + i;
    sum += ladder::cuda::load(args.d_o + at) * ladder::cuda::load(forward.o + at);
  }
  for (int step = 1; step < kWarpSize; step *= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, step);
  if (lane == 0) delta[row] = sum;
}

// ---- The gradients ----

// One head's rows in an array (rows, H, D).
template <typename Element>
struct Rows {
  Element* data;
  std::int64_t stride;

  __device__ Rows(Element* array, std::int64_t first_row, std::int64_t H, int head, std::int64_t D)
      : data(array + (first_row * H + head) * D), stride(H * D) {}
  __device__ Element* at(int row) const { return data + row * stride; }
};

// Copies rows to a tile of floats. Rows of D + 1 put a column into 32 banks. Rows from `rows` on
// are zeros.
template <typename Element>
__device__ void fetch(float* to_smem, const Rows<const Element>& from, int first, int rows, int D) {
  for (int i = threadIdx.x; i < kTile * D; i += kThreads) {
    const int row = i / D, column = i % D;
    to_smem[row * (D + 1) + column] =
        first + row < rows ? ladder::cuda::load(from.at(first + row) + column) : 0.0f;
  }
}

// A block keeps a tile of keys (k and v) or of queries (q and d_o), and tiles of the others are
// streamed past it. `stay` and `pass` are the first of each pair. A row of the kept tile
// accumulates ds * pass, its dk or dq, and a key also p * d_o, its dv. The grid is kept tile, its
// head, sequence.
template <bool kKeysStay, typename Element>
__global__ void __launch_bounds__(kThreads)
    tile_gradients(const BasicAttentionGradArgs<Element> args, const float* delta) {
  extern __shared__ float smem[];
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Sequence sequence = sequence_of(forward, blockIdx.z);
  const int D = forward.D, H_q = forward.H_q, H_kv = forward.H_kv, group = H_q / H_kv;
  const int queries = sequence.queries, keys = sequence.keys;
  const int first = blockIdx.x * kTile;
  // Keys past a batch's length get gradients of zero.
  const int keys_written = forward.key_lengths != nullptr ? forward.T_k : keys;
  if (first >= (kKeysStay ? keys_written : queries)) return;
  const int first_head = kKeysStay ? blockIdx.y * group : blockIdx.y;  // of the queries
  const int kv_head = first_head / group;

  float* const stay_smem = smem;
  float* const stay_value_smem = stay_smem + kTile * (D + 1);
  float* const pass_smem = stay_value_smem + kTile * (D + 1);
  float* const pass_value_smem = pass_smem + kTile * (D + 1);
  float* const p_smem = pass_value_smem + kTile * (D + 1);
  float* const ds_smem = p_smem + kTile * kTile;

  const Rows k(forward.k, sequence.first_key, H_kv, kv_head, D);
  const Rows v(forward.v, sequence.first_key, H_kv, kv_head, D);
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  float sum[kRows][kMostChannels] = {}, value_sum[kRows][kMostChannels] = {};

  for (int head = first_head; head < first_head + (kKeysStay ? group : 1); ++head) {
    const Rows q(forward.q, sequence.first_query, H_q, head, D);
    const Rows d_o(args.d_o, sequence.first_query, H_q, head, D);
    __syncthreads();  // all warps have finished the previous head, whose tiles may be overwritten
    fetch(stay_smem, kKeysStay ? k : q, first, kKeysStay ? keys : queries, D);
    fetch(stay_value_smem, kKeysStay ? v : d_o, first, kKeysStay ? keys : queries, D);

    // Queries that see the tile's first key, or keys that the tile's last query sees.
    const int passing =
        kKeysStay ? queries : static_cast<int>(sequence.keys_seen(min(first + kTile, queries) - 1));
    const int first_seeing = first + (queries - keys);
    const int start = kKeysStay && sequence.causal && first_seeing > 0 ? first_seeing : 0;
    for (int tile = start / kTile * kTile; tile < passing; tile += kTile) {
      __syncthreads();  // all warps have finished the previous tile, which may be overwritten
      fetch(pass_smem, kKeysStay ? q : k, tile, kKeysStay ? queries : keys, D);
      fetch(pass_value_smem, kKeysStay ? d_o : v, tile, kKeysStay ? queries : keys, D);
      __syncthreads();
      for (int r = 0; r < kRows; ++r) {
        const int row = warp * kRows + r;
        float s = 0.0f, dp = 0.0f;
        for (int i = 0; i < D; ++i) {
          s += stay_smem[row * (D + 1) + i] * pass_smem[lane * (D + 1) + i];
          dp += stay_value_smem[row * (D + 1) + i] * pass_value_smem[lane * (D + 1) + i];
        }
        const int query = kKeysStay ? tile + lane : first + row;
        const int key = kKeysStay ? first + row : tile + lane;
        float p = 0.0f, ds = 0.0f;
        if (query < queries && key < sequence.keys_seen(query)) {
          p = expf(forward.scale * s -
                   forward.lse[sequence.first_lse + head * forward.T_q + query]);
          ds = p * (dp - delta[(sequence.first_query + query) * H_q + head]);
        }
        p_smem[row * kTile + lane] = p;
        ds_smem[row * kTile + lane] = ds;
      }
      __syncwarp();  // a warp reads only its own rows
      for (int i = 0; i < kTile; ++i) {
#pragma unroll
        for (int c = 0; c < kMostChannels; ++c) {
          const int column = c * kWarpSize + lane;
          if (column >= D) break;
          const float x = pass_smem[i * (D + 1) + column];
          const float y = pass_value_smem[i * (D + 1) + column];
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            const int at = (warp * kRows + r) * kTile + i;
            sum[r][c] += ds_smem[at] * x;
            if constexpr (kKeysStay) value_sum[r][c] += p_smem[at] * y;
          }
        }
      }
    }
  }

  const int written = kKeysStay ? keys_written : queries;
  const Rows to(kKeysStay ? args.dk : args.dq,
                kKeysStay ? sequence.first_key : sequence.first_query, kKeysStay ? H_kv : H_q,
                blockIdx.y, D);
  const Rows to_value(args.dv, sequence.first_key, H_kv, kv_head, D);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = first + warp * kRows + r;
    if (row >= written) continue;
#pragma unroll
    for (int c = 0; c < kMostChannels; ++c) {
      const int column = c * kWarpSize + lane;
      if (column >= D) break;
      ladder::cuda::store(to.at(row) + column, forward.scale * sum[r][c]);
      if constexpr (kKeysStay) ladder::cuda::store(to_value.at(row) + column, value_sum[r][c]);
    }
  }
}

// ---- Launcher ----

template <bool kKeysStay, typename Element>
void launch(const BasicAttentionGradArgs<Element>& args, const float* delta, int bytes) {
  const BasicAttentionArgs<Element>& forward = args.forward;
  const std::int64_t T = kKeysStay ? forward.T_k : forward.T_q;
  if (T == 0) return;
  const dim3 grid((T + kTile - 1) / kTile, kKeysStay ? forward.H_kv : forward.H_q,
                  sequence_count(forward));
  tile_gradients<kKeysStay, Element>
      <<<grid, kThreads, bytes, ladder::cuda::stream()>>>(args, delta);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention_backward(const FullAttentionGradArgs<Element>& all) {
  validate(all);
  all.require_part();
  const BasicAttentionGradArgs<Element> args = all.part();
  const BasicAttentionArgs<Element>& forward = args.forward;
  constexpr int kMostD = kMostChannels * kWarpSize;
  ladder::require(forward.D <= kMostD, "D is " + std::to_string(forward.D) +
                                           "; this kernel allows up to " + std::to_string(kMostD));
  require_grid(forward);
  if (forward.B == 0) return;
  if (sequence_count(forward) == 0) return clear_gradients(args);
  const int bytes =
      (4 * kTile * (static_cast<int>(forward.D) + 1) + 2 * kTile * kTile) * sizeof(float);
  constexpr const char* kWho = "attention_backward_scalar";
  ladder::cuda::allow_shared_memory(kWho, tile_gradients<true, Element>, bytes);
  ladder::cuda::allow_shared_memory(kWho, tile_gradients<false, Element>, bytes);
  const std::int64_t rows = forward.B * forward.T_q * forward.H_q;
  ladder::require(rows <= kMostRows, "B * T_q * H_q is " + std::to_string(rows) +
                                         "; allowed in the scalar backward pass: up to " +
                                         std::to_string(kMostRows));
  const ladder::cuda::Scratch<float> delta(rows);
  if (rows > 0) {
    sum_rows<Element><<<(rows + kWarps - 1) / kWarps, kThreads, 0, ladder::cuda::stream()>>>(
        args, delta.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  launch<true>(args, delta.pointer(), bytes);
  launch<false>(args, delta.pointer(), bytes);
}

const ladder::Registration registration{
    {.name = "attention_backward_scalar",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::AttentionBackward>(
         attention_backward<float>, attention_backward<bfloat16>, attention_backward<float16>)}};

}  // namespace
}  // namespace flash_attention
