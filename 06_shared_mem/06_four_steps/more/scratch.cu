// 06 shared_mem, four steps at once: what four neighbouring steps take of each other is computed before the state is touched.
// Change: rewrite of 06.05's inner loop: units of four steps; their decays, products and scores are prepared once, then the state takes all four.
// Why:    a state element costs three operations in each step; four steps at once cost nine instead of twelve.
// Needs:  K = V = 64, fp32, no states, forward time; rows at multiples of 16 bytes; a GPU since Ampere (asynchronous copies).
// Costs:  sixteen scores a unit, and a NaN reaches up to three steps before it (0 times NaN is no number).
//         See README for what was measured.
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

// K and V: the key rows of a head, and its value columns. A block has a thread for each.
constexpr int kChannels = 64;

// Steps of a tile.
constexpr int kTile = 16;

// Elements per thread and access, 16 bytes of float; how many such pieces a row has, and steps of which a thread copies one.
constexpr int kVec = 4, kPieces = kChannels / kVec, kMySteps = kTile * kPieces / kChannels;

// A thread's part of the state: kRows key rows of kColumns value columns. kRowLanes lanes have all rows of the same columns.
constexpr int kRowLanes = 4, kRows = kChannels / kRowLanes, kColumns = 4;

// Steps that the state takes at once, and whose outputs are summed over the lanes together.
constexpr int kUnit = 4;

// First as it is copied: q, k, log_w, v. Then, in a unit that begins at step t:
struct alignas(sizeof(float4)) Tile {
  float q[kTile][kChannels];  // q_a * w_t * ... * w_{a-1}: reads the state before the unit
  float k[kTile][kChannels];  // k_a * w_{a+1} * ... * w_{t+3}: what is left of k_a after the unit
  float w[kTile][kChannels];  // at step t: w_t * ... * w_{t+3}
  float v[kTile][kChannels];
  float score[kTile]
             [kUnit];  // what o_a takes of v_b: for b < a through the state, for b = a by the bonus
};

__device__ void move(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

__global__ void __launch_bounds__(kChannels) wkv_four_steps(const WkvArgs args) {
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
    float score[kUnit][kUnit] = {};
    alignas(sizeof(float4)) float decay[kVec] = {1, 1, 1, 1};  // since the unit began
    alignas(sizeof(float4)) float k_left[kUnit][kVec];
    // TODO(2): roughly 21 lines; for each step a of the unit: its scores with itself (the bonus u) and with the steps before; what is left of
    // TODO(2): their k, in k_left, behind its decay; its q times the decays since the unit began, back to the tile. Then the four k and, to
    // TODO(2): the place of the first step's w, all four decays together. budget: one exp for each element.
    // Sixteen scores over sixteen lanes: each ends with one.
    // TODO(3): roughly 3 lines; by shared_mem::sum_over_lanes<kUnit * kUnit, kPieces>, which leaves each lane one of them, and to the tile.
    // TODO(3): budget: 15 shuffles, one store.
  };

  const int row_lane = tid % kRowLanes, my_column = tid / kRowLanes * kColumns;
  float state[kRows][kColumns] = {};
  fetch(tiles[0], 0);
  for (std::int64_t first_t = 0; first_t < args.T; first_t += kTile) {
    Tile& tile = tiles[first_t / kTile % 2];
    // TODO(3): roughly 4 lines; this tile has arrived, and is prepared; all threads may read it; the next one, if there is one, is on its way
    // TODO(3): to the other place. budget: one barrier for each tile.

    for (int s0 = 0; s0 < kTile && first_t + s0 < args.T; s0 += kUnit) {
      float sums[kUnit][kColumns] = {};
      alignas(sizeof(float4)) float v4[kUnit][kColumns];
      for (int a = 0; a < kUnit; ++a)
        move(v4[a], &tile.v[s0 + a][my_column]);
      // TODO(4): roughly 18 lines; the state takes four steps: kVec of this thread's kRows rows at a time, which lie kRowLanes * kVec apart in the
      // TODO(4): tile. Of each element of the state all four steps read (sums), then it is scaled by w, then k v of all four is added.
      // TODO(4): budget: nine operations for each element; nine reads of 16 bytes for four rows.
      shared_mem::sum_over_lanes<kUnit * kColumns, kRowLanes>(sums[0], row_lane);
      // TODO(5): roughly 12 lines; row_lane n now has the sums of step s0 + n, in sums[0]. If that step exists, the lane adds the step's scores
      // TODO(5): times v4, and stores four columns. budget: one store of 16 bytes.
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
