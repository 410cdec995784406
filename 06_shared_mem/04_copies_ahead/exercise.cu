// 06 shared_mem, copies ahead: tiles of 16 steps, the next of which is copied asynchronously.
// Change: rewrite of 06.02's staging. Tiles of 16 steps. exp and bonus once per tile, in parallel.
// Why:    registers keep one step in flight, less than the memory latency. Each step has a barrier.
// Needs:  K = V = 64, fp32, no states, forward in time, 16-byte aligned rows, a GPU since Ampere.
// Costs:  33 KB of shared memory per block.
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

struct alignas(sizeof(float4)) Tile {
  float q[kTile][kChannels], k[kTile][kChannels], w[kTile][kChannels], v[kTile][kChannels];
  float bonus[kTile];  // sum over the key rows of q u k
};

__device__ void move(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

__global__ void __launch_bounds__(kChannels) wkv_copies_ahead(const WkvArgs args) {
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
      // TODO(1): roughly 4 lines; copy 16 bytes each of q, k, log_w and v asynchronously to row s
      // TODO(1): of the tile; budget: one global read of each element.
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
        // TODO(2): roughly 2 lines; compute w from its logarithm, and add this channel's term to
        // TODO(2): the bonus; budget: one exp for each element.
      }
      move(&tile.w[s][my_channel], w4);
      for (int distance = kPieces / 2; distance > 0; distance /= 2)
        bonus += __shfl_xor_sync(0xffffffff, bonus, distance);
      if (my_channel == 0) tile.bonus[s] = bonus;
    }
  };

  float state[kChannels] = {};  // column tid of S
  fetch(tiles[0], 0);
  for (std::int64_t first_t = 0; first_t < args.T; first_t += kTile) {
    Tile& tile = tiles[first_t / kTile % 2];
    // TODO(3): roughly 4 lines; wait for this thread's copies, prepare the tile, synchronize the
    // TODO(3): block, fetch the next tile if there is one; budget: one barrier per tile; only the
    // TODO(3): first tile's wait directly follows its copies.

    for (int s = 0; s < kTile && first_t + s < args.T; ++s) {
      const float v = tile.v[s][tid];
      float sum[kVec] = {tile.bonus[s] * v};
#pragma unroll
      for (int ik = 0; ik < kChannels; ik += kVec) {
        alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec];
        move(q4, tile.q[s] + ik), move(k4, tile.k[s] + ik), move(w4, tile.w[s] + ik);
        for (int i = 0; i < kVec; ++i) {
          sum[i] += q4[i] * state[ik + i];
          state[ik + i] = w4[i] * state[ik + i] + k4[i] * v;
        }
      }
      args.o[((b * args.T + first_t + s) * args.H + h) * kChannels + tid] =
          args.scale * (sum[0] + sum[1] + sum[2] + sum[3]);
    }
  }
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "06.04 copies ahead");
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_aligned_rows(args, sizeof(float4));
  ladder::require_pointer("v", args.v, sizeof(float4));
  wkv_copies_ahead<<<static_cast<unsigned>(args.B * args.H), kChannels>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_copies_ahead",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
