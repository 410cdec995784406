// 07 chunkwise, the tree in reverse: WKV's gradients on tensor cores, down the forward pass's tree.
// Change: rewrite of 07.13 for gradients. A sub-chunk's scores are joined upward as there. Then
//         `part` undoes each join, from the root down.
// Why:    07.20 builds the rows of each level again for the gradients, but here `part` needs only
//         the rows stored on the way up.
// Needs:  K = V = 64, bf16, rows at multiples of 16 bytes, forward time, no states, tensor cores
//         (sm_80) and 147 KB of shared memory.
// Costs:  a block computes a head and goes through all chunks from the last one on. S of each chunk
//         is in memory, in fp32. Operands are rounded to bf16.
//         See README for the derivation, counts and what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/20b_reverse_tree/what_is_taken.hpp"
#include "07_chunkwise/plain_gradients.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/decay.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {
namespace {

using ladder::bfloat16;
using ladder::cuda::decay_factor;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;
using Args = ladder::WkvGradBf16Args;
using Rows = Tile<bfloat16, kChannels>;
using Exact = Tile<float, kChannels>;

constexpr int kUnit = 16;  // tokens, or channels, of a block of a product
constexpr int kBlocks = kChannels / kUnit;
constexpr int kTokens = 64;  // per chunk, four sub-chunks
constexpr int kUnits = kTokens / kUnit;
constexpr int kLevels = 4;  // joins of blocks of 1, 2, 4 and 8 tokens
constexpr int kTile = kTokens * kChannels;
// Each warp climbs and descends in a sub-chunk. In between, it has 16 value columns and all rows of
// S and of D.
constexpr int kWarps = kBlocks;
constexpr int kThreads = kWarps * kWarpSize;
static_assert(kWarps == kUnits && kChannels == 2 * kWarpSize && kTokens == kChannels);

// A warp's columns of S or of D, transposed. state[c] has rows of V, and columns of K from 16 c.
using State = Accumulator[kBlocks][2];

struct alignas(128) Shared {
  bfloat16 q[kTile], k[kTile];  // later q~ and k~, finally dq and dk
  bfloat16 v[kTile], d_o[kTile];
  bfloat16 log_w[kTile];            // finally d_log_w
  bfloat16 levels[kLevels][kTile];  // before each join, q of tokens in right blocks, k in left ones
  bfloat16 dv[kTile];               // first q times the bonus
  bfloat16 scores[kUnit * kChannels];  // of the sub-chunks, side by side
  bfloat16 states[kUnits][kTile];      // S before each sub-chunk, then buffers for products
  bfloat16 adjoints[kUnits][kTile];    // D after each sub-chunk, the same
  float decays[kUnits][kChannels];     // of a whole sub-chunk
  float d_own[kTokens];                // gradients of the bonus
  float u[kChannels];
};

struct Work {
  std::int64_t chunks;   // per sequence
  float4* states;        // (B, H, chunks, 8, threads), S before each chunk, in register order
  float* du_parts;       // (B, H, K)
  float* d_log_w_parts;  // (B, H, K)
};

// A head of a sequence.
struct Head {
  __device__ explicit Head(const ladder::WkvBf16Args& args)
      : b(blockIdx.x / args.H), h(blockIdx.x % args.H), stride(args.H * kChannels) {
    first = b * args.T * stride + h * kChannels;
    log_w = b * args.log_w_stride_B + h * kChannels;
  }
  std::int64_t b, h, stride, first, log_w;
};

__device__ int rows_from(const ladder::WkvBf16Args& args, std::int64_t t) {
  return static_cast<int>(min(args.T - t, std::int64_t{kTokens}));
}

// Out-of-bounds tokens become zeros with decays of 1, which leave the states unchanged.
__device__ void fetch_rows(bfloat16* to_smem, const bfloat16* from, std::int64_t step, int rows) {
  copy_rows_async<kTokens, kThreads>(Rows{to_smem}, from, step, rows, kChannels, true,
                                     static_cast<int>(threadIdx.x));
}
__device__ void fetch_keys(Shared& shared, const ladder::WkvBf16Args& args, const Head& head,
                           std::int64_t t) {
  const std::int64_t at = head.first + t * head.stride;
  fetch_rows(shared.k, args.k + at, head.stride, rows_from(args, t));
  fetch_rows(shared.v, args.v + at, head.stride, rows_from(args, t));
  // The strides of log_w are 0 if all tokens have the same decays.
  fetch_rows(shared.log_w, args.log_w + head.log_w + t * args.log_w_stride_T, args.log_w_stride_T,
             rows_from(args, t));
}

// state = decays state + columns rows, for S with v and k~, for D with d_o and q~.
__device__ void walk(State& state, const FragmentA<bfloat16>& columns_reg, Rows rows_smem,
                     int token, const float* decays_smem, int lane) {
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float factor[2];
      copy<2>(factor, decays_smem + c * kUnit + j * 8 + accumulator_place(lane, 0).column);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state[c][j][i] *= factor[i % 2];
    }
    FragmentB<bfloat16> b_reg[2];
    load_b_kn(b_reg, rows_smem, token, c * kUnit, lane);
    multiply(state[c], columns_reg, b_reg);
  }
}

// A thread's part of S or D, in register order. In memory its float4 are `stride` float4 apart.
__device__ void put(float4* to, int stride, const State& state) {
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
#pragma unroll
    for (int j = 0; j < 2; ++j)
      copy<4>(reinterpret_cast<float*>(to + (2 * c + j) * stride), state[c][j]);
  }
}
__device__ void take(State& state, const float4* from, int stride) {
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
#pragma unroll
    for (int j = 0; j < 2; ++j)
      copy<4>(state[c][j], reinterpret_cast<const float*>(from + (2 * c + j) * stride));
  }
}

// ---- First kernel: S before each chunk ----

__device__ float4* saved_state(const Work& work, std::int64_t chunk) {
  return work.states + (blockIdx.x * work.chunks + chunk) * 2 * kBlocks * kThreads + threadIdx.x;
}

// Computes only a sub-chunk's keys, decayed to its end.
__device__ void prepare_keys(Shared& shared, int unit, int lane) {
  const Rows k_smem = Rows{shared.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{shared.log_w}.below(unit * kUnit);
  const int ik = 2 * lane;
  float decay[2] = {1.0f, 1.0f};
#pragma unroll
  for (int t = kUnit - 1; t >= 0; --t) {
    float k[2], log_w[2];
    copy<2>(k, k_smem.at(t, ik)), copy<2>(log_w, log_w_smem.at(t, ik));
    for (int e = 0; e < 2; ++e)
      k[e] *= decay[e], decay[e] *= decay_factor(log_w[e]);
    copy<2>(k_smem.at(t, ik), k);
  }
  copy<2>(shared.decays[unit] + ik, decay);
}

__global__ void __launch_bounds__(kThreads) save_states(const Args args, const Work work) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarpSize, warp = tid / kWarpSize;
  const Head head(args.forward);

  State state = {};
  for (std::int64_t chunk = 0; chunk < work.chunks; ++chunk) {
    __syncthreads();  // all threads have finished the previous chunk, so its buffer is free
    fetch_keys(shared, args.forward, head, chunk * kTokens);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    prepare_keys(shared, warp, lane);
    __syncthreads();
    put(saved_state(work, chunk), kThreads, state);
    for (int unit = 0; unit < kUnits; ++unit)
      walk(state, load_a_km(Rows{shared.v}, unit * kUnit, warp * kUnit, lane), Rows{shared.k},
           unit * kUnit, shared.decays[unit], lane);
  }
}

// ---- Second kernel: up the tree ----

// A lane's two channels of a sub-chunk, cut into blocks of tokens. Each token holds q with the
// decays from its block's start to before it, and k with the decays after it up to its block's end.
// A block's last token also holds the decay of the whole block.
struct Blocks {
  float q[kUnit][2], k[kUnit][2], decay[kUnit][2];
};

// Joins neighbouring blocks of `size` tokens. Factors are decays, at most 1, and may underflow.
__device__ void join(Blocks& blocks, int size) {
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
    const int right = left + size, last = right + size - 1;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float of_left = blocks.decay[right - 1][e], of_right = blocks.decay[last][e];
#pragma unroll
      for (int i = 0; i < size; ++i) {
        blocks.k[left + i][e] *= of_right;
        blocks.q[right + i][e] *= of_left;
      }
      blocks.decay[last][e] = of_left * of_right;
    }
  }
}

// Whether the tokens meet where blocks of `size` are joined. With size 0, whether they are the
// same.
__device__ bool meet(int one, int other, int size) {
  return size == 0 ? one == other : (one ^ other) / size == 1;
}

// The product of rows with rows, 16 x 16.
__device__ void multiply_rows(Accumulator (&product)[2], Rows left_smem, Rows right_smem,
                              int lane) {
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
    FragmentB<bfloat16> b_reg[2];
    load_b_nk(b_reg, right_smem, 0, c * kUnit, lane);
    multiply(product, load_a_mk(left_smem, 0, c * kUnit, lane), b_reg);
  }
}

// Keeps the scores of queries in a right block of `size` tokens with keys in the left block next to
// it.
__device__ void take_level(Accumulator (&scores)[2], Rows q_smem, Rows k_smem, int size, int lane) {
  Accumulator product[2] = {};
  multiply_rows(product, q_smem, k_smem, lane);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const auto [p, column] = accumulator_place(lane, n % 4);
    const int s = n / 4 * 8 + column;
    if (p >= s && meet(p, s, size)) scores[n / 4][n % 4] = product[n / 4][n % 4];
  }
}

__device__ void prepare(Shared& shared, int unit, int lane) {
  const Rows q_smem = Rows{shared.q}.below(unit * kUnit);
  const Rows k_smem = Rows{shared.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{shared.log_w}.below(unit * kUnit);
  const Rows bonus_smem = Rows{shared.dv}.below(unit * kUnit);
  const int ik = 2 * lane;
  Blocks blocks;
  float u[2], log_w[2], bonus[2];
  copy<2>(u, shared.u + ik);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    copy<2>(log_w, log_w_smem.at(t, ik));
    copy<2>(blocks.q[t], q_smem.at(t, ik)), copy<2>(blocks.k[t], k_smem.at(t, ik));
    for (int e = 0; e < 2; ++e) {
      blocks.decay[t][e] = decay_factor(log_w[e]);
      bonus[e] = blocks.q[t][e] * u[e];
    }
    copy<2>(bonus_smem.at(t, ik), bonus);
  }
  __syncwarp();  // the bonus of all channels is in shared memory
  Accumulator scores[2] = {};
  take_level(scores, bonus_smem, k_smem, 0, lane);
  const auto climb = [&](int level) {
    const Rows level_smem = Rows{shared.levels[level]}.below(unit * kUnit);
    const int size = 1 << level;
#pragma unroll
    for (int t = 0; t < kUnit; ++t)
      copy<2>(level_smem.at(t, ik), (t & size) != 0 ? blocks.q[t] : blocks.k[t]);
    __syncwarp();  // the level's rows are in shared memory
    take_level(scores, level_smem, level_smem, size, lane);
    join(blocks, size);
  };
  climb(0), climb(1), climb(2), climb(3);
  __syncwarp();  // all lanes have read k, so it may be overwritten
#pragma unroll
  for (int t = 0; t < kUnit; ++t)
    copy<2>(q_smem.at(t, ik), blocks.q[t]), copy<2>(k_smem.at(t, ik), blocks.k[t]);
  copy<2>(shared.decays[unit] + ik, blocks.decay[kUnit - 1]);
  store_c(Rows{shared.scores}, 0, unit * kUnit, scores[0], lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit + 8, scores[1], lane);
}

// ---- Along the chunk ----

__device__ void put_state(bfloat16* to_smem, const State& state, int column, int lane) {
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
    store_c(Rows{to_smem}, column, c * kUnit, state[c][0], lane);
    store_c(Rows{to_smem}, column, c * kUnit + 8, state[c][1], lane);
  }
}

// S from sub-chunk to sub-chunk, from the chunk's start on.
__device__ void walk_forward(Shared& shared, State& state, int column, int lane) {
#pragma unroll 1
  for (int unit = 0; unit < kUnits; ++unit) {
    put_state(shared.states[unit], state, column, lane);
    if (unit + 1 < kUnits)
      walk(state, load_a_km(Rows{shared.v}, unit * kUnit, column, lane), Rows{shared.k},
           unit * kUnit, shared.decays[unit], lane);
  }
}

// D from sub-chunk to sub-chunk, from the chunk's end on. Also dv = k~ D + the scores' columns
// times d_o.
__device__ void walk_backward(Shared& shared, State& adjoint, float scale, int column, int lane) {
#pragma unroll 1
  for (int unit = kUnits - 1; unit >= 0; --unit) {
    const int token = unit * kUnit;
    put_state(shared.adjoints[unit], adjoint, column, lane);
    const auto d_o_reg = load_a_km(Rows{shared.d_o}, token, column, lane);
    Accumulator dv[2] = {};
    FragmentB<bfloat16> b_reg[2];
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      as_b(b_reg, as_a<bfloat16>(adjoint[c][0], adjoint[c][1]));
      multiply(dv, load_a_mk(Rows{shared.k}, token, c * kUnit, lane), b_reg);
    }
    as_b(b_reg, d_o_reg);
    multiply(dv, load_a_km(Rows{shared.scores}, 0, token, lane), b_reg);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      for (float& x : dv[j])
        x *= scale;
      store_c(Rows{shared.dv}, token, column + j * 8, dv[j], lane);
    }
    walk(adjoint, d_o_reg, Rows{shared.q}, token, shared.decays[unit], lane);
  }
}

// ---- Down the tree ----

// A lane's two channels of a sub-chunk, cut into blocks. Each token has the gradients of its
// block's q and k, and a block's first token also the gradient of the logarithm of the block's
// decay.
struct Gradients {
  float q[kUnit][2], k[kUnit][2], log_decay[kUnit][2];
};

// Undoes a join of blocks of `size` tokens. `rows` are q of the right blocks and k of the left ones
// before the join, `products` the gradients from the pairs that meet here. A decay's gradient comes
// from pairs outside its block, so it is computed before these are added.
__device__ void part(Gradients& gradients, const float (&decay)[kUnit][2], Rows rows_smem,
                     Exact products_smem, int size, int ik) {
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
    const int right = left + size;
    float of_left[2] = {1.0f, 1.0f}, of_right[2] = {1.0f, 1.0f};
#pragma unroll
    for (int i = 0; i < size; ++i)
      for (int e = 0; e < 2; ++e)
        of_left[e] *= decay[left + i][e], of_right[e] *= decay[right + i][e];
    for (int e = 0; e < 2; ++e)
      gradients.log_decay[right][e] = gradients.log_decay[left][e];
#pragma unroll
    for (int i = 0; i < size; ++i) {
      float q[2], k[2], from_k[2], from_q[2];
      copy<2>(q, rows_smem.at(right + i, ik)), copy<2>(k, rows_smem.at(left + i, ik));
      copy<2>(from_k, products_smem.at(right + i, ik));
      copy<2>(from_q, products_smem.at(left + i, ik));
      for (int e = 0; e < 2; ++e) {
        float& dq = gradients.q[right + i][e];
        float& dk = gradients.k[left + i][e];
        // TODO(1): roughly 4 lines; decay dq and dk, add to log_decay of both blocks, add the pairs
        // TODO(1): to dq and dk; budget: eight floating-point operations, and no access to memory.
      }
    }
  }
}

// Stores the product of a sub-chunk's rows with a state for all lanes. It may overwrite the state.
__device__ void pass(Exact to_smem, Rows rows_smem, Rows state_smem, int lane) {
  Accumulator product[kBlocks][2] = {};
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
    const auto rows_reg = load_a_mk(rows_smem, 0, c * kUnit, lane);
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      FragmentB<bfloat16> b_reg[2];
      load_b_kn(b_reg, state_smem, c * kUnit, n * kUnit, lane);
      multiply(product[n], rows_reg, b_reg);
    }
  }
  __syncwarp();  // all lanes have read the state, so it may be overwritten
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) {
    store_c(to_smem, 0, n * kUnit, product[n][0], lane);
    store_c(to_smem, 0, n * kUnit + 8, product[n][1], lane);
  }
}

// A warp's gradients of its sub-chunk, from S before it and D after it. Adds to du and to the sum
// of d_log_w.
__device__ void descend(Shared& shared, const Args& args, const Head& head, std::int64_t t0,
                        int unit, int lane, float (&du)[2], float (&d_log_w_sum)[2]) {
  const Rows v_smem = Rows{shared.v}.below(unit * kUnit);
  const Rows d_o_smem = Rows{shared.d_o}.below(unit * kUnit);
  const Rows state_smem{shared.states[unit]}, adjoint_smem{shared.adjoints[unit]};
  const int ik = 2 * lane;

  // The gradients of the scores, and their transpose above the diagonal.
  Accumulator d_scores[2] = {}, d_scores_by_key[2] = {};
  multiply_rows(d_scores, d_o_smem, v_smem, lane);
  multiply_rows(d_scores_by_key, v_smem, d_o_smem, lane);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const auto [p, column] = accumulator_place(lane, n % 4);
    const int s = n / 4 * 8 + column;
    if (p == s) shared.d_own[unit * kUnit + p] = d_scores[n / 4][n % 4];
    if (p < s) d_scores[n / 4][n % 4] = d_scores_by_key[n / 4][n % 4];
  }
  Gradients gradients;
  float decay_of_unit[2], overlap[2] = {};
  copy<2>(decay_of_unit, shared.decays[unit] + ik);
#pragma unroll 4
  for (int iv = 0; iv < kChannels; ++iv) {
    float s[2], d[2];
    copy<2>(s, state_smem.at(iv, ik)), copy<2>(d, adjoint_smem.at(iv, ik));
    // TODO(2): roughly 2 lines; add row iv's products of S and D to overlap; budget: a multiply-add
    // TODO(2): for each channel.
  }
  // TODO(2): roughly 2 lines; store the root's gradient in log_decay; budget: a multiplication for
  // TODO(2): each channel.

  // Products have a token in each row, and a lane needs all 16 tokens of its channels. They pass
  // through this sub-chunk's S and D, which no other warp needs.
  auto* const passing = reinterpret_cast<float*>(shared.states[unit]);
  const Exact q_passing{passing}, k_passing{passing + kUnit * kChannels};
  const Exact products_smem{reinterpret_cast<float*>(shared.adjoints[unit])};
  pass(q_passing, d_o_smem, state_smem, lane);
  pass(k_passing, v_smem, adjoint_smem, lane);
  __syncwarp();
  float decay[kUnit][2];
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    copy<2>(gradients.q[t], q_passing.at(t, ik)), copy<2>(gradients.k[t], k_passing.at(t, ik));
    float log_w[2];
    copy<2>(log_w, Rows{shared.log_w}.at(unit * kUnit + t, ik));
    for (int e = 0; e < 2; ++e)
      decay[t][e] = decay_factor(log_w[e]);
  }

  const auto descend_level = [&](int level) {
    const Rows level_smem = Rows{shared.levels[level]}.below(unit * kUnit);
    Accumulator taken[2];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const auto [p, column] = accumulator_place(lane, n % 4);
      const bool meets = meet(p, n / 4 * 8 + column, 1 << level);
      taken[n / 4][n % 4] = meets ? d_scores[n / 4][n % 4] : 0.0f;
    }
    const auto taken_reg = as_a<bfloat16>(taken[0], taken[1]);
    __syncwarp();  // all lanes have read the previous products, so they may be overwritten
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      Accumulator product[2] = {};
      FragmentB<bfloat16> b_reg[2];
      load_b_kn(b_reg, level_smem, 0, n * kUnit, lane);
      multiply(product, taken_reg, b_reg);
      store_c(products_smem, 0, n * kUnit, product[0], lane);
      store_c(products_smem, 0, n * kUnit + 8, product[1], lane);
    }
    __syncwarp();
    part(gradients, decay, level_smem, products_smem, 1 << level, ik);
  };
  descend_level(3), descend_level(2), descend_level(1), descend_level(0);

  const float scale = args.forward.scale;
  float u[2];
  copy<2>(u, shared.u + ik);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    const int row = unit * kUnit + t;
    if (t0 + row >= args.forward.T) break;
    const std::int64_t element = head.first + (t0 + row) * head.stride + ik;
    const float d_own = shared.d_own[row];
    float q[2], k[2], dq[2], dk[2], d_log_w[2];
    copy<2>(q, args.forward.q + element), copy<2>(k, args.forward.k + element);
    for (int e = 0; e < 2; ++e) {
      dq[e] = scale * (gradients.q[t][e] + d_own * u[e] * k[e]);
      dk[e] = scale * (gradients.k[t][e] + d_own * u[e] * q[e]);
      d_log_w[e] = scale * gradients.log_decay[t][e];
      du[e] += scale * d_own * q[e] * k[e];
      d_log_w_sum[e] += d_log_w[e];
    }
    copy<2>(Rows{shared.q}.at(row, ik), dq), copy<2>(Rows{shared.k}.at(row, ik), dk);
    copy<2>(Rows{shared.log_w}.at(row, ik), d_log_w);
  }
}

__global__ void __launch_bounds__(kThreads) wkv_reverse_tree(const Args args, const Work work) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const ladder::WkvBf16Args& forward = args.forward;
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarpSize, warp = tid / kWarpSize;
  const Head head(forward);

  State adjoint = {};
  float du[2] = {}, d_log_w_sum[2] = {};
  if (tid < kChannels) shared.u[tid] = ladder::cuda::load(forward.u + head.h * kChannels + tid);
  for (std::int64_t chunk = work.chunks - 1; chunk >= 0; --chunk) {
    const std::int64_t t = chunk * kTokens, at = head.first + t * head.stride;
    const int rows = rows_from(forward, t);
    __syncthreads();  // the later chunk's gradients are stored, so its buffers are free
    fetch_keys(shared, forward, head, t);
    fetch_rows(shared.q, forward.q + at, head.stride, rows);
    fetch_rows(shared.d_o, args.d_o + at, head.stride, rows);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    prepare(shared, warp, lane);
    State state;
    take(state, saved_state(work, chunk), kThreads);
    __syncthreads();  // all sub-chunks are prepared
    walk_forward(shared, state, warp * kUnit, lane);
    walk_backward(shared, adjoint, forward.scale, warp * kUnit, lane);
    __syncthreads();  // S and D of all sub-chunks are in shared memory
    descend(shared, args, head, t, warp, lane, du, d_log_w_sum);
    __syncthreads();  // all gradients are in shared memory
    const auto write = [&](bfloat16* to, bfloat16* from_smem) {
      write_rows<kTokens, kThreads>(to + at, Rows{from_smem}, head.stride, rows, kChannels, true,
                                    tid);
    };
    write(args.dq, shared.q), write(args.dk, shared.k), write(args.dv, shared.dv);
    if (forward.log_w_stride_T > 0) write(args.d_log_w, shared.log_w);
  }

  // Half of the threads add up the warps' sums of du, the other half the sums of d_log_w.
  auto* const sums = reinterpret_cast<float(*)[kWarps][kChannels]>(shared.states[0]);
  copy<2>(sums[0][warp] + 2 * lane, du), copy<2>(sums[1][warp] + 2 * lane, d_log_w_sum);
  __syncthreads();
  const int which = tid / kChannels, ik = tid % kChannels;
  float sum = 0.0f;
  for (int w = 0; w < kWarps; ++w)
    sum += sums[which][w][ik];
  (which == 0 ? work.du_parts : work.d_log_w_parts)[blockIdx.x * std::int64_t{kChannels} + ik] =
      sum;
}

void wkv(const Args& args) {
  require_what_is_taken(args);
  const ladder::WkvBf16Args& forward = args.forward;
  const std::int64_t heads = forward.H, chunks = (forward.T + kTokens - 1) / kTokens;
  const std::int64_t blocks = chunks > 0 ? forward.B * heads : 0;
  const std::int64_t elements = heads * kChannels;
  using ladder::cuda::Scratch;
  const Scratch<float4> states(blocks * chunks * 2 * kBlocks * kThreads);
  const Scratch<float> du_parts(blocks * kChannels), d_log_w_parts(blocks * kChannels);
  const Work work{chunks, states.pointer(), du_parts.pointer(), d_log_w_parts.pointer()};
  const cudaStream_t stream = ladder::cuda::stream();
  if (blocks > 0) {
    ladder::cuda::allow_shared_memory("save_states", save_states, sizeof(Shared));
    ladder::cuda::allow_shared_memory("wkv_reverse_tree", wkv_reverse_tree, sizeof(Shared));
    const auto grid = static_cast<unsigned>(blocks);
    save_states<<<grid, kThreads, sizeof(Shared), stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    wkv_reverse_tree<<<grid, kThreads, sizeof(Shared), stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  const auto sum = [&](auto* to, const float* parts) {
    sum_parts<<<static_cast<unsigned>(heads), kChannels, 0, stream>>>(to, parts, elements,
                                                                      chunks > 0 ? forward.B : 0);
    CUDA_CHECK(cudaGetLastError());
  };
  sum(args.du, work.du_parts);
  if (forward.log_w_stride_T == 0) sum(args.d_log_w, work.d_log_w_parts);
}

const ladder::Registration registration{{.name = "wkv_reverse_tree",
                                         .device = ladder::DeviceKind::kCuda,
                                         .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<ladder::WkvBackward>(wkv)}};

}  // namespace
}  // namespace chunkwise
