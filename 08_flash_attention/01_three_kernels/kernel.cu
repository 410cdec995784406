// 08 flash attention, the baseline: softmax attention as on paper, in three kernels.
// Change: none, because this is the first attention. It writes scores = scale q k^T with the mask
//         to memory, applies softmax to each row in place, and computes o = weights v.
// Why:    each line of the formula is a kernel of its own. The rest of the chapter removes the
//         costs of this.
// Needs:  any D, fp32, bf16 or fp16, a causal mask, lengths and packed sequences. Any CUDA GPU.
// Costs:  T_q * T_k floats per head, written twice and read 3 + D / 16 times.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "08_flash_attention/sequence.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using ladder::cuda::load;
using ladder::cuda::store;

constexpr int kWarpSize = 32;

// A block of kTile x kTile threads computes a tile of a product, one element per thread. Rows are
// padded by one, so that the elements of a column are in different banks.
constexpr int kTile = 16;
constexpr int kStride = kTile + 1;

constexpr int kRowWarps = 4;  // of a block of the softmax, each with a row
constexpr std::int64_t kMostGridRows = 65535;

// Index of a query's score with key 0. Rows are counted as in lse.
__device__ std::int64_t score_row(const Sequence& sequence, std::int64_t h, std::int64_t l,
                                  std::int64_t T_q, std::int64_t T_k) {
  return (sequence.first_lse + h * T_q + l) * T_k;
}

// Reduces a value over the warp, so that all lanes get the result.
template <typename Combine>
__device__ float over_warp(float x, Combine combine) {
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2)
    x = combine(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

template <typename Element>
__global__ void __launch_bounds__(kTile* kTile)
    attention_scores(const BasicAttentionArgs<Element> args, float* scores) {
  __shared__ float q_smem[kTile][kStride], k_smem[kTile][kStride];
  const Sequence sequence = sequence_of(args, blockIdx.z / args.H_q);
  const std::int64_t h = blockIdx.z % args.H_q, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t first_query = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_key = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int row = threadIdx.y, column = threadIdx.x;
  const std::int64_t query = first_query + row, key = first_key + column;
  const Element* const q =
      args.q + ((sequence.first_query + query) * args.H_q + h) * args.D + column;
  const Element* const k =
      args.k + ((sequence.first_key + first_key + row) * args.H_kv + h_kv) * args.D + column;

  float score = 0.0f;
  for (std::int64_t d = 0; d < args.D; d += kTile) {
    const bool in_row = d + column < args.D;
    q_smem[row][column] = in_row && query < sequence.queries ? load(q + d) : 0.0f;
    k_smem[row][column] = in_row && first_key + row < sequence.keys ? load(k + d) : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int i = 0; i < kTile; ++i)
      score += q_smem[row][i] * k_smem[column][i];
    __syncthreads();  // all threads have read the tiles, which may be overwritten
  }
  if (query >= sequence.queries || key >= sequence.keys) return;
  scores[score_row(sequence, h, query, args.T_q, args.T_k) + key] =
      key < sequence.keys_seen(query) ? args.scale * score : -INFINITY;
}

template <typename Element>
__global__ void __launch_bounds__(kRowWarps* kWarpSize)
    attention_softmax(const BasicAttentionArgs<Element> args, float* scores) {
  const Sequence sequence = sequence_of(args, blockIdx.z);
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.y;
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.x) * kRowWarps + warp;
  if (query >= sequence.queries) return;
  float* const row = scores + score_row(sequence, h, query, args.T_q, args.T_k);

  float m = -INFINITY;
  for (std::int64_t key = lane; key < sequence.keys; key += kWarpSize)
    m = fmaxf(m, row[key]);
  m = over_warp(m, [](float a, float b) { return fmaxf(a, b); });

  // For a row without a key, -inf - -inf would be NaN, but -inf - 0 gives a weight of 0.
  const float base = m == -INFINITY ? 0.0f : m;
  float l = 0.0f;
  for (std::int64_t key = lane; key < sequence.keys; key += kWarpSize)
    l += expf(row[key] - base);
  l = over_warp(l, [](float a, float b) { return a + b; });

  const float weight = l == 0.0f ? 0.0f : 1.0f / l;
  for (std::int64_t key = lane; key < sequence.keys; key += kWarpSize)
    row[key] = weight * expf(row[key] - base);
  if (lane == 0) args.lse[sequence.first_lse + h * args.T_q + query] = m + logf(l);
}

template <typename Element>
__global__ void __launch_bounds__(kTile* kTile)
    attention_values(const BasicAttentionArgs<Element> args, const float* weights) {
  __shared__ float p_smem[kTile][kStride], v_smem[kTile][kStride];
  const Sequence sequence = sequence_of(args, blockIdx.z / args.H_q);
  const std::int64_t h = blockIdx.z % args.H_q, h_kv = h / (args.H_q / args.H_kv);
  const int row = threadIdx.y, column = threadIdx.x;
  const std::int64_t query = static_cast<std::int64_t>(blockIdx.y) * kTile + row;
  const std::int64_t d = static_cast<std::int64_t>(blockIdx.x) * kTile + column;
  const float* const p = weights + score_row(sequence, h, query, args.T_q, args.T_k);
  const Element* const v = args.v + (sequence.first_key * args.H_kv + h_kv) * args.D + d;

  float o = 0.0f;
  for (std::int64_t key = 0; key < sequence.keys; key += kTile) {
    const bool has_weight = query < sequence.queries && key + column < sequence.keys;
    const bool has_value = d < args.D && key + row < sequence.keys;
    p_smem[row][column] = has_weight ? p[key + column] : 0.0f;
    v_smem[row][column] = has_value ? load(v + (key + row) * args.H_kv * args.D) : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int i = 0; i < kTile; ++i)
      o += p_smem[row][i] * v_smem[i][column];
    __syncthreads();  // all threads have read the tiles, which may be overwritten
  }
  if (query >= sequence.queries || d >= args.D) return;
  store(args.o + ((sequence.first_query + query) * args.H_q + h) * args.D + d, o);
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  ladder::validate(args);
  const std::int64_t sequences = sequence_count(args);
  ladder::require(args.H_q <= kMostGridRows && sequences <= kMostGridRows / args.H_q,
                  "H_q times the number of sequences: chapter 08's three kernels allow 0 to 65535");
  ladder::require(args.T_q <= kMostGridRows * kTile,
                  "T_q: chapter 08's three kernels allow 0 to 1048560");
  if (args.T_q == 0 || sequences == 0) return;

  const auto tiles = [](std::int64_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile); };
  const auto heads = static_cast<unsigned>(args.H_q), all = static_cast<unsigned>(sequences);
  const dim3 tile(kTile, kTile);
  const ladder::cuda::Scratch<float> scores(args.B * args.H_q * args.T_q * args.T_k);
  if (args.T_k > 0) {
    const dim3 grid(tiles(args.T_k), tiles(args.T_q), heads * all);
    attention_scores<<<grid, tile>>>(args, scores.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  const dim3 rows(static_cast<unsigned>((args.T_q + kRowWarps - 1) / kRowWarps), heads, all);
  attention_softmax<<<rows, kRowWarps * kWarpSize>>>(args, scores.pointer());
  CUDA_CHECK(cudaGetLastError());
  const dim3 grid(tiles(args.D), tiles(args.T_q), heads * all);
  attention_values<Element><<<grid, tile>>>(args, scores.pointer());
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "attention_three_kernels",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Attention>(
         attention<float>, attention<ladder::bfloat16>, attention<ladder::float16>)}};

}  // namespace
}  // namespace flash_attention
