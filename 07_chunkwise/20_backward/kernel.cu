// 07 chunkwise, backward: the gradients of WKV and of GLA on tensor cores.
// Change: rewrite: two walks at once, over the chunks forward for the state S and backward for its gradient D; then all chunks in parallel.
// Why:    given S at a chunk's first step and D at its last, everything inside is products of small matrices.
// Needs:  any B, T, H, K and V up to 65535; both states, scale, reverse, decay per token or per head; fp32 or bf16; a GPU since Ampere.
// Costs:  S and D of every chunk in memory, each as large as one of the tensors where V = 64; no atomics. A NaN may reach all
//         gradients of its own block of 16 steps: masked elements are 0, and 0 times NaN is NaN.
//         See README for the derivation and for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/20_backward/chunk_rows.hpp"
#include "07_chunkwise/20_backward/chunk_scores.hpp"
#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/decay_gradients.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/pair_gradients.hpp"
#include "07_chunkwise/20_backward/pairs.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"
#include "07_chunkwise/20_backward/state_products.hpp"
#include "07_chunkwise/20_backward/walks.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {
namespace {

using ladder::BasicWkvArgs;
using ladder::BasicWkvGradArgs;
using ladder::cuda::Scratch;

// Kernels count steps and channels in ints; a grid has 65535 rows, one for each tile of a state.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = 65535, kMostTiles = 65535;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // of all heads of a step, in q or v

// ---- First kernel: the walks ----

// Blocks with blockIdx.z = 1 walk backward.
template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
__global__ void __launch_bounds__(kWalkThreads, 4)
    walk_chunks(const BasicWkvGradArgs<Element, LogW> args, const Work<Element> work) {
  extern __shared__ float4 smem[];
  auto* const stages_smem = reinterpret_cast<WalkStage<Element, LogW>*>(smem);
  if (blockIdx.z == 0) {
    walk<kGla, false, kAligned, kRests>(args, work, stages_smem);
  } else {
    walk<kGla, true, kAligned, kRests>(args, work, stages_smem);
  }
}

// ---- Second kernel: inside the chunks ----

// Each step stands where its name says: the rows and the decays in chunk_rows.hpp, the scores in chunk_scores.hpp, products of a tile
// of V in state_products.hpp, the gradients in pair_gradients.hpp and decay_gradients.hpp. What is written out here is what nvcc makes
// into other machine code when it is a function: README, "The kernels, walked through".

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
__global__ void __launch_bounds__(kThreads, kRests || sizeof(Element) == sizeof(float) ? 1 : 2)
    chunk_gradients(const BasicWkvGradArgs<Element, LogW> args, const Work<Element> work) {
  extern __shared__ float4 smem[];
  auto& tiles_smem = *reinterpret_cast<ChunkTiles<kRests, Element, LogW>*>(smem);
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const unsigned heads = static_cast<unsigned>(forward.H);
  const std::int64_t h = blockIdx.x % heads;
  const unsigned bn = blockIdx.x / heads;  // batch and chunk
  const int chunk = bn % work.chunks, tile_K = blockIdx.y;
  const std::int64_t b = bn / work.chunks, bh = b * heads + h;
  const int T = forward.T, K = forward.K, V = forward.V;
  const int first = chunk * kSide, rows = T - first < kSide ? T - first : kSide;
  const int first_ik = tile_K * kSide;
  const float scale = forward.scale;

  const SquareTile<Element> q_smem{tiles_smem.q}, k_smem{tiles_smem.k};
  const SquareTile<LogW> log_w_smem{tiles_smem.log_w};
  const SquareTile<Element> level4_smem{tiles_smem.level4}, level5_smem{tiles_smem.level5};
  const SquareTile<Element> left_smem{tiles_smem.left}, scores_smem{tiles_smem.scores};
  const SquareTile<Element> v_smem{tiles_smem.stage[kValues]},
      d_o_smem{tiles_smem.stage[kOutputGradients]};
  const SquareTile<Element> state_smem{tiles_smem.stage[kState]},
      adjoint_smem{tiles_smem.stage[kAdjoint]};
  // Read only where kRests has them.
  const SquareTile<Element> state_rest_smem{tiles_smem.stage[kRests ? kStateRest : kState]};
  const SquareTile<Element> adjoint_rest_smem{tiles_smem.stage[kRests ? kAdjointRest : kAdjoint]};
  const SquareTile<Element> dq_smem{tiles_smem.out[0]}, dk_smem{tiles_smem.out[1]};

  // Everything that will be read is asked for at once: what the rows need, then the first tile of V.
  fetch<kThreads, kAligned>(q_smem, Steps(forward.q, forward, b, h, K, first_ik), first, rows);
  fetch<kThreads, kAligned>(k_smem, Steps(forward.k, forward, b, h, K, first_ik), first, rows);
  fetch<kThreads, kAligned>(log_w_smem, log_w_steps(forward, b, h, first_ik), first, rows);
  __pipeline_commit();

  const auto fetch_values = [&](int tile_V) {
    const Steps v(forward.v, forward, b, h, V, tile_V * kSide);
    const Steps d_o(args.d_o, forward, b, h, V, tile_V * kSide);
    const std::int64_t at = work.state_tile(bh, chunk, tile_K, tile_V);
    const Element* const state = work.states + at;
    const Element* const adjoint = work.adjoints + at;
    fetch<kThreads, kAligned>(v_smem, v, first, rows);
    fetch<kThreads, kAligned>(d_o_smem, d_o, first, rows);
    fetch<kThreads, true>(state_smem, state, kSide, kSide, kSide);
    fetch<kThreads, true>(adjoint_smem, adjoint, kSide, kSide, kSide);
    if constexpr (kRests) {
      fetch<kThreads, true>(state_rest_smem, state + work.rests(forward), kSide, kSide, kSide);
      fetch<kThreads, true>(adjoint_rest_smem, adjoint + work.rests(forward), kSide, kSide, kSide);
    }
    __pipeline_commit();
  };
  fetch_values(0);

  make_spans<kGla>(tiles_smem, warp, lane);

  const Part part{lane, warp, warp % kBlocks * kBlock, warp >= kBlocks};
  int ik[2];  // the lane's channels, and their bonus
  float u[2];
  for (int i = 0; i < 2; ++i) {
    ik[i] = part.row + lane / 4 + 8 * i;
    u[i] = kGla                   ? 1.0f
           : first_ik + ik[i] < K ? ladder::cuda::load(forward.u + h * K + first_ik + ik[i])
                                  : 0.0f;
  }
  __pipeline_wait_prior(1);
  __syncthreads();  // q, k and log_w are there

  // The rows of each level, and the bonus.
  Sum left[kBlocksPerWarp];
  float middle[2] = {1.0f, 1.0f};  // decay between this block and the chunk's middle
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x);
    Sum q, k, w;
    load_rows(tiles_smem, part, block, q, k, w);
    Decays decays = first_decays<kGla>(w);
    put_bonus(tiles_smem, part, u, block, q, k, decays);
    put_rows_of_block(tiles_smem, part, block, q, k, w, decays);
    left[x] = times(k, decays.after);
    // Levels 4 and 5, the halves of 32 and of 64 steps.
    const Sum read = times(q, decays.before);
    put(level4_smem, part.row, block * kBlock, block % 2 == 1 ? read : left[x], lane);
    Sum far = part.late ? read : left[x];
    for_each([&](int j, int y) { far.d[j][y] *= middle[y / 2]; });
    put(level5_smem, part.row, block * kBlock, far, lane);
    for (int i = 0; i < 2; ++i) {
      middle[i] = decays.total[0][i];
      if (lane % 4 == 0) tiles_smem.total[block][ik[i]] = middle[i];
    }
  }
  __syncthreads();
  put_decays_around_blocks(tiles_smem, tid);
  decay_to_the_end(tiles_smem, part, ik, left);

  Sum scores[kPairsPerWarp] = {};
  if (warp < kBlocks) add_scores_within_block(tiles_smem, part, scores[0]);
  add_scores_between_blocks(tiles_smem, part, scores);
  __syncthreads();  // all have read the levels' rows
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x)
    put(left_smem, part.row, part.block_of(x) * kBlock, left[x], lane);
  put_scores(tiles_smem, part, scale, scores);

  // Products with S and D, tile of V by tile of V; dv is complete after its tile.
  Sum pairs[kPairsPerWarp] = {};
  Sum from_state[kBlocksPerWarp] = {}, from_adjoint[kBlocksPerWarp] = {};
  Sum overlap = {};  // S times D transposed, of which only the diagonal is wanted
#pragma unroll 1
  for (int tile_V = 0; tile_V < work.tiles_V; ++tile_V) {
    const int first_iv = tile_V * kSide;
    if (tile_V > 0) {
      __syncthreads();  // all have read what is overwritten now
      fetch_values(tile_V);
    }
    __pipeline_wait_prior(0);
    __syncthreads();

    add_pairs(tiles_smem, part, pairs);
    add_products_with_states(tiles_smem, part, from_state, from_adjoint, overlap);

    const int s = warp / 2, first_column = warp % 2 * kColumnBlocks * kBlock;
    Sum dv[kColumnBlocks] = {};
    add_dv(tiles_smem, s, first_column, lane, dv);
#pragma unroll
    for (int x = 0; x < kColumnBlocks; ++x)
      store_dv<kAligned>(args, work, b, h, T, V, tile_K, first + s * kBlock,
                         first_iv + first_column + x * kBlock, dv[x], lane);
  }

  put_overlap(tiles_smem, part, ik, overlap);
  if constexpr (kWithRest<Element, LogW>) __syncthreads();  // all have read what was left of k
  put_pairs(tiles_smem, part, scale, pairs);
  __syncthreads();

  ChannelSums& sums_smem = tiles_smem.sums;
  Sum d_log_w[kBlocksPerWarp] = {};
  // One block at a time, to have registers enough.
  park(tiles_smem, tid, from_state[1], from_adjoint[1]);
#pragma unroll 1
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x), column = block * kBlock;
    Sum q, k, w, dq = {}, dk = {}, d_log_w_here = {};
    load_rows(tiles_smem, part, block, q, k, w);
    Decays decays = first_decays<kGla>(w);
    add_gradients_within_block<kGla>(tiles_smem, part, column, q, k, w, decays, dq, dk,
                                     d_log_w_here);

    // Beyond the block: S and D, the other half of the chunk, the other block of this half.
    Sum& wide_dq = from_state[0];
    Sum& wide_dk = from_adjoint[0];
    float to_middle[2];
    for (int i = 0; i < 2; ++i) {
      const float before = scale * tiles_smem.before[block][ik[i]];
      const float after = tiles_smem.after[block][ik[i]];
      to_middle[i] = block == 0   ? tiles_smem.total[1][ik[i]]
                     : block == 3 ? tiles_smem.total[2][ik[i]]
                                  : 1.0f;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
#pragma unroll
        for (int y = 2 * i; y < 2 * i + 2; ++y) {
          wide_dq.d[j][y] *= before * decays.before.d[j][y];
          wide_dk.d[j][y] *= after * decays.after.d[j][y];
        }
      }
    }
    float from_before[2], from_after[2], from_half[2];
    sum_over_steps(from_before, times(q, wide_dq));
    sum_over_steps(from_after, times(k, wide_dk));

    Sum far = {}, near = {};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int other = (part.late ? 0 : 2) * kBlock + n * kBlock;
      add_wide(tiles_smem, part, column, far, load(level5_smem, part.row, other, lane), other);
    }
    const int sibling = (block ^ 1) * kBlock;
    add_wide(tiles_smem, part, column, near, load(level4_smem, part.row, sibling, lane), sibling);
    const bool odd = block % 2 == 1;
    Sum reaching;
    for_each([&](int j, int y) {
      const float before = decays.before.d[j][y], after = decays.after.d[j][y];
      const float far_change = far.d[j][y] * to_middle[y / 2] * (part.late ? before : after);
      const float near_change = near.d[j][y] * (odd ? before : after);
      reaching.d[j][y] = far_change * (part.late ? q.d[j][y] : k.d[j][y]);
      wide_dq.d[j][y] += (part.late ? far_change : 0.0f) + (odd ? near_change : 0.0f);
      wide_dk.d[j][y] += (part.late ? 0.0f : far_change) + (odd ? 0.0f : near_change);
    });
    sum_over_steps(from_half, reaching);
    add_to_d_log_w(tiles_smem, part, d_log_w_here, times(q, wide_dq), kFromBefore);
    add_to_d_log_w(tiles_smem, part, d_log_w_here, times(k, wide_dk), kFromAfter);

    float du[2];
    put_gradients(tiles_smem, part, u, column, q, k, wide_dq, wide_dk, dq, dk, du);
    put_sums(tiles_smem, part, ik, block, from_before, from_after, from_half, du);
    unpark(tiles_smem, tid, from_state[0], from_adjoint[0]);
    d_log_w[0] = d_log_w[1];
    d_log_w[1] = d_log_w_here;
  }
  __syncthreads();

  const SquareTile<LogW> d_log_w_smem{tiles_smem.log_w};
#pragma unroll
  for (int x = 0; x < kBlocksPerWarp; ++x) {
    const int block = part.block_of(x);
    add_across(tiles_smem, part, ik, block, d_log_w[x]);
    if (work.d_log_w_parts != nullptr)
      put_d_log_w_sums(tiles_smem, part, ik, block, rows, d_log_w[x]);
    put_transposed(d_log_w_smem, block * kBlock, part.row, d_log_w[x], lane);
  }
  __syncthreads();

  write<kThreads, kAligned>(Steps(args.dq, forward, b, h, K, first_ik), first, rows, dq_smem);
  write<kThreads, kAligned>(Steps(args.dk, forward, b, h, K, first_ik), first, rows, dk_smem);
  if (work.d_log_w_parts == nullptr)
    write<kThreads, kAligned>(Steps(args.d_log_w, forward, b, h, K, first_ik), first, rows,
                              d_log_w_smem);
  if (tid < kSide && first_ik + tid < K) {
    const std::int64_t at = (bn * forward.H + h) * K + first_ik + tid;
    const auto sum = [&](const float(&parts)[kBlocks][kSide]) {
      return parts[0][tid] + parts[1][tid] + parts[2][tid] + parts[3][tid];
    };
    if (work.du_parts != nullptr) work.du_parts[at] = sum(sums_smem.du);
    if (work.d_log_w_parts != nullptr) work.d_log_w_parts[at] = sum(sums_smem.d_log_w);
  }
}

// ---- Third kernel: sums over blocks, always in the same order ----

constexpr int kSumThreads = 256;

// to[i] = sum over parts[n][i]; kShares threads share the parts of an element.
template <int kShares, typename Element>
__global__ void __launch_bounds__(kSumThreads)
    sum_parts(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  __shared__ float sum_smem[kShares][kElements];
  const int x = threadIdx.x % kElements, share = threadIdx.x / kElements;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kElements + x;
  float sum = 0.0f;
  if (i < elements) {
#pragma unroll 4
    for (std::int64_t n = share; n < count; n += kShares)
      sum += parts[n * elements + i];
  }
  sum_smem[share][x] = sum;
  __syncthreads();
  if (share != 0 || i >= elements) return;
  for (int other = 1; other < kShares; ++other)
    sum += sum_smem[other][x];
  ladder::cuda::store(to + i, sum);
}

template <int kShares, typename Element>
void launch_sum(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
  const auto blocks = static_cast<unsigned>((elements + kElements - 1) / kElements);
  sum_parts<kShares>
      <<<blocks, kSumThreads, 0, ladder::cuda::stream()>>>(to, parts, elements, count);
  CUDA_CHECK(cudaGetLastError());
}

// ---- Launchers ----

template <typename Element, typename LogW>
bool has_decay_per_head(const BasicWkvArgs<Element, LogW>& args) {
  return args.log_w_stride_T == 0 && args.log_w_stride_B == 0;
}

template <typename Element, typename LogW>
bool is_aligned(const BasicWkvGradArgs<Element, LogW>& args) {
  const auto off = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  constexpr std::int64_t kUnit = 16 / sizeof(Element);
  return forward.K % kUnit == 0 && forward.V % kUnit == 0 && !off(forward.q) && !off(forward.k) &&
         !off(forward.v) && !off(forward.log_w) && !off(args.d_o) && !off(args.dq) &&
         !off(args.dk) && !off(args.dv) && !off(args.d_log_w);
}

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
void launch(const BasicWkvGradArgs<Element, LogW>& args) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const std::int64_t B = forward.B, T = forward.T, H = forward.H, K = forward.K, V = forward.V;
  const std::int64_t chunks = (T + kSide - 1) / kSide;
  const std::int64_t tiles_K = (K + kSide - 1) / kSide, tiles_V = (V + kSide - 1) / kSide;
  const bool per_head = has_decay_per_head(forward);

  constexpr int kWalkBytes = kStages * sizeof(WalkStage<Element, LogW>);
  constexpr int kGradientBytes = sizeof(ChunkTiles<kRests, Element, LogW>);
  const auto walk = walk_chunks<kGla, kAligned, kRests, Element, LogW>;
  const auto gradients = chunk_gradients<kGla, kAligned, kRests, Element, LogW>;
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", walk, kWalkBytes);
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", gradients, kGradientBytes);

  const std::int64_t state_count = B * H * chunks * tiles_K * tiles_V * kTileSize;
  const std::int64_t part_count = B * chunks * H * K;
  const Scratch<Element> states((1 + kRests) * state_count);
  const Scratch<Element> adjoints((1 + kRests) * state_count);
  const Scratch<float> dv_parts(tiles_K > 1 ? tiles_K * B * T * H * V : 0);
  const Scratch<float> du_parts(kGla ? 0 : part_count), d_log_w_parts(per_head ? part_count : 0);
  const Work<Element> work{static_cast<int>(chunks),  static_cast<int>(tiles_K),
                           static_cast<int>(tiles_V), states.pointer(),
                           adjoints.pointer(),        dv_parts.pointer(),
                           du_parts.pointer(),        d_log_w_parts.pointer()};

  if (B > 0) {
    const dim3 grid(static_cast<unsigned>(B * H), static_cast<unsigned>(tiles_K * tiles_V), 2);
    walk<<<grid, kWalkThreads, kWalkBytes, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (B > 0 && T > 0) {
    const dim3 grid(static_cast<unsigned>(B * H * chunks), static_cast<unsigned>(tiles_K));
    gradients<<<grid, kThreads, kGradientBytes, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    if (tiles_K > 1) launch_sum<1>(args.dv, work.dv_parts, B * T * H * V, tiles_K);
  }
  constexpr int kShares = 8;  // few elements with many parts
  if (!kGla) launch_sum<kShares>(args.du, work.du_parts, H * K, B * chunks);
  if (per_head) launch_sum<kShares>(args.d_log_w, work.d_log_w_parts, H * K, B * chunks);
}

template <bool kGla, bool kAligned, typename Element, typename LogW>
void choose_rests(const BasicWkvGradArgs<Element, LogW>& args) {
  if constexpr (sizeof(LogW) > sizeof(Element)) {
    if (has_decay_per_head(args.forward)) return launch<kGla, kAligned, true>(args);
  }
  launch<kGla, kAligned, false>(args);
}

template <typename Element, typename LogW>
void require_limits(const BasicWkvArgs<Element, LogW>& args) {
  const auto refuse_unless = [](bool condition, const std::string& what, const char* allowed) {
    ladder::require(condition, what + "; chunkwise backward allows " + allowed);
  };
  const auto is = [](const char* name, std::int64_t size) {
    return std::string(name) + " is " + std::to_string(size);
  };
  refuse_unless(args.T <= kMostSteps, is("T", args.T), "up to 2^30 = 1073741824");
  refuse_unless(args.K <= kMostChannels, is("K", args.K), "up to 65535");
  refuse_unless(args.V <= kMostChannels, is("V", args.V), "up to 65535");
  const auto tiles = [](std::int64_t size) { return (size + kSide - 1) / kSide; };
  refuse_unless(tiles(args.K) * tiles(args.V) <= kMostTiles,
                is("K", args.K) + " and " + is("V", args.V),
                "K / 64 * V / 64 up to 65535, both quotients rounded up");
  refuse_unless(args.H <= kMostElements / args.K && args.H <= kMostElements / args.V,
                is("H", args.H), "H * K and H * V up to 2^30 = 1073741824");
  refuse_unless(args.B <= INT32_MAX / args.H / (args.T / kSide + 1), is("B", args.B),
                "B * H * (T / 64 + 1) up to 2^31 - 1");
  // With several tiles of K a kernel adds up their dv, a thread for each element.
  const std::int64_t elements = args.B * args.T * args.H * args.V;
  refuse_unless(tiles(args.K) == 1 || elements <= std::int64_t{INT32_MAX} * kSumThreads,
                is("B * T * H * V", elements), "up to 2^39 - 2^8 where K is above 64");
}

template <bool kGla, typename Element, typename LogW>
void choose(const BasicWkvGradArgs<Element, LogW>& args) {
  require_limits(args.forward);
  if (is_aligned(args)) return choose_rests<kGla, true>(args);
  choose_rests<kGla, false>(args);
}

template <typename Element, typename LogW>
void wkv(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate(args);
  choose<false>(args);
}

template <typename Element, typename LogW>
void gla(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate_gla(args);
  choose<true>(args);
}

const ladder::Registration wkv_registration{
    {.name = "wkv_chunkwise_backward",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::WkvBackward>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                         wkv<bfloat16, float>)}};

const ladder::Registration gla_registration{
    {.name = "gla_chunkwise_backward",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::GlaBackward>(gla<float, float>, gla<bfloat16, bfloat16>,
                                                         gla<bfloat16, float>)}};

}  // namespace
}  // namespace chunkwise::backward
