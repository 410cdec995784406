// 08 flash attention, backward: the gradients of softmax attention on tensor cores, by two kernels that compute P each.
// Change: against backward_scalar.cu, tiles of P and dS on chip, and tensor cores.
// Why:    dK and dV are sums over queries, dQ is one over keys: whoever keeps its sums on chip needs no atomics.
// Needs:  D in {32, 64, 96, 128, 256}; bf16 or fp16; everything aligned to 16 bytes; a GPU since Ampere.
// Costs:  seven products instead of five, since S and dO V^T are computed twice. Repeatable. See README.
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

namespace chapter08::backward_two_kernels {

using namespace chapter08::gradients;
using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::Scratch;

template <typename Element, int D>
struct Memory {
  using S = Shape<D>;
  Element k[S::kKeys * D], v[S::kKeys * D];
  Element q[2][S::kQueries * D], d_o[2][S::kQueries * D];
  Element p[S::kKeys * S::kQueries], ds[S::kKeys * S::kQueries];
  QueryRow rows[2][S::kQueries];
};

struct Work {
  QueryTiles tiles;
  QueryRow* rows;  // (tiles, kQueries)
};

// ---- First kernel: a tile of keys stays, queries pass ----

// Blocks: tile of keys, key head, sequence.
template <typename Element, int D>
__global__ void __launch_bounds__(kThreads, 1)
    key_gradients(const BasicAttentionGradArgs<Element> args, const Work work) {
  using S = Shape<D>;
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
  }
  __pipeline_wait_prior(0);

  const int rows = keys_written - first_key - key_row;
  const std::int64_t to = key_offset + key_row * key_stride + channel;
  store(dk, forward.scale, args.dk + to, key_stride, rows, lane);
  store(dv, 1.0f, args.dv + to, key_stride, rows, lane);
}

// ---- Second kernel: a tile of queries stays, keys pass ----

// Each warp has 16 of the queries, all of the keys and all channels: what it computes it needs itself.
template <int kD>
struct QueryShape {
  static constexpr int D = kD;
  static constexpr int kQueries = 16 * kWarps;
  static constexpr int kKeys = D <= 128 ? 64 : 32;
};

template <typename Element, int D>
struct QueryMemory {
  using S = QueryShape<D>;
  Element q[S::kQueries * D], d_o[S::kQueries * D];
  Element k[2][S::kKeys * D], v[2][S::kKeys * D];
};

// Blocks: tile of queries, query head, sequence.
template <typename Element, int D>
__global__ void __launch_bounds__(kThreads, 1)
    query_gradients(const BasicAttentionGradArgs<Element> args, const Work work) {
  using S = QueryShape<D>;
  constexpr int kKeys = S::kKeys, kQueries = S::kQueries;
  extern __shared__ uint4 smem[];
  auto& memory = *reinterpret_cast<QueryMemory<Element, D>*>(smem);
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Sequence sequence = sequence_of(forward, blockIdx.z);
  const int queries = sequence.queries;
  const int first_query = blockIdx.x * kQueries, head = blockIdx.y;
  if (first_query >= queries) return;

  const int H_q = forward.H_q, H_kv = forward.H_kv, kv_head = head / (H_q / H_kv);
  const std::int64_t query_stride = static_cast<std::int64_t>(H_q) * D;
  const std::int64_t key_stride = static_cast<std::int64_t>(H_kv) * D;
  const std::int64_t query_offset = (sequence.first_query + first_query) * query_stride + head * D;
  const std::int64_t key_offset = sequence.first_key * key_stride + kv_head * D;
  const int lane = threadIdx.x % kWarpSize, query_row = threadIdx.x / kWarpSize * 16;
  const float scale = forward.scale * kLog2e;

  const int last_query = min(first_query + kQueries, queries) - 1;
  const int keys = sequence.keys_seen(last_query);  // by any query of the tile
  const int tiles = (keys + kKeys - 1) / kKeys;

  const Tile<Element, D> q_smem{memory.q}, d_o_smem{memory.d_o};
  const auto fetch_keys = [&](int i) {
    const int first = i * kKeys;
    const std::int64_t offset = key_offset + first * key_stride;
    fetch<kKeys>(Tile<Element, D>{memory.k[i % 2]}, forward.k + offset, key_stride, keys - first);
    fetch<kKeys>(Tile<Element, D>{memory.v[i % 2]}, forward.v + offset, key_stride, keys - first);
  };
  fetch<kQueries>(q_smem, forward.q + query_offset, query_stride, queries - first_query);
  fetch<kQueries>(d_o_smem, args.d_o + query_offset, query_stride, queries - first_query);
  if (tiles > 0) fetch_keys(0);
  __pipeline_commit();

  QueryRow rows[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int query = min(first_query + query_row + lane / 4 + i * 8, last_query);
    rows[i] = work.rows[work.tiles.at(sequence, blockIdx.z, query / work.tiles.kQueries, head) *
                            work.tiles.kQueries +
                        query % work.tiles.kQueries];
  }
  float dq[1][D / 8][4];
  clear(dq);

  for (int i = 0; i < tiles; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();  // tile i is there, and nobody is at tile i - 1 any more
    if (i + 1 < tiles) fetch_keys(i + 1);
    __pipeline_commit();
    const Tile<Element, D> k_smem{memory.k[i % 2]}, v_smem{memory.v[i % 2]};

    // The scores and P, queries down and keys across.
    float p[1][kKeys / 8][4];
    multiply_rows(p, q_smem, query_row, k_smem, 0, lane);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        p[0][n][x] = ladder::cuda::exp2_flushed(p[0][n][x] * scale - rows[x / 2].lse);
    }
    if ((i + 1) * kKeys > sequence.keys_seen(first_query + query_row)) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int seen = sequence.keys_seen(first_query + query_row + lane / 4 + x / 2 * 8);
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
          if (i * kKeys + n * 8 + lane % 4 * 2 + x % 2 >= seen) p[0][n][x] = 0.0f;
        }
      }
    }

    float ds[1][kKeys / 8][4];
    multiply_rows(ds, d_o_smem, query_row, v_smem, 0, lane);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int x = 0; x < 4; ++x)
        ds[0][n][x] = p[0][n][x] * (ds[0][n][x] - rows[x / 2].delta);
    }
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s) {
      std::uint32_t factor[1][4];
      pack<Element>(factor[0], ds[0][2 * s], ds[0][2 * s + 1]);
      multiply_add(dq, factor, k_smem, s * 16, 0, lane);
    }
  }
  __pipeline_wait_prior(0);

  store(dq, forward.scale, args.dq + query_offset + query_row * query_stride, query_stride,
        queries - first_query - query_row, lane);
}

// ---- Launcher ----

template <typename Element, int D>
void launch(const BasicAttentionGradArgs<Element>& args) {
  using S = Shape<D>;
  using Q = QueryShape<D>;
  const BasicAttentionArgs<Element>& forward = args.forward;
  const Scratch<QueryRow> rows(query_tiles(forward, S::kQueries) * S::kQueries);
  const Work work{QueryTiles(forward, S::kQueries), rows.pointer()};
  const unsigned n = sequence_count(forward), H_q = forward.H_q, H_kv = forward.H_kv;
  const auto tiles = [](std::int64_t T, int tile) {
    return static_cast<unsigned>((T + tile - 1) / tile);
  };

  if (forward.T_q > 0) {
    describe_queries<Element>
        <<<dim3(tiles(forward.T_q, S::kQueries), H_q, n), kThreads>>>(args, work.tiles, work.rows);
    CUDA_CHECK(cudaGetLastError());
    constexpr int kBytes = sizeof(QueryMemory<Element, D>);
    CUDA_CHECK(cudaFuncSetAttribute(query_gradients<Element, D>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    query_gradients<Element, D>
        <<<dim3(tiles(forward.T_q, Q::kQueries), H_q, n), kThreads, kBytes>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (forward.T_k > 0) {
    constexpr int kBytes = sizeof(Memory<Element, D>);
    CUDA_CHECK(cudaFuncSetAttribute(key_gradients<Element, D>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    key_gradients<Element, D>
        <<<dim3(tiles(forward.T_k, S::kKeys), H_kv, n), kThreads, kBytes>>>(args, work);
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

const ladder::Registration registration{{.name = "attention_backward_two_kernels",
                                         .chapter = "08_flash_attention",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = false,
                                         .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
                                         .attention_backward_bf16 = attention_backward<bfloat16>,
                                         .attention_backward_fp16 = attention_backward<float16>}};

}  // namespace

}  // namespace chapter08::backward_two_kernels
