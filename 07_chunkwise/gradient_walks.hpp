// The first kernel's work. The state S goes forward over the chunks, its gradient D backward.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/decay_tree.hpp"
#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

constexpr int kWalkThreads = kBlocks * kWarpSize;  // a warp has 16 rows of the state
constexpr int kStages = 2;

template <typename Element, typename LogW>
struct alignas(16) WalkStage {
  Element key[kTileSize], value[kTileSize];
  LogW log_w[kTileSize];
};

template <typename Element, typename LogW>
constexpr int kWalkBytes = kStages * sizeof(WalkStage<Element, LogW>);

// S uses k and v, forward, and D uses q and d_o, backward. With kRests, the rounding errors of S
// and D are stored too. In lesson 20d a block walks one segment, and all but the first segment of a
// direction start from an empty state.
template <bool kGla, bool kBackward, bool kAligned, bool kRests, typename Element, typename LogW,
          typename Buffers>
__device__ void walk(const BasicWkvGradArgs<Element, LogW>& args, const Buffers& work,
                     WalkStage<Element, LogW>* stages_smem) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const int tile_K = blockIdx.y % work.tiles_K, tile_V = blockIdx.y / work.tiles_K;
  const unsigned heads = static_cast<unsigned>(forward.H);
  const std::int64_t bh = blockIdx.x, h = blockIdx.x % heads, b = blockIdx.x / heads;
  const int T = forward.T, K = forward.K, V = forward.V;
  const int first_ik = tile_K * kSide, first_iv = tile_V * kSide;
  const Steps key(kBackward ? forward.q : forward.k, forward, b, h, K, first_ik);
  const Steps value(kBackward ? args.d_o : forward.v, forward, b, h, V, first_iv);
  const auto log_w = log_w_steps(forward, b, h, first_ik);
  const float scale = forward.scale;
  const ChunkRange walked = work.walked_chunks();

  const auto fetch_chunk = [&](int n) {
    WalkStage<Element, LogW>& stage = stages_smem[n % kStages];
    const int first = (kBackward ? work.chunks - 1 - n : n) * kSide;
    if (n < walked.end) {
      fetch<kWalkThreads, kAligned>(SquareTile<Element>{stage.key}, key, first, T - first);
      fetch<kWalkThreads, kAligned>(SquareTile<Element>{stage.value}, value, first, T - first);
      fetch<kWalkThreads, kAligned>(SquareTile<LogW>{stage.log_w}, log_w, first, T - first);
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int n = 0; n < kStages - 1; ++n)
    fetch_chunk(walked.first + n);

  Sum state[kBlocks];
  const float* first_state = kBackward ? args.d_final_state : forward.initial_state;
  if constexpr (Buffers::kInSegments) {
    if (walked.first > 0) first_state = nullptr;
  }
  const auto place = [&](int n, int j, int x) {
    const int ik = first_ik + warp * kBlock + lane / 4 + x / 2 * 8;
    const int iv = first_iv + n * kBlock + lane % 4 * 2 + j * 8 + x % 2;
    return ik < K && iv < V ? (bh * K + ik) * V + iv : -1;
  };
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) {
    for_each([&](int j, int x) {
      const std::int64_t at = place(n, j, x);
      state[n].d[j][x] = first_state != nullptr && at >= 0 ? first_state[at] : 0.0f;
    });
  }

  [[maybe_unused]] float passed[2] = {1.0f, 1.0f};  // decay of a lane's rows since walked.first
  for (int n = walked.first; n < walked.end; ++n) {
    __syncthreads();  // all threads have read the stage that is refilled next
    fetch_chunk(n + kStages - 1);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    const WalkStage<Element, LogW>& stage = stages_smem[n % kStages];
    const SquareTile<Element> key_smem{const_cast<Element*>(stage.key)};
    const SquareTile<Element> value_smem{const_cast<Element*>(stage.value)};
    const SquareTile<LogW> log_w_smem{const_cast<LogW*>(stage.log_w)};

    Element* const to = (kBackward ? work.adjoints : work.states) +
                        work.state_tile(bh, kBackward ? work.chunks - 1 - n : n, tile_K, tile_V) +
                        warp * kBlock * kSide;
#pragma unroll
    for (int m = 0; m < kBlocks; ++m) {
      store(state[m], to + m * kBlock, kSide, kBlock, kBlock, true, lane);
      if constexpr (kRests)
        store(rounding_of(state[m]), to + work.rests(forward) + m * kBlock, kSide, kBlock, kBlock,
              true, lane);
    }
    if constexpr (Buffers::kInSegments) {
      work.template put_decay<kBackward>(n, bh, tile_K, tile_V, passed);
    }

    // Sixteen steps at a time. The state decays, then the decayed keys are added.
#pragma unroll 1
    for (int x = 0; x < kBlocks; ++x) {
      const int step = (kBackward ? kBlocks - 1 - x : x) * kBlock;
      const Sum k = load_values_transposed(key_smem, step, warp * kBlock, lane);
      Sum w = load_values_transposed(log_w_smem, step, warp * kBlock, lane);
      for_each([&](int j, int y) { w.d[j][y] = decay_of<Element>(w.d[j][y]); });
      Decays decays = first_decays<kGla>(w);
#pragma unroll
      for (int level = 0; level < kBlockLevels; ++level)
        climb(decays, w, level, lane);
      if constexpr (Buffers::kInSegments) {
        for (int i = 0; i < 2; ++i)
          passed[i] *= decays.total[0][i];
      }
      Sum rows;
      for_each([&](int j, int y) {
        const float decay = kBackward ? scale * decays.before.d[j][y] : decays.after.d[j][y];
        rows.d[j][y] = k.d[j][y] * decay;
      });
      const auto rows_reg = as_factor<Element>(rows);
#pragma unroll
      for (int m = 0; m < kBlocks; ++m) {
        for_each([&](int j, int y) { state[m].d[j][y] *= decays.total[0][y / 2]; });
        multiply_add(state[m], rows_reg, load_right_transposed(value_smem, step, m * kBlock, lane));
      }
    }
  }

  if constexpr (Buffers::kInSegments) {
    work.template put_end<kBackward>(bh, tile_K, tile_V, state, passed);
  } else if constexpr (kBackward) {
    if (args.d_initial_state == nullptr) return;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      for_each([&](int j, int x) {
        const std::int64_t at = place(n, j, x);
        if (at >= 0) args.d_initial_state[at] = state[n].d[j][x];
      });
    }
  }
}

}  // namespace chunkwise::backward
