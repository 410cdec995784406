// Where a block of the second kernel works, what it reads, and what it writes at its end.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

using ladder::BasicWkvArgs;
using ladder::BasicWkvGradArgs;

// A chunk of a head, and 64 rows of K.
struct Place {
  std::int64_t b, h, bh;
  unsigned bn;  // batch and chunk
  int chunk, tile_K;
  int T, K, V;
  int first, rows;  // step of the chunk, and steps that exist
  int first_ik;

  template <typename Args>
  __device__ __forceinline__ Place(const Args& forward, int chunks) {
    const unsigned heads = static_cast<unsigned>(forward.H);
    h = blockIdx.x % heads;
    bn = blockIdx.x / heads;
    chunk = bn % chunks, tile_K = blockIdx.y;
    b = bn / chunks, bh = b * heads + h;
    T = forward.T, K = forward.K, V = forward.V;
    first = chunk * kSide, rows = T - first < kSide ? T - first : kSide;
    first_ik = tile_K * kSide;
  }
};

template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void fetch_keys(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                           const BasicWkvArgs<Element, LogW>& forward,
                                           const Place& place) {
  fetch<kThreads, kAligned>(SquareTile<Element>{tiles_smem.q},
                            Steps(forward.q, forward, place.b, place.h, place.K, place.first_ik),
                            place.first, place.rows);
  fetch<kThreads, kAligned>(SquareTile<Element>{tiles_smem.k},
                            Steps(forward.k, forward, place.b, place.h, place.K, place.first_ik),
                            place.first, place.rows);
  fetch<kThreads, kAligned>(SquareTile<LogW>{tiles_smem.log_w},
                            log_w_steps(forward, place.b, place.h, place.first_ik), place.first,
                            place.rows);
  __pipeline_commit();
}

// v, d_o, S before the chunk and D behind it, of a tile of V.
template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void fetch_values(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                             const BasicWkvGradArgs<Element, LogW>& args,
                                             const Work<Element>& work, const Place& place,
                                             int tile_V) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int V = place.V;
  const auto to = [&](Staged staged) { return SquareTile<Element>{tiles_smem.stage[staged]}; };
  const Steps v(forward.v, forward, place.b, place.h, V, tile_V * kSide);
  const Steps d_o(args.d_o, forward, place.b, place.h, V, tile_V * kSide);
  const std::int64_t at = work.state_tile(place.bh, place.chunk, place.tile_K, tile_V);
  const Element* const state = work.states + at;
  const Element* const adjoint = work.adjoints + at;
  fetch<kThreads, kAligned>(to(kValues), v, place.first, place.rows);
  fetch<kThreads, kAligned>(to(kOutputGradients), d_o, place.first, place.rows);
  fetch<kThreads, true>(to(kState), state, kSide, kSide, kSide);
  fetch<kThreads, true>(to(kAdjoint), adjoint, kSide, kSide, kSide);
  if constexpr (kRests) {
    const std::int64_t rests = work.rests(forward);
    fetch<kThreads, true>(to(kStateRest), state + rests, kSide, kSide, kSide);
    fetch<kThreads, true>(to(kAdjointRest), adjoint + rests, kSide, kSide, kSide);
  }
  __pipeline_commit();
}

// A lane's two channels, and their bonus.
template <bool kGla, typename Element, typename LogW>
__device__ __forceinline__ void find_channels(const BasicWkvArgs<Element, LogW>& forward,
                                              const Place& place, const Part& part, int (&ik)[2],
                                              float (&u)[2]) {
  const int K = place.K;
  for (int i = 0; i < 2; ++i) {
    ik[i] = part.row + part.lane / 4 + 8 * i;
    u[i] = kGla ? 1.0f
           : place.first_ik + ik[i] < K
               ? ladder::cuda::load(forward.u + place.h * K + place.first_ik + ik[i])
               : 0.0f;
  }
}

// dq, dk and d_log_w of all steps.
template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void write_gradients(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                                const BasicWkvGradArgs<Element, LogW>& args,
                                                const Work<Element>& work, const Place& place) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int K = place.K;
  const auto write_to = [&](auto* array, auto from_smem) {
    write<kThreads, kAligned>(Steps(array, forward, place.b, place.h, K, place.first_ik),
                              place.first, place.rows, from_smem);
  };
  write_to(args.dq, SquareTile<Element>{tiles_smem.out[0]});
  write_to(args.dk, SquareTile<Element>{tiles_smem.out[1]});
  if (work.d_log_w_parts == nullptr) write_to(args.d_log_w, SquareTile<LogW>{tiles_smem.log_w});
}

// What sum_parts() adds up: du, and d_log_w where a head has one decay.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void write_parts(const ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                            const BasicWkvArgs<Element, LogW>& forward,
                                            const Work<Element>& work, const Place& place,
                                            int tid) {
  const int K = place.K;
  if (tid >= kSide || place.first_ik + tid >= K) return;
  const std::int64_t at = (place.bn * forward.H + place.h) * K + place.first_ik + tid;
  const auto sum = [&](const float(&parts)[kBlocks][kSide]) {
    return parts[0][tid] + parts[1][tid] + parts[2][tid] + parts[3][tid];
  };
  if (work.du_parts != nullptr) work.du_parts[at] = sum(tiles_smem.sums.du);
  if (work.d_log_w_parts != nullptr) work.d_log_w_parts[at] = sum(tiles_smem.sums.d_log_w);
}

}  // namespace chunkwise::backward
