// 07 chunkwise, gradient products: WKV's gradients in chunks, with sums on tensor cores.
// Change: rewrite of 07.18. Matrix products are computed by tensor cores. The textbook's difference
//         for d_log_w is a second way.
// Why:    one instruction of a warp does 1,024 tf32 FMAs. The difference needs only q dq and k dk,
//         but loses digits.
// Needs:  K = V = 64, fp32, no states in or out, forward time, rows at multiples of 16 bytes,
//         tensor cores (sm_80).
// Costs:  scores and pairs of steps are still loops, 120 pairs in every channel. See README for
//         what was measured.
#include "07_chunkwise/19_gradient_products/gradient_products.hpp"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_gradients.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
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

using ladder::WkvGradArgs;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

constexpr int kChunk = 16;           // steps, also rows and columns of a product's block
constexpr int kThreads = kChannels;  // thread n has key row n in per-channel code
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kBlocks = kChannels / kChunk;
constexpr int kBlocksPerWarp = kBlocks / kWarps;
constexpr int kStateSize = kChannels * kChannels;

using Rows = Tile<float, kChannels>;
// Columns 0 to 15 are the scores [p][s], columns 16 to 31 their gradients.
using Pairs = Tile<float, 2 * kChunk>;

struct Work {
  std::int64_t chunks;   // per sequence
  float* states;         // (B, H, chunks, V, K), S before each chunk
  float* adjoints;       // (B, H, chunks, V, K), D after each chunk
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K)
};

// A chunk's offsets in the tensors. Steps past T change nothing, because q = k = v = d_o = log_w =
// 0.
struct Steps {
  std::int64_t first, log_w;  // elements before it
  std::int64_t stride;        // from step to step
  int rows;                   // steps in bounds

  __device__ Steps(const ladder::WkvArgs& forward, std::int64_t bh, std::int64_t c) {
    const std::int64_t b = bh / forward.H, h = bh % forward.H, t = c * kChunk;
    first = ((b * forward.T + t) * forward.H + h) * kChannels;
    log_w = b * forward.log_w_stride_B + t * forward.log_w_stride_T + h * kChannels;
    stride = forward.H * kChannels;
    rows = static_cast<int>(min(forward.T - t, std::int64_t{kChunk}));
  }
  __device__ void fetch(Rows to, const float* from) const {
    copy_rows_async<kChunk, kThreads>(to, from + first, stride, rows, kChannels, true, threadIdx.x);
  }
  __device__ void fetch_log_w(Rows to, const ladder::WkvArgs& forward) const {
    copy_rows_async<kChunk, kThreads>(to, forward.log_w + log_w, forward.log_w_stride_T, rows,
                                      kChannels, true, threadIdx.x);
  }
};

__device__ void wait_for_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

// visit(two, row, column) for a lane's pairs of 16 x 16 accumulators, two[0] and to its right
// two[1].
template <typename Visit>
__device__ void for_pairs(Accumulator (&sum)[2], int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Place mn = accumulator_place(lane, i % 2 * 2);
    visit(&sum[i / 2][i % 2 * 2], mn.row, i / 2 * 8 + mn.column);
  }
}

// Blocks with blockIdx.y = 0 compute S forward, from k and v, and the others D backward, from q and
// d_o.
__global__ void __launch_bounds__(kThreads) walk_borders(const WkvGradArgs args, const Work work) {
  __shared__ alignas(128) float smem[3][kChunk * kChannels];
  __shared__ float decays_smem[kChannels];  // of the whole chunk
  const int n = static_cast<int>(threadIdx.x), lane = n % kWarpSize, warp = n / kWarpSize;
  const bool backward = blockIdx.y == 1;
  const Rows left{smem[0]}, read{smem[1]}, log_w{smem[2]};

  // This warp's rows of the transposed state, which has rows of V and columns of K.
  Accumulator state[kBlocksPerWarp][kBlocks][2] = {};
  for (std::int64_t visited = 0; visited < work.chunks; ++visited) {
    const std::int64_t c = backward ? work.chunks - 1 - visited : visited;
    const Steps steps(args.forward, blockIdx.x, c);
    __syncthreads();  // all threads have read the previous chunk, so it may be overwritten
    steps.fetch(left, backward ? args.forward.q : args.forward.k);
    steps.fetch(read, backward ? args.d_o : args.forward.v);
    steps.fetch_log_w(log_w, args.forward);
    wait_for_copies();
    // k or q decayed to the other end of the chunk, and the decay from that end on.
    float decay = 1.0f;
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      const int s = backward ? m : kChunk - 1 - m;
      *left.at(s, n) *= backward ? args.forward.scale * decay : decay;
      decay *= expf(*log_w.at(s, n));
    }
    decays_smem[n] = decay;
    __syncthreads();

    float* const border =
        (backward ? work.adjoints : work.states) + (blockIdx.x * work.chunks + c) * kStateSize;
#pragma unroll
    for (int x = 0; x < kBlocksPerWarp; ++x) {
      const int iv = (warp * kBlocksPerWarp + x) * kChunk;
      const auto read_reg = load_a_km(read, 0, iv, lane);
#pragma unroll
      for (int j = 0; j < kBlocks; ++j) {
        for_pairs(state[x][j], lane, [&](float* two, int row, int column) {
          const int ik = j * kChunk + column;
          copy<2>(border + (iv + row) * kChannels + ik, two);
          two[0] *= decays_smem[ik], two[1] *= decays_smem[ik + 1];
        });
        FragmentB<float> left_reg[2];
        load_b_kn(left_reg, left, 0, j * kChunk, lane);
        multiply(state[x][j], read_reg, left_reg);
      }
    }
  }
}

struct alignas(128) Shared {
  float q[kChunk * kChannels], k[kChunk * kChannels], w[kChunk * kChannels];
  float v[kChunk * kChannels], d_o[kChunk * kChannels];
  float state[kStateSize], adjoint[kStateSize];  // (V, K), before and after the chunk
  // From S and from D, without the decays inside the chunk.
  float from_state[kChunk * kChannels], from_adjoint[kChunk * kChannels];
  float pairs[kChunk * 2 * kChunk];
  float overlap[kChannels];  // sum of S D over a row of K
};

// scores[p][s] is the weight of v_s in o_p, with the bonus. Four lanes share the rows of a key.
__device__ void put_scores(Pairs scores, Rows q, Rows k, Rows w, const float* u) {
  constexpr int kShares = kThreads / kChunk;
  const int s = threadIdx.x / kShares, share = threadIdx.x % kShares;
  float score[kChunk] = {};
  for (int ik = 2 * share; ik < kChannels; ik += 2 * kShares) {
    const float u_reg[2] = {u[ik], u[ik + 1]};
    float left[2], q_reg[2], w_reg[2];
    copy<2>(left, k.at(s, ik));
#pragma unroll
    for (int p = 0; p < kChunk; ++p) {
      if (p < s) continue;
      copy<2>(q_reg, q.at(p, ik)), copy<2>(w_reg, w.at(p, ik));
      for (int e = 0; e < 2; ++e) {
        score[p] += q_reg[e] * left[e] * (p == s ? u_reg[e] : 1.0f);
        if (p > s) left[e] *= w_reg[e];
      }
    }
  }
#pragma unroll
  for (int p = 0; p < kChunk; ++p) {
    for (int distance = 1; distance < kShares; distance *= 2)
      score[p] += __shfl_xor_sync(kAllLanes, score[p], distance);
    if (p % kShares == share) *scores.at(p, s) = score[p];
  }
}

// The gradients of the scores, scale d_o_p . v_s, by one warp.
__device__ void put_d_scores(Pairs pairs, Rows d_o, Rows v, float scale, int lane) {
  Accumulator sum[2] = {};
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    FragmentB<float> v_reg[2];
    load_b_nk(v_reg, v, 0, i * kChunk, lane);
    multiply(sum, load_a_mk(d_o, 0, i * kChunk, lane), v_reg);
  }
  for_pairs(sum, lane, [&](float* two, int p, int s) {
    two[0] *= scale, two[1] *= scale;
    copy<2>(pairs.at(p, kChunk + s), two);
  });
}

// Products of rows ik to ik + 15 of S and D with each d_o, with each v, and with each other.
__device__ void put_products_of_states(Shared& shared, float scale, int ik, int lane) {
  Accumulator from_state[2] = {}, from_adjoint[2] = {};
  float overlap[2] = {};
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    FragmentB<float> state[2] = {}, adjoint[2] = {};
    // TODO(1): roughly 4 lines; load rows 16 i to 16 i + 15 of shared.state and shared.adjoint into
    // TODO(1): `state` and `adjoint`; add their products with d_o and v to from_state and
    // TODO(1): from_adjoint; budget: four loads of 16 x 16 from shared memory, two products.
#pragma unroll
    for (int j = 0; j < 2; ++j)
      for (int half = 0; half < 2; ++half)
        overlap[j] +=
            state[j].x[half].x * adjoint[j].x[half].x + state[j].x[half].y * adjoint[j].x[half].y;
  }
  for_pairs(from_state, lane, [&](float* two, int p, int column) {
    two[0] *= scale, two[1] *= scale;
    copy<2>(Rows{shared.from_state}.at(p, ik + column), two);
  });
  for_pairs(from_adjoint, lane, [&](const float* two, int s, int column) {
    copy<2>(Rows{shared.from_adjoint}.at(s, ik + column), two);
  });
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    overlap[j] = quad_sum(overlap[j]);
    if (lane % 4 == 0) shared.overlap[ik + j * 8 + lane / 4] = overlap[j];
  }
}

template <DLogW kWay>
__global__ void __launch_bounds__(kThreads)
    chunk_gradients(const WkvGradArgs args, const Work work) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const ladder::WkvArgs& forward = args.forward;
  const int n = static_cast<int>(threadIdx.x), lane = n % kWarpSize, warp = n / kWarpSize;
  const std::int64_t c = blockIdx.x % work.chunks, bh = blockIdx.x / work.chunks;
  const std::int64_t b = bh / forward.H, h = bh % forward.H;
  const float scale = forward.scale, u = forward.u[h * kChannels + n];
  const Rows q_smem{shared.q}, k_smem{shared.k}, w_smem{shared.w}, v_smem{shared.v};
  const Rows d_o_smem{shared.d_o};
  const Pairs pairs{shared.pairs};
  const Steps steps(forward, bh, c);

  steps.fetch(q_smem, forward.q), steps.fetch(k_smem, forward.k), steps.fetch(v_smem, forward.v);
  steps.fetch(d_o_smem, args.d_o), steps.fetch_log_w(w_smem, forward);
  const std::int64_t border = (bh * work.chunks + c) * kStateSize;
  copy_rows_async<kChannels, kThreads>(Rows{shared.state}, work.states + border, kChannels,
                                       kChannels, kChannels, true, n);
  copy_rows_async<kChannels, kThreads>(Rows{shared.adjoint}, work.adjoints + border, kChannels,
                                       kChannels, kChannels, true, n);
  wait_for_copies();
  float q[kChunk], k[kChunk], w[kChunk];  // of channel n
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    q[s] = *q_smem.at(s, n), k[s] = *k_smem.at(s, n);
    w[s] = *w_smem.at(s, n) = expf(*w_smem.at(s, n));
  }
  __syncthreads();  // all decays are in shared memory
  put_scores(pairs, q_smem, k_smem, w_smem, forward.u + h * kChannels);
  if (warp == 0) put_d_scores(pairs, d_o_smem, v_smem, scale, lane);
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x)
    put_products_of_states(shared, scale, (warp * kBlocksPerWarp + x) * kChunk, lane);
  __syncthreads();  // all threads have read k, which may be overwritten; the products are complete

  float dq[kChunk] = {}, dk[kChunk], d_log_w[kChunk] = {}, du = 0.0f, d_log_w_sum = 0.0f;
  // Visits the pairs of a key of step s, which is `left` in step s + 1, with later queries.
  // `d_score(p)` is the gradient of their scores. `d_left`, the gradient of the key decayed past
  // the chunk, becomes the key's gradient. Returns the key decayed past the chunk.
  const auto visit_queries = [&](int s, float left, float& d_left, const auto& d_score) {
    float before[kChunk];
#pragma unroll
    for (int p = 0; p < kChunk; ++p) {
      if (p <= s) continue;
      before[p] = left;
      dq[p] += d_score(p) * left;
      left *= w[p];
    }
#pragma unroll
    for (int p = kChunk - 1; p >= 0; --p) {
      if (p <= s) continue;
      d_left *= w[p];
      if constexpr (kWay == DLogW::kChainRule) d_log_w[p] += before[p] * d_left;
      d_left += d_score(p) * q[p];
    }
    return left;
  };
  // The state acts as a key before the first step, with a remaining factor of 1. `pairs_beyond` is
  // the part of d_log_w from pairs whose query is after the chunk.
  float d_state = shared.overlap[n];
  float pairs_beyond = shared.overlap[n] * visit_queries(-1, 1.0f, d_state, [&](int p) {
                         return *Rows{shared.from_state}.at(p, n);
                       });
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    const float from_adjoint = *Rows{shared.from_adjoint}.at(s, n);
    dk[s] = from_adjoint;
    const float left =
        visit_queries(s, k[s], dk[s], [&](int p) { return *pairs.at(p, kChunk + s); });
    // TODO(2): roughly 1 line; add key s's pairs with later chunks' queries to pairs_beyond;
    // TODO(2): budget: one multiply-add.
    *k_smem.at(s, n) = left;
  }

  if constexpr (kWay == DLogW::kDifference) {
    // From the chunk's last step to its first. The bonus has no decay, so dq and dk are without it.
    // TODO(2): roughly 7 lines; compute d_log_w of all steps from pairs_beyond, q dq and k dk;
    // TODO(2): budget: no access to memory.
  }
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    if (s >= steps.rows) break;
    const float d_own = *pairs.at(s, kChunk + s);
    const std::int64_t element = steps.first + s * steps.stride + n;
    args.dq[element] = dq[s] + d_own * u * k[s];
    args.dk[element] = dk[s] + d_own * u * q[s];
    if (forward.log_w_stride_T > 0) args.d_log_w[element] = d_log_w[s];
    du += d_own * q[s] * k[s];
    d_log_w_sum += d_log_w[s];
  }
  const std::int64_t part = ((b * work.chunks + c) * forward.H + h) * kChannels + n;
  work.du_parts[part] = du;
  work.d_log_w_parts[part] = d_log_w_sum;
  __syncthreads();  // the decayed keys are in shared memory

#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int iv = (warp * kBlocksPerWarp + x) * kChunk;
    Accumulator dv[2] = {};
    FragmentB<float> right[2];
    load_b_kn(right, d_o_smem, 0, iv, lane);
    multiply(dv, load_a_km(pairs, 0, 0, lane), right);
    for (int i = 0; i < 8; ++i)
      dv[i / 4][i % 4] *= scale;
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      load_b_nk(right, Rows{shared.adjoint}, iv, j * kChunk, lane);
      multiply(dv, load_a_mk(k_smem, 0, j * kChunk, lane), right);
    }
    for_pairs(dv, lane, [&](const float* two, int s, int column) {
      if (s < steps.rows) copy<2>(args.dv + steps.first + s * steps.stride + iv + column, two);
    });
  }
}

template <DLogW kWay>
void launch(const WkvGradArgs& args) {
  require_plain_gradients(args, "07.19 gradient products");
  const ladder::WkvArgs& forward = args.forward;
  const std::int64_t heads = forward.H, chunks = (forward.T + kChunk - 1) / kChunk;
  ladder::require(heads <= INT32_MAX && forward.B <= INT32_MAX / heads / (chunks + 1),
                  "B * H is too large; allowed: B * H * T / 16 below 2^31 blocks");
  const std::int64_t blocks = forward.B * heads * chunks, elements = heads * kChannels;
  if (blocks > 0) {
    ladder::require_pointer("q", forward.q, sizeof(float4));
    ladder::require_pointer("k", forward.k, sizeof(float4));
    ladder::require_pointer("v", forward.v, sizeof(float4));
    ladder::require_pointer("log_w", forward.log_w, sizeof(float4));
    ladder::require_pointer("d_o", args.d_o, sizeof(float4));
    ladder::require_pointer("dv", args.dv, sizeof(float2));
    ladder::cuda::allow_shared_memory("wkv_gradient_products", chunk_gradients<kWay>,
                                      sizeof(Shared));
  }
  using ladder::cuda::Scratch;
  const Scratch<float> states(blocks * kStateSize), adjoints(blocks * kStateSize);
  const Scratch<float> du_parts(blocks * kChannels), d_log_w_parts(blocks * kChannels);
  const Work work{chunks, states.pointer(), adjoints.pointer(), du_parts.pointer(),
                  d_log_w_parts.pointer()};
  const cudaStream_t stream = ladder::cuda::stream();
  if (blocks > 0) {
    const dim3 walks(static_cast<unsigned>(forward.B * heads), 2);
    walk_borders<<<walks, kThreads, 0, stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    chunk_gradients<kWay>
        <<<static_cast<unsigned>(blocks), kThreads, sizeof(Shared), stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  const auto sum = [&](float* to, const float* parts) {
    sum_parts<<<static_cast<unsigned>(heads), kChannels, 0, stream>>>(to, parts, elements,
                                                                      forward.B * chunks);
    CUDA_CHECK(cudaGetLastError());
  };
  sum(args.du, work.du_parts);
  if (forward.log_w_stride_T == 0) sum(args.d_log_w, work.d_log_w_parts);
}

}  // namespace

void gradients(const WkvGradArgs& args, DLogW way) {
  way == DLogW::kChainRule ? launch<DLogW::kChainRule>(args) : launch<DLogW::kDifference>(args);
}

namespace {

void wkv(const WkvGradArgs& args) {
  gradients(args, DLogW::kChainRule);
}

const ladder::Registration registration{{.name = "wkv_gradient_products",
                                         .device = ladder::DeviceKind::kCuda,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<ladder::WkvBackward>(wkv)}};

}  // namespace
}  // namespace chunkwise
