// 06 shared_mem, shared columns: four lanes share the rows of four columns, and add up their sums.
// Change: rewrite of 06.04's inner loop. 16 x 4 of the state per thread. Lanes sum 4 steps at once.
// Why:    with one column per thread, 16 bytes of shared memory serve only four operations.
// Needs:  K = V = 64, fp32, no states, forward in time, 16-byte aligned rows, a GPU since Ampere.
// Costs:  three shuffles per output, and registers for the sums of four steps.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

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

// Steps whose outputs are summed over the lanes together.
constexpr int kBatch = 4;

struct alignas(sizeof(float4)) Tile {
  float q[kTile][kChannels], k[kTile][kChannels], w[kTile][kChannels], v[kTile][kChannels];
  float bonus[kTile];  // sum over the key rows of q u k
};

__device__ void move(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

// Swaps halves with the partner, `distance` lanes away. A lane keeps half of its sums, and adds the
// partner's to them. The lane with that bit set keeps the upper half.
template <int kHalf>
__device__ void exchange_halves(float* sums, int lane, int distance) {
  const bool upper = (lane & distance) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    // TODO(1): roughly 3 lines; set sums[i] to the sum that this lane keeps, plus its partner's
    // TODO(1): part of this sum; budget: one shuffle for each i.
  }
}

__global__ void __launch_bounds__(kChannels) wkv_shared_columns(const WkvArgs args) {
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
    for (int s = my_step; s < my_step + kMySteps; ++s) {
      alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec];
      move(q4, &tile.q[s][my_channel]), move(k4, &tile.k[s][my_channel]);
      move(w4, &tile.w[s][my_channel]);
      float bonus = 0;
      for (int i = 0; i < kVec; ++i) {
        w4[i] = expf(w4[i]);
        bonus += q4[i] * u[i] * k4[i];
      }
      move(&tile.w[s][my_channel], w4);
      for (int distance = kPieces / 2; distance > 0; distance /= 2)
        bonus += __shfl_xor_sync(0xffffffff, bonus, distance);
      if (my_channel == 0) tile.bonus[s] = bonus;
    }
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

    for (int s0 = 0; s0 < kTile && first_t + s0 < args.T; s0 += kBatch) {
      float sums[kBatch][kColumns];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        alignas(sizeof(float4)) float v4[kColumns];
        move(v4, &tile.v[s0 + s][my_column]);
        const float bonus = row_lane == 0 ? tile.bonus[s0 + s] : 0.0f;  // in one row lane
        for (int c = 0; c < kColumns; ++c)
          sums[s][c] = bonus * v4[c];
#pragma unroll
        for (int r = 0; r < kRows; r += kVec) {
          // The lanes of a column load adjacent 16-byte vectors, so there is no bank conflict.
          const int ik = (r / kVec * kRowLanes + row_lane) * kVec;
          alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec];
          move(q4, &tile.q[s0 + s][ik]), move(k4, &tile.k[s0 + s][ik]);
          move(w4, &tile.w[s0 + s][ik]);
          for (int i = 0; i < kVec; ++i) {
            for (int c = 0; c < kColumns; ++c) {
              // TODO(2): roughly 2 lines; for row i and column c add the state's term to its sum,
              // TODO(2): then update the state; budget: no access to memory.
            }
          }
        }
      }
      exchange_halves<kBatch * kColumns / 2>(sums[0], row_lane, 2);
      exchange_halves<kBatch * kColumns / 4>(sums[0], row_lane, 1);
      const int step = s0 + row_lane;  // the step of the sums that this lane kept
      if (first_t + step < args.T) {
        alignas(sizeof(float4)) float o4[kColumns];
        // TODO(3): roughly 3 lines; store this lane's four outputs of its step; budget: one store
        // TODO(3): of 16 bytes.
      }
    }
  }
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "06.05 shared columns");
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_aligned_rows(args, sizeof(float4));
  ladder::require_pointer("v", args.v, sizeof(float4));
  ladder::require_pointer("o", args.o, sizeof(float4));
  wkv_shared_columns<<<static_cast<unsigned>(args.B * args.H), kChannels>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_shared_columns",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
