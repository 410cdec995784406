// 07 chunkwise, gradient products: the gradients of WKV in chunks, their sums as products on tensor cores; d_log_w in two ways.
// Change: rewrite of 07.18: what is a product of matrices goes to tensor cores. Beside its d_log_w stands the textbook's difference.
// Why:    one instruction of a warp does 1,024 multiply-adds of tf32. The difference needs nothing but q dq and k dk, but loses digits.
// Needs:  K = V = 64, fp32, no states in or out, forward time; rows at multiples of 16 bytes; tensor cores (sm_80).
// Costs:  scores and pairs of steps are still loops, 120 pairs in every channel. See README for what was measured.
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

constexpr int kChunk = 16;           // steps; and rows and columns of a block of a product
constexpr int kThreads = kChannels;  // thread n has key row n where a channel is one thread's
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kBlocks = kChannels / kChunk;
constexpr int kBlocksPerWarp = kBlocks / kWarps;
constexpr int kStateSize = kChannels * kChannels;

using Rows = Tile<float, kChannels>;
// Columns 0 to 15 are the scores [p][s], columns 16 to 31 their gradients.
using Pairs = Tile<float, 2 * kChunk>;

struct Work {
  std::int64_t chunks;   // of a sequence
  float* states;         // (B, H, chunks, V, K): S before each chunk
  float* adjoints;       // (B, H, chunks, V, K): D behind each chunk
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K)
};

// Where a chunk lies in the tensors. Steps beyond T change nothing: q = k = v = d_o = 0, log_w = 0.
struct Steps {
  std::int64_t first, log_w;  // elements before it
  std::int64_t stride;        // from step to step
  int rows;                   // steps that exist

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

// visit(two, row, column) for each pair of neighbours that the lane has of 16 x 16 sums: two[0] and, to its right, two[1].
template <typename Visit>
__device__ void for_pairs(Accumulator (&sum)[2], int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Place mn = accumulator_place(lane, i % 2 * 2);
    visit(&sum[i / 2][i % 2 * 2], mn.row, i / 2 * 8 + mn.column);
  }
}

// Blocks with blockIdx.y = 0 walk S forward, with k and v; the others walk D backward, with q and d_o.
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
    // TODO(1): roughly 33 lines; the rows of a chunk are copied; k becomes k~, or q becomes q~; this warp's rows of the state go to the border as
    // TODO(1): they are, then move across the chunk. budget: three barriers; 32 stores of two elements for each thread, eight products of 16 x 16 x
    // TODO(1): 16 for each warp.
  }
}

struct alignas(128) Shared {
  float q[kChunk * kChannels], k[kChunk * kChannels], w[kChunk * kChannels];
  float v[kChunk * kChannels], d_o[kChunk * kChannels];
  float state[kStateSize], adjoint[kStateSize];  // (V, K), before the chunk and behind it
  // From S and from D, without the decays inside of the chunk.
  float from_state[kChunk * kChannels], from_adjoint[kChunk * kChannels];
  float pairs[kChunk * 2 * kChunk];
  float overlap[kChannels];  // sum of S D over a row of K
};

// scores[p][s]: what o_p takes of v_s, the bonus included. Four lanes share the rows of a key.
__device__ void put_scores(Pairs scores, Rows q, Rows k, Rows w, const float* u) {
  constexpr int kShares = kThreads / kChunk;
  const int s = threadIdx.x / kShares, share = threadIdx.x % kShares;
  // TODO(2): roughly 21 lines; the scores of key s with its own query, which has the bonus, and with those behind it: this lane's share of the
  // TODO(2): channels, two at a time; then the sum of four lanes. budget: a quarter of the channels, two shuffles for a query, each score is stored
  // TODO(2): once.
}

// The gradients of the scores: scale d_o_p . v_s. One warp.
__device__ void put_d_scores(Pairs pairs, Rows d_o, Rows v, float scale, int lane) {
  // TODO(2): roughly 11 lines; scale times the product of d_o and v, 16 x 16, to columns 16 to 31 of `pairs`. budget: eight loads of 16 x 16, four
  // TODO(2): products, no shuffle.
}

// Rows ik to ik + 15 of S and D: with each d_o, with each v, and with each other.
__device__ void put_products_of_states(Shared& shared, float scale, int ik, int lane) {
  // TODO(3): roughly 27 lines; d_o S times scale to from_state, v D to from_adjoint, in columns ik to ik + 15; the sum of S D over each of these rows
  // TODO(3): of K to shared.overlap. budget: 16 loads of 16 x 16, eight products, four shuffles, each result is stored once.
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
  __syncthreads();  // all decays are there
  put_scores(pairs, q_smem, k_smem, w_smem, forward.u + h * kChannels);
  if (warp == 0) put_d_scores(pairs, d_o_smem, v_smem, scale, lane);
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x)
    put_products_of_states(shared, scale, (warp * kBlocksPerWarp + x) * kChunk, lane);
  __syncthreads();  // all have read k, which is overwritten now; the products are there

  float dq[kChunk] = {}, dk[kChunk], d_log_w[kChunk] = {}, du = 0.0f, d_log_w_sum = 0.0f;
  // A key of step s, which is `left` in step s + 1, and the queries behind it: `d_score(p)` is the gradient of their scores. `d_left`, of
  // what is left of the key behind the chunk, becomes that of the key. Returns what is left.
  const auto visit_queries = [&](int s, float left, float& d_left, const auto& d_score) {
    // TODO(4): roughly 15 lines; forward through the steps behind s, then back: what is left of the key, dq, d_left; d_log_w, but only by the chain
    // TODO(4): rule. budget: no memory but what d_score(p) reads.
    return left;
  };
  // The state is a key before the first step: 1 is left of it there. `pairs_beyond` is what d_log_w takes of pairs whose query lies
  // behind the chunk.
  float d_state = shared.overlap[n];
  float pairs_beyond = shared.overlap[n] * visit_queries(-1, 1.0f, d_state, [&](int p) {
                         return *Rows{shared.from_state}.at(p, n);
                       });
  // TODO(4): roughly 9 lines; every key is visited: dk without the bonus; what is left of it takes the key's place; pairs_beyond grows. budget: a
  // TODO(4): load of from_adjoint and a store for each key.

  if constexpr (kWay == DLogW::kDifference) {
    // From the chunk's last step to its first. The bonus has no decay: dq and dk are without it.
    // TODO(4): roughly 7 lines; d_log_w of all steps from pairs_beyond, q dq and k dk. budget: no access to memory.
  }
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    if (s >= steps.rows) break;
    // TODO(5): roughly 7 lines; dq and dk of the step, with what its own score gives them; d_log_w is stored too, but where a head has one decay for
    // TODO(5): all steps it is only added up; du and d_log_w_sum grow. budget: one store of each.
  }
  const std::int64_t part = ((b * work.chunks + c) * forward.H + h) * kChannels + n;
  work.du_parts[part] = du;
  work.d_log_w_parts[part] = d_log_w_sum;
  __syncthreads();  // what is left of all keys is there

#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int iv = (warp * kBlocksPerWarp + x) * kChunk;
    // TODO(5): roughly 14 lines; dv of 16 columns: scores^T d_o, times scale, and what is left of the keys, times D; rows that are there are stored.
    // TODO(5): budget: ten loads of 16 x 16, five products, one store for two elements.
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
