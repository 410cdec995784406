// 06 shared_mem, copies ahead: sixteen steps at a time, brought by asynchronous copies while the sixteen before are computed.
// Change: rewrite of 06.02's staging: tiles of 16 steps; exp and the bonus once per tile, by all threads side by side.
// Why:    a register holds one step that is on its way; a step is shorter than memory's latency, and has a barrier of its own.
// Needs:  K = V = 64, fp32, no states, forward time; rows at multiples of 16 bytes; a GPU since Ampere (asynchronous copies).
// Costs:  33 KB of shared memory a block.
//         See README for what was measured.
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

// K and V: the key rows of a head, and its value columns. A block has a thread for each.
constexpr int kChannels = 64;

// Steps of a tile.
constexpr int kTile = 16;

// Elements per thread and access, 16 bytes of float; how many such pieces a row has, and steps of which a thread copies one.
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

  // A thread copies and prepares four channels of four steps: it waits for its own copies only.
  const int my_channel = tid % kPieces * kVec, my_step = tid / kPieces * kMySteps;

  // Steps beyond T become zeros, which change nothing: q = k = v = 0, w = exp(0) = 1.
  const auto fetch = [&](Tile& tile, std::int64_t first_t) {
    // TODO(1): roughly 12 lines; asynchronous copies of this thread's kMySteps steps, from my_step on, and kVec channels, from my_channel on:
    // TODO(1): q, k, log_w (to tile.w) and v. A step beyond T becomes zeros. Then commit. budget: one copy of 16 bytes for four elements.
  };

  alignas(sizeof(float4)) float u[kVec];
  move(u, args.u + h * kChannels + my_channel);
  const auto prepare = [&](Tile& tile) {
    // TODO(2): roughly 14 lines; of the same steps and channels: w = exp(log_w) to the tile, and this thread's part of the bonus q u k. The
    // TODO(2): kPieces lanes of a step add theirs up, and one of them stores it. budget: one exp for each element.
  };

  float state[kChannels] = {};  // column tid of S
  fetch(tiles[0], 0);
  for (std::int64_t first_t = 0; first_t < args.T; first_t += kTile) {
    Tile& tile = tiles[first_t / kTile % 2];
    // TODO(3): roughly 4 lines; this tile has arrived, and is prepared; all threads may read it; the next one, if there is one, is on its way
    // TODO(3): to the other place. budget: one barrier for each tile.

    for (int s = 0; s < kTile && first_t + s < args.T; ++s) {
      const float v = tile.v[s][tid];
      float sum[kVec] = {tile.bonus[s] * v};
      // TODO(4): roughly 9 lines; the bonus is in sum[0] already. For each key row what the state gives to the output, then its decay and update;
      // TODO(4): kVec rows at a time. budget: three reads of 16 bytes for four key rows.
      // TODO(4): roughly 2 lines; the output of step first_t + s. budget: one store.
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
