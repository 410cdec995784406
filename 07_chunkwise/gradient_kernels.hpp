// The work of the kernels of lessons 20 and 20d, besides the walks, and their buffers. Copies are in
// gradient_chunk.hpp, the rows, decays and scores in chunk_scores.hpp, products of a tile of V in
// state_products.hpp, and the gradients in pair_gradients.hpp.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/chunk_scores.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "07_chunkwise/pair_gradients.hpp"
#include "07_chunkwise/state_products.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

// ---- Second kernel: inside the chunks ----

// Computes all gradients of a chunk.
template <bool kGla, bool kAligned, bool kRests, typename Element, typename LogW, typename Buffers>
__device__ __forceinline__ void gradients_of_chunk(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                                   const BasicWkvGradArgs<Element, LogW>& args,
                                                   const Buffers& work) {
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
    if constexpr (Buffers::kInSegments) work.add_first_states(tiles_smem, place, tile_V);
    __syncthreads();
    add_d_scores(tiles_smem, part, d_scores);
    add_products_of_states(tiles_smem, part, from_state, from_adjoint, overlap);
    make_dv<kAligned>(tiles_smem, args, work, place, part, tile_V);
  }
  put_overlap(tiles_smem, part, ik, overlap);
  if constexpr (ChunkTiles<kRests, Element, LogW>::kWithRest)
    __syncthreads();  // all have read `left`; it may be overwritten
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
__device__ void add_parts(float (&sum_smem)[kShares][kSumThreads / kShares], Element* to,
                          const float* parts, std::int64_t elements, std::int64_t count) {
  constexpr int kElements = kSumThreads / kShares;
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

// ---- Buffers ----

template <typename Element, typename LogW>
bool has_decay_per_head(const BasicWkvArgs<Element, LogW>& args) {
  return args.log_w_stride_T == 0 && args.log_w_stride_B == 0;
}

// The work buffers of a call.
template <typename Element>
class Memory {
 public:
  template <typename LogW>
  Memory(const BasicWkvArgs<Element, LogW>& args, bool gla, bool rests)
      : chunks_((args.T + kSide - 1) / kSide),
        tiles_K_((args.K + kSide - 1) / kSide),
        tiles_V_((args.V + kSide - 1) / kSide),
        states_((1 + rests) * args.B * args.H * chunks_ * tiles_K_ * tiles_V_ * kTileSize),
        adjoints_((1 + rests) * args.B * args.H * chunks_ * tiles_K_ * tiles_V_ * kTileSize),
        dv_parts_(tiles_K_ > 1 ? tiles_K_ * args.B * args.T * args.H * args.V : 0),
        du_parts_(gla ? 0 : args.B * chunks_ * args.H * args.K),
        d_log_w_parts_(has_decay_per_head(args) ? args.B * chunks_ * args.H * args.K : 0) {}

  Work<Element> work() const {
    return {static_cast<int>(chunks_), static_cast<int>(tiles_K_), static_cast<int>(tiles_V_),
            states_.pointer(),         adjoints_.pointer(),        dv_parts_.pointer(),
            du_parts_.pointer(),       d_log_w_parts_.pointer()};
  }

 private:
  std::int64_t chunks_, tiles_K_, tiles_V_;
  ladder::cuda::Scratch<Element> states_, adjoints_;
  ladder::cuda::Scratch<float> dv_parts_, du_parts_, d_log_w_parts_;
};

}  // namespace chunkwise::backward
