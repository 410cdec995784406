// 08 flash attention, backward: the gradients of softmax attention on tensor cores, in one pass over the scores.
// Change: against backward_two_kernels.cu, the kernel that has dS adds its part of dQ where it is: in memory, atomically.
// Why:    the scores are computed once instead of twice: five products instead of seven.
// Needs:  D in {32, 64, 96, 128, 256}; bf16 or fp16; everything aligned to 16 bytes; a GPU since Ampere.
// Costs:  one atomic addition per element of dQ and tile of keys; the order of a sum is not repeatable. See README.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/gradient_tiles.hpp"
#include "08_flash_attention/sequence.hpp"
#include "common/core/attention.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/vector_atomics.hpp"

namespace chapter08::backward {

using namespace chapter08::gradients;
using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::Scratch;

// For dQ the warps are dealt out anew: over the tile's queries, and over the channels.
template <int D>
struct OneKernelShape : Shape<D> {
  static constexpr int kChannelWarps = D >= 128 ? 4 : 2;
  static constexpr int kDqQueries = Shape<D>::kQueries / (kWarps / kChannelWarps);
  static constexpr int kDqChannels = D / kChannelWarps;
};

template <typename Element, int D>
struct Memory {
  using S = Shape<D>;
  Element k[S::kKeys * D], v[S::kKeys * D];
  Element q[2][S::kQueries * D], d_o[2][S::kQueries * D];
  Element p[S::kKeys * S::kQueries], ds[S::kKeys * S::kQueries];
  QueryRow rows[2][S::kQueries];
};

// dQ grows here in fp32, each tile in the order of the registers it comes from: neighbouring threads add to neighbouring float4.
struct Work {
  QueryTiles tiles;
  QueryRow* rows;  // (tiles, kQueries)
  float4* dq;      // (tiles, kQueries * D / 4)
};

// ---- The gradients of a tile of keys ----

// Blocks: tile of keys, key head, sequence.
template <typename Element, int D>
__global__ void __launch_bounds__(kThreads, 1)
    add_gradients(const BasicAttentionGradArgs<Element> args, const Work work) {
  using S = OneKernelShape<D>;
  constexpr int kKeys = S::kKeys, kQueries = S::kQueries;
  constexpr int kM = S::kWarpKeys / 16, kScores = S::kWarpQueries / 8;
  constexpr int kChannels = S::kWarpChannels / 8, kSteps = S::kWarpQueries / 16;
  extern __shared__ uint4 smem[];
  auto& memory = *reinterpret_cast<Memory<Element, D>*>(smem);
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Sequence sequence = sequence_of(forward, blockIdx.z);
  const int queries = sequence.queries, keys = sequence.keys;
  // Keys behind a batch's length have gradients too: zeros.
  const int keys_written = forward.key_lengths != nullptr ? forward.T_k : keys;
  const int first_key = blockIdx.x * kKeys, kv_head = blockIdx.y;
  if (first_key >= keys_written) return;

  const int H_q = forward.H_q, H_kv = forward.H_kv, group = H_q / H_kv;
  const std::int64_t query_stride = static_cast<std::int64_t>(H_q) * D;
  const std::int64_t key_stride = static_cast<std::int64_t>(H_kv) * D;
  const std::int64_t key_offset = (sequence.first_key + first_key) * key_stride + kv_head * D;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int partner = warp % S::kPartners, key_row = warp / S::kPartners * S::kWarpKeys;
  const int score_row = partner * S::kWarpQueries;
  const int channel = partner * S::kWarpChannels;
  const int dq_row = warp / S::kChannelWarps * S::kDqQueries;
  const int dq_channel = warp % S::kChannelWarps * S::kDqChannels;
  const float scale = forward.scale * kLog2e;

  const Tile<Element, D> k_smem{memory.k}, v_smem{memory.v};
  const Tile<Element, kQueries> p_smem{memory.p}, ds_smem{memory.ds};

  // The first query that sees the tile's first key, and the tiles of queries from there on, of each head of the group.
  const int first_query =
      sequence.causal && first_key > keys - queries ? first_key - (keys - queries) : 0;
  const int first_tile = first_query / kQueries;
  const int last_tile = first_key < keys ? (queries + kQueries - 1) / kQueries : 0;
  const int tiles_per_head = last_tile > first_tile ? last_tile - first_tile : 0;
  const int tiles = tiles_per_head * group;

  const auto fetch_queries = [&](int i) {
    const int head = kv_head * group + i / tiles_per_head;
    const int tile = first_tile + i % tiles_per_head, first = tile * kQueries;
    const std::int64_t offset = (sequence.first_query + first) * query_stride + head * D;
    fetch<kQueries>(Tile<Element, D>{memory.q[i % 2]}, forward.q + offset, query_stride,
                    queries - first);
    fetch<kQueries>(Tile<Element, D>{memory.d_o[i % 2]}, args.d_o + offset, query_stride,
                    queries - first);
    const QueryRow* const rows =
        work.rows + work.tiles.at(sequence, blockIdx.z, tile, head) * kQueries;
    if (threadIdx.x < kQueries / 2) {
      __pipeline_memcpy_async(&memory.rows[i % 2][2 * threadIdx.x], &rows[2 * threadIdx.x], 16);
    }
  };

  fetch<kKeys>(k_smem, forward.k + key_offset, key_stride, keys - first_key);
  fetch<kKeys>(v_smem, forward.v + key_offset, key_stride, keys - first_key);
  if (tiles > 0) fetch_queries(0);
  __pipeline_commit();

  float dk[kM][kChannels][4], dv[kM][kChannels][4];
  clear(dk);
  clear(dv);

  for (int i = 0; i < tiles; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile i is there, and nobody is at tile i - 1 any more
    if (i + 1 < tiles) fetch_queries(i + 1);
    __pipeline_commit();
    const Tile<Element, D> q_smem{memory.q[i % 2]}, d_o_smem{memory.d_o[i % 2]};
    const QueryRow* const rows_smem = memory.rows[i % 2];
    const int head = kv_head * group + i / tiles_per_head;
    const int tile = first_tile + i % tiles_per_head;

    // The scores and P, keys down and queries across.
    float p[kM][kScores][4];
    multiply_rows(p, k_smem, key_row, q_smem, score_row, lane);
#pragma unroll
    for (int n = 0; n < kScores; ++n) {
      const QueryRow* const row = rows_smem + score_row + n * 8 + lane % 4 * 2;
      const float lse[2] = {row[0].lse, row[1].lse};
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int x = 0; x < 4; ++x)
          p[m][n][x] = ladder::cuda::exp2_flushed(p[m][n][x] * scale - lse[x % 2]);
      }
    }
    if (first_key + kKeys > sequence.keys_seen(tile * kQueries)) {
#pragma unroll
      for (int n = 0; n < kScores; ++n) {
#pragma unroll
        for (int x = 0; x < 4; ++x) {
          const int query = tile * kQueries + score_row + n * 8 + lane % 4 * 2 + x % 2;
          const int seen = sequence.keys_seen(query);
#pragma unroll
          for (int m = 0; m < kM; ++m) {
            if (first_key + key_row + m * 16 + lane / 4 + x / 2 * 8 >= seen) p[m][n][x] = 0.0f;
          }
        }
      }
    }

    // dV takes what this warp has of P; its partner's part comes through shared memory.
    std::uint32_t factor[kSteps][kM][4];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        pack<Element>(factor[s][m], p[m][2 * s], p[m][2 * s + 1]);
        put(p_smem, key_row + m * 16, score_row + s * 16, factor[s][m], lane);
      }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      multiply_add(dv, factor[s], d_o_smem, score_row + s * 16, channel, lane);

    // dS
    float ds[kM][kScores][4];
    multiply_rows(ds, v_smem, key_row, d_o_smem, score_row, lane);
#pragma unroll
    for (int n = 0; n < kScores; ++n) {
      const QueryRow* const row = rows_smem + score_row + n * 8 + lane % 4 * 2;
      const float delta[2] = {row[0].delta, row[1].delta};
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int x = 0; x < 4; ++x)
          ds[m][n][x] = p[m][n][x] * (ds[m][n][x] - delta[x % 2]);
      }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        pack<Element>(factor[s][m], ds[m][2 * s], ds[m][2 * s + 1]);
        put(ds_smem, key_row + m * 16, score_row + s * 16, factor[s][m], lane);
      }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      multiply_add(dk, factor[s], q_smem, score_row + s * 16, channel, lane);
    __syncthreads();  // P and dS are there

    const int other_row = kQueries - S::kWarpQueries - score_row;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      std::uint32_t a[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m)
        load_left(a[m], p_smem, key_row + m * 16, other_row + s * 16, lane);
      multiply_add(dv, a, d_o_smem, other_row + s * 16, channel, lane);
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      std::uint32_t a[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m)
        load_left(a[m], ds_smem, key_row + m * 16, other_row + s * 16, lane);
      multiply_add(dk, a, q_smem, other_row + s * 16, channel, lane);
    }

    // dQ: all keys of the tile.
    constexpr int kDqM = S::kDqQueries / 16, kDqN = S::kDqChannels / 8;
    float dq[kDqM][kDqN][4];
    clear(dq);
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
      std::uint32_t a[kDqM][4];
#pragma unroll
      for (int m = 0; m < kDqM; ++m)
        load_left_transposed(a[m], ds_smem, key, dq_row + m * 16, lane);
      multiply_add(dq, a, k_smem, key, dq_channel, lane);
    }
    float4* const to = work.dq +
                       work.tiles.at(sequence, blockIdx.z, tile, head) * (kQueries * D / 4) +
                       threadIdx.x;
#pragma unroll
    for (int m = 0; m < kDqM; ++m) {
#pragma unroll
      for (int n = 0; n < kDqN; ++n) {
        ladder::cuda::atomic_add(to + (m * kDqN + n) * kThreads,
                                 make_float4(dq[m][n][0], dq[m][n][1], dq[m][n][2], dq[m][n][3]));
      }
    }
  }
  __pipeline_wait_prior(0);

  const int rows = keys_written - first_key - key_row;
  const std::int64_t to = key_offset + key_row * key_stride + channel;
  store(dk, forward.scale, args.dk + to, key_stride, rows, lane);
  store(dv, 1.0f, args.dv + to, key_stride, rows, lane);
}

// ---- dQ as it is to be ----

// Scales, rounds and puts in order. Blocks: tile of queries, query head, sequence.
template <typename Element, int D>
__global__ void __launch_bounds__(kThreads)
    round_dq(const BasicAttentionGradArgs<Element> args, const Work work) {
  using S = OneKernelShape<D>;
  constexpr int kM = S::kDqQueries / 16, kN = S::kDqChannels / 8;
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Sequence sequence = sequence_of(forward, blockIdx.z);
  const int first = blockIdx.x * S::kQueries, head = blockIdx.y;
  const int rows = sequence.queries - first;
  if (rows <= 0) return;
  const float4* const from =
      work.dq + work.tiles.at(sequence, blockIdx.z, blockIdx.x, head) * (S::kQueries * D / 4);
  Element* const to =
      args.dq + ((sequence.first_query + first) * forward.H_q + head) * std::int64_t{D};

  // Four neighbouring lanes of a warp hold eight channels of two rows.
  for (int i = threadIdx.x; i < S::kQueries * D / 16; i += kThreads) {
    const int n = i % kN, row = i / kN % 8, m = i / kN / 8 % kM, warp = i / kN / 8 / kM;
    const float4* const lanes = from + (m * kN + n) * kThreads + warp * kWarpSize + row * 4;
    uint4 upper, lower;
    std::uint32_t pairs[2][4];
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      const float4 x = lanes[lane];
      pairs[0][lane] = ladder::cuda::pack<Element>(forward.scale * x.x, forward.scale * x.y);
      pairs[1][lane] = ladder::cuda::pack<Element>(forward.scale * x.z, forward.scale * x.w);
    }
    upper = make_uint4(pairs[0][0], pairs[0][1], pairs[0][2], pairs[0][3]);
    lower = make_uint4(pairs[1][0], pairs[1][1], pairs[1][2], pairs[1][3]);
    const int l = warp / S::kChannelWarps * S::kDqQueries + m * 16 + row;
    const int channel = warp % S::kChannelWarps * S::kDqChannels + n * 8;
    const std::int64_t stride = forward.H_q * D;
    if (l < rows) *reinterpret_cast<uint4*>(to + l * stride + channel) = upper;
    if (l + 8 < rows) *reinterpret_cast<uint4*>(to + (l + 8) * stride + channel) = lower;
  }
}

// ---- Launcher ----

template <typename Element, int D>
void launch(const BasicAttentionGradArgs<Element>& args) {
  using S = OneKernelShape<D>;
  const BasicAttentionArgs<Element>& forward = args.forward;
  const std::int64_t tiles = query_tiles(forward, S::kQueries);
  const Scratch<QueryRow> rows(tiles * S::kQueries);
  const Scratch<float4> dq(tiles * (S::kQueries * D / 4));
  const Work work{QueryTiles(forward, S::kQueries), rows.pointer(), dq.pointer()};
  const unsigned n = sequence_count(forward);
  const dim3 query_grid((forward.T_q + S::kQueries - 1) / S::kQueries, forward.H_q, n);
  const dim3 key_grid((forward.T_k + S::kKeys - 1) / S::kKeys, forward.H_kv, n);

  if (forward.T_q > 0) {
    CUDA_CHECK(cudaMemsetAsync(work.dq, 0, tiles * S::kQueries * D * sizeof(float)));
    describe_queries<Element><<<query_grid, kThreads>>>(args, work.tiles, work.rows);
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_k > 0) {
    constexpr int kBytes = sizeof(Memory<Element, D>);
    CUDA_CHECK(cudaFuncSetAttribute(add_gradients<Element, D>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    add_gradients<Element, D><<<key_grid, kThreads, kBytes>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_q > 0) {
    round_dq<Element, D><<<query_grid, kThreads>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
}

template <typename Element>
void attention_backward(const BasicAttentionGradArgs<Element>& args) {
  validate(args);
  require_usual_D(args.forward, "chapter 08");
  if (args.forward.B == 0 || sequence_count(args.forward) == 0) return;
  switch (args.forward.D) {
    case 32: return launch<Element, 32>(args);
    case 64: return launch<Element, 64>(args);
    case 96: return launch<Element, 96>(args);
    case 128: return launch<Element, 128>(args);
    default: return launch<Element, 256>(args);
  }
}

namespace {

const ladder::Registration registration{{.name = "attention_backward",
                                         .chapter = "08_flash_attention",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
                                         .attention_backward_bf16 = attention_backward<bfloat16>,
                                         .attention_backward_fp16 = attention_backward<float16>}};

}  // namespace

}  // namespace chapter08::backward
