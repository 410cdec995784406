// 06 shared_mem, shared columns: four lanes share the rows of four columns, and add up their sums together.
// Change: rewrite of 06.04's inner loop: a state tile of 16 x 4 a thread instead of 64 x 1; outputs are summed over the lanes after four steps.
// Why:    with one column a thread, every 16 bytes from shared memory serve four products only: reading is what a step does.
// Needs:  K = V = 64, fp32, no states, forward time; rows at multiples of 16 bytes; a GPU since Ampere (asynchronous copies).
// Costs:  shuffles, three for each output of four lanes. The sums of four steps wait in registers.
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

// A thread's part of the state: kRows key rows of kColumns value columns. kRowLanes lanes have all rows of the same columns.
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

// A lane keeps one half of its sums, and adds to each what its partner has of it; the other half it gives to the partner, which is
// `distance` lanes away. The upper of the two, in which that bit is set, keeps the upper half.
template <int kHalf>
__device__ void exchange_halves(float* sums, int lane, int distance) {
  // TODO(1): roughly 7 lines; of 2 kHalf sums the lane keeps kHalf, in sums[0] and on, and adds to each what the partner has of it; the other
  // TODO(1): half it gives to the partner. The lane with that bit set keeps the upper half. budget: kHalf shuffles.
}

__global__ void __launch_bounds__(kChannels) wkv_shared_columns(const WkvArgs args) {
  __shared__ Tile tiles[2];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;

  // A thread copies and prepares four channels of four steps: it waits for its own copies only.
  const int my_channel = tid % kPieces * kVec, my_step = tid / kPieces * kMySteps;

  // Steps beyond T become zeros, which change nothing: q = k = v = 0, w = exp(0) = 1.
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
    __syncthreads();  // all have prepared this tile, and have left the one before, whose place the next one takes
    if (first_t + kTile < args.T) fetch(tiles[(first_t / kTile + 1) % 2], first_t + kTile);

    for (int s0 = 0; s0 < kTile && first_t + s0 < args.T; s0 += kBatch) {
      float sums[kBatch][kColumns];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        // TODO(2): roughly 18 lines; one step: this thread's four v; its sums begin with the bonus times v, in row lane 0 only, so that it counts
        // TODO(2): once. Then the kRows rows, kVec at a time, which lie kRowLanes * kVec apart in the tile: for each element of the state what it
        // TODO(2): gives to the sum of its column, then its decay and update. budget: three reads of 16 bytes for four rows, one of v.
      }
      // TODO(3): roughly 2 lines; the four lanes of these columns exchange halves, twice. budget: 12 shuffles.
      const int step = s0 + row_lane;  // that is left in sums[0]
      if (first_t + step < args.T) {
        // TODO(3): roughly 4 lines; this lane's four outputs of its step. budget: one store of 16 bytes.
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
