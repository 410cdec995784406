// 06 shared_mem, four steps at once: the scores among four steps are computed before the state.
// Change: rewrite of 06.05's inner loop. Groups of 4 steps, prepared once, then one state update.
// Why:    a state element costs three operations per step. Four steps at once cost 9, not 12.
// Needs:  K = V = 64, fp32, no states, forward in time, 16-byte aligned rows, a GPU since Ampere.
// Costs:  16 scores per step group. A NaN also reaches up to three earlier steps (0 * NaN is NaN).
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "06_shared_mem/lane_sums.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// K, V and the threads of a block.
constexpr int kChannels = 64;

// Steps per tile.
constexpr int kTile = 16;

// Floats per access (16 bytes), vectors per row, and steps of which a thread copies one vector.
constexpr int kVec = 4, kPieces = kChannels / kVec, kMySteps = kTile * kPieces / kChannels;

// A thread's part of the state: kRows x kColumns. kRowLanes lanes have all rows of their columns.
constexpr int kRowLanes = 4, kRows = kChannels / kRowLanes, kColumns = 4;

// Steps per group: the state takes them at once, and lanes sum their outputs together.
constexpr int kUnit = 4;

// First the copied q, k, log_w and v. Then, for a step group that begins at step t:
struct alignas(sizeof(float4)) Tile {
  float q[kTile][kChannels];  // q_a * w_t * ... * w_{a-1}, the factor of the state before the group
  float k[kTile][kChannels];  // k_a * w_{a+1} * ... * w_{t+3}, k_a decayed to the group's end
  float w[kTile][kChannels];  // at step t, w_t * ... * w_{t+3}
  float v[kTile][kChannels];
  float score[kTile]
             [kUnit];  // weight of v_b in o_a, through the state for b < a, by the bonus for b = a
};

__device__ void move(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

__global__ void __launch_bounds__(kChannels) wkv_four_steps(const WkvArgs args) {
  __shared__ Tile tiles[2];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;

  // A thread prepares the 4 channels of 4 steps that it copied, so it waits only for these copies.
  const int my_channel = tid % kPieces * kVec, my_step = tid / kPieces * kMySteps;

  // Steps past T become zeros, which change nothing, because q = k = v = 0 and w = exp(0) = 1.
  const auto fetch = [&](Tile& tile, std::int64_t first_t) {
    for (int s = my_step; s < my_step + kMySteps; ++s) {
      const std::int64_t t = first_t + s < args.T ? first_t + s : 0;
      const std::int64_t element = ((b * args.T + t) * args.H + h) * kChannels + my_channel;
      const float* log_w = args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T +
                           h * kChannels + my_channel;
      const std::size_t zeros = first_t + s < args.T ? 0 : sizeof(float4);
      __pipeline_memcpy_async(&tile.q[s][my_channel], args.q + element, sizeof(float4), zeros);
      __pipeline_memcpy_async(&tile.k[s][my_channel], args.k + element, sizeof(float4), zeros);
      __pipeline_memcpy_async(&tile.w[s][my_channel], log_w, sizeof(float4), zeros);
      __pipeline_memcpy_async(&tile.v[s][my_channel], args.v + element, sizeof(float4), zeros);
    }
    __pipeline_commit();
  };

  alignas(sizeof(float4)) float u[kVec];
  move(u, args.u + h * kChannels + my_channel);
  const auto prepare = [&](Tile& tile) {
    float score[kUnit][kUnit] = {};
    alignas(sizeof(float4)) float decay[kVec] = {1, 1, 1, 1};  // since the group began
    alignas(sizeof(float4)) float k_left[kUnit][kVec];
#pragma unroll
    for (int a = 0; a < kUnit; ++a) {
      alignas(sizeof(float4)) float q4[kVec], log_w4[kVec];
      move(q4, &tile.q[my_step + a][my_channel]);
      move(k_left[a], &tile.k[my_step + a][my_channel]);
      move(log_w4, &tile.w[my_step + a][my_channel]);
      for (int i = 0; i < kVec; ++i) {
        score[a][a] += q4[i] * u[i] * k_left[a][i];
        const float w = expf(log_w4[i]);
        // TODO(1): roughly 6 lines; in this order: add this channel's terms to step a's scores with
        // TODO(1): earlier steps; decay the k of these earlier steps by w; multiply q by the decay
        // TODO(1): since the group began; multiply that decay by w; budget: one exp for each
        // TODO(1): element, which is w.
      }
      move(&tile.q[my_step + a][my_channel], q4);
    }
    for (int a = 0; a < kUnit; ++a)
      move(&tile.k[my_step + a][my_channel], k_left[a]);
    move(&tile.w[my_step][my_channel], decay);
    // 16 scores are summed over 16 lanes, and each lane ends with one.
    const int lane = tid % kPieces;
    shared_mem::sum_over_lanes<kUnit * kUnit, kPieces>(score[0], lane);
    tile.score[my_step + lane / kUnit][lane % kUnit] = score[0][0];
  };

  const int row_lane = tid % kRowLanes, my_column = tid / kRowLanes * kColumns;
  float state[kRows][kColumns] = {};
  fetch(tiles[0], 0);
  for (std::int64_t first_t = 0; first_t < args.T; first_t += kTile) {
    Tile& tile = tiles[first_t / kTile % 2];
    __pipeline_wait_prior(0);  // this thread's copies have arrived
    prepare(tile);
    __syncthreads();  // this tile is prepared; the previous one may be overwritten
    if (first_t + kTile < args.T) fetch(tiles[(first_t / kTile + 1) % 2], first_t + kTile);

    for (int s0 = 0; s0 < kTile && first_t + s0 < args.T; s0 += kUnit) {
      float sums[kUnit][kColumns] = {};
      alignas(sizeof(float4)) float v4[kUnit][kColumns];
      for (int a = 0; a < kUnit; ++a)
        move(v4[a], &tile.v[s0 + a][my_column]);
#pragma unroll
      for (int r = 0; r < kRows; r += kVec) {
        // The lanes of a column load adjacent 16-byte vectors, so there is no bank conflict.
        const int ik = (r / kVec * kRowLanes + row_lane) * kVec;
        alignas(sizeof(float4)) float q4[kUnit][kVec], k4[kUnit][kVec], w4[kVec];
        for (int a = 0; a < kUnit; ++a)
          move(q4[a], &tile.q[s0 + a][ik]), move(k4[a], &tile.k[s0 + a][ik]);
        move(w4, &tile.w[s0][ik]);
        for (int i = 0; i < kVec; ++i) {
          for (int c = 0; c < kColumns; ++c) {
            // TODO(2): roughly 5 lines; add this element's term to the sums of all four steps, then
            // TODO(2): decay the element and add its four updates; budget: nine operations.
          }
        }
      }
      shared_mem::sum_over_lanes<kUnit * kColumns, kRowLanes>(sums[0], row_lane);
      const int step = s0 + row_lane;
      if (first_t + step < args.T) {
        alignas(sizeof(float4)) float score[kUnit], o4[kColumns];
        move(score, tile.score[step]);
        for (int c = 0; c < kColumns; ++c) {
          float sum = sums[0][c];
          // TODO(3): roughly 2 lines; add to `sum` this step's four scores, each times its v of the
          // TODO(3): group; budget: four operations.
          o4[c] = args.scale * sum;
        }
        move(args.o + ((b * args.T + first_t + step) * args.H + h) * kChannels + my_column, o4);
      }
    }
  }
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "06.06 four steps");
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_aligned_rows(args, sizeof(float4));
  ladder::require_pointer("v", args.v, sizeof(float4));
  ladder::require_pointer("o", args.o, sizeof(float4));
  wkv_four_steps<<<static_cast<unsigned>(args.B * args.H), kChannels>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_four_steps",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
