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

#include "07_chunkwise/chunk_scores.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "07_chunkwise/gradient_kernels.hpp"
#include "07_chunkwise/gradient_limits.hpp"
#include "07_chunkwise/gradient_walks.hpp"
#include "07_chunkwise/pair_gradients.hpp"
#include "07_chunkwise/state_products.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {
namespace {

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

// Copies are in gradient_chunk.hpp, the rows, decays and scores in chunk_scores.hpp, products of a
// tile of V in state_products.hpp, and the gradients in pair_gradients.hpp.

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

template <int kShares, typename Element>
__global__ void __launch_bounds__(kSumThreads)
    sum_parts(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  __shared__ float sum_smem[kShares][kSumThreads / kShares];
  add_parts(sum_smem, to, parts, elements, count);
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

template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW>
void launch_kernels(const BasicWkvGradArgs<Element, LogW>& args) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const std::int64_t B = forward.B, T = forward.T, H = forward.H, K = forward.K, V = forward.V;
  constexpr int kGradientBytes = sizeof(ChunkTiles<kRests, Element, LogW>);
  const auto walk = walk_chunks<kGla, kAligned, kRests, Element, LogW>;
  const auto gradients = chunk_gradients<kGla, kAligned, kRests, Element, LogW>;
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", walk, kWalkBytes<Element, LogW>);
  ladder::cuda::allow_shared_memory("wkv_chunkwise_backward", gradients, kGradientBytes);
  const Memory<Element> memory(forward, kGla, kRests);
  const Work<Element> work = memory.work();

  if (B > 0) {
    const dim3 grid(static_cast<unsigned>(B * H),
                    static_cast<unsigned>(work.tiles_K * work.tiles_V), 2);
    walk<<<grid, kWalkThreads, kWalkBytes<Element, LogW>, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  if (B > 0 && T > 0) {
    const dim3 grid(static_cast<unsigned>(B * H * work.chunks),
                    static_cast<unsigned>(work.tiles_K));
    gradients<<<grid, kThreads, kGradientBytes, ladder::cuda::stream()>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    if (work.tiles_K > 1) launch_sum<1>(args.dv, work.dv_parts, B * T * H * V, work.tiles_K);
  }
  constexpr int kShares = 8;  // few elements with many parts
  const std::int64_t parts = B * work.chunks;
  if (!kGla) launch_sum<kShares>(args.du, work.du_parts, H * K, parts);
  if (has_decay_per_head(forward))
    launch_sum<kShares>(args.d_log_w, work.d_log_w_parts, H * K, parts);
}

template <bool kGla, typename Element, typename LogW>
void launch(const BasicWkvGradArgs<Element, LogW>& args) {
  choose_version(args,
                 [&](auto aligned, auto rests) { launch_kernels<kGla, aligned(), rests()>(args); });
}

template <typename Element, typename LogW>
void wkv(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate(args);
  launch<false>(args);
}

template <typename Element, typename LogW>
void gla(const BasicWkvGradArgs<Element, LogW>& args) {
  ladder::validate_gla(args);
  launch<true>(args);
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
