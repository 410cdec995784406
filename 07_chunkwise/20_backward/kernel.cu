// 07 chunkwise, backward: the gradients of WKV and of GLA on tensor cores.
// Change: rewrite. Two passes over the chunks run at once, forward for the state S and backward for
//         its gradient D. Then all chunks run in parallel.
// Why:    given S at a chunk's first step and D at its last, everything inside is products of small
//         matrices.
// Needs:  any B, T, H, K and V up to 65535, both states, scale, reverse, decay per token or per
//         head, fp32 or bf16, a GPU since Ampere.
// Costs:  S and D of every chunk in memory, each as large as one of the tensors if V = 64. There
//         are no atomics. A NaN may reach all gradients of its own block of 16 steps, because
//         masked elements are 0, and 0 times NaN is NaN. See README for the derivation and for what
//         was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/20_backward/chunk.hpp"
#include "07_chunkwise/20_backward/chunk_scores.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/pair_gradients.hpp"
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

using ladder::cuda::Scratch;

// Kernels count steps and channels in ints. A grid's y is at most 65535, one for each tile of a
// state.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = 65535, kMostTiles = 65535;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // per step, all heads, in q or v

// ---- First kernel: the walks ----

// Blocks with blockIdx.z = 1 go backward.
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

// Copies are in chunk.hpp, the rows, decays and scores in chunk_scores.hpp, products of a tile of V
// in state_products.hpp, and the gradients in pair_gradients.hpp.

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
__global__ void __launch_bounds__(kThreads, kRests || sizeof(Element) == sizeof(float) ? 1 : 2)
    chunk_gradients(const BasicWkvGradArgs<Element, LogW> args, const Work<Element> work) {
  extern __shared__ float4 smem[];
  using Tiles = ChunkTiles<kRests, Element, LogW>;
  auto& tiles_smem = *reinterpret_cast<Tiles*>(smem);
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const Part part{lane, warp, warp % kBlocks * kBlock, warp >= kBlocks};
  const Place place(args.forward, work.chunks);
  const float scale = args.forward.scale;

  // All copies start at once, first the inputs of the rows, then the first tile of V.
  fetch_keys<kAligned>(tiles_smem, args.forward, place);
  fetch_values<kAligned>(tiles_smem, args, work, place, 0);
  make_spans<kGla>(tiles_smem, warp, lane);
  int ik[2];
  float u[2];
  find_channels<kGla>(args.forward, place, part, ik, u);
  __pipeline_wait_prior(1);
  __syncthreads();  // q, k and log_w are in shared memory

  Sum left[kBlocksPerWarp];
  put_rows<kGla>(tiles_smem, part, ik, u, left);
  __syncthreads();
  put_decays_around_blocks(tiles_smem, tid);
  decay_to_the_end(tiles_smem, part, ik, left);
  Sum scores[kPairsPerWarp] = {};
  if (warp < kBlocks) add_scores_within_block(tiles_smem, part, scores[0]);
  add_scores_between_blocks(tiles_smem, part, scores);
  __syncthreads();  // all threads have read the levels' rows, so they may be overwritten
  put_left(tiles_smem, part, left);
  put_scores(tiles_smem, part, scale, scores);

  // Products with S and D, one tile of V at a time. dv is complete after its tile.
  Sum d_scores[kPairsPerWarp] = {};
  Sum from_state[kBlocksPerWarp] = {}, from_adjoint[kBlocksPerWarp] = {};
  Sum overlap = {};  // S times D transposed, of which only the diagonal is used
#pragma unroll 1
  for (int tile_V = 0; tile_V < work.tiles_V; ++tile_V) {
    if (tile_V > 0) {
      __syncthreads();  // all threads have read the last tile of V, so it may be refilled
      fetch_values<kAligned>(tiles_smem, args, work, place, tile_V);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    add_d_scores(tiles_smem, part, d_scores);
    add_products_of_states(tiles_smem, part, from_state, from_adjoint, overlap);
    make_dv<kAligned>(tiles_smem, args, work, place, part, tile_V);
  }
  put_overlap(tiles_smem, part, ik, overlap);
  if constexpr (Tiles::kWithRest) __syncthreads();  // all have read `left`; it may be overwritten
  put_d_scores(tiles_smem, part, scale, d_scores);
  __syncthreads();

  Sum d_log_w[kBlocksPerWarp] = {};
  make_gradients<kGla>(tiles_smem, part, ik, u, scale, tid, from_state, from_adjoint, d_log_w);
  __syncthreads();
  put_d_log_w(tiles_smem, part, ik, place.rows, work.d_log_w_parts != nullptr, d_log_w);
  __syncthreads();
  write_gradients<kAligned>(tiles_smem, args, work, place);
  write_parts(tiles_smem, args.forward, work, place, tid);
}

// ---- Third kernel: sums over blocks, always in the same order ----

constexpr int kSumThreads = 256;

// to[i] is the sum over parts[n][i]. kShares threads share the parts of an element.
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
  // With several tiles of K a kernel adds their dv, with one thread per element.
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
