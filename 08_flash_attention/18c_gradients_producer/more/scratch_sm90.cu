// 08 flash attention: the gradients, with a warpgroup that copies and two that calculate.
// Change: from 08.18b: a producer brings queries into a ring of two stages; the two others calculate, with more registers each.
// Why:    each tile was asked for when it was needed, and everybody waited for it.
// Needs:  sm_90a; bf16; D = 128; no mask, no key lengths, no packed sequences; 16-byte rows.
// Costs:  a warpgroup that hardly works; a second stage in shared memory. See README for what was measured.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "08_flash_attention/hopper_gradients.hpp"
#include "08_flash_attention/hopper_tiles.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using hopper::kWarpgroup;
using ladder::bfloat16;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using Forward = ladder::BasicAttentionArgs<bfloat16>;
using Backward = ladder::BasicAttentionGradArgs<bfloat16>;

constexpr int kD = 128;
constexpr int kStages = 2;  // of the ring
constexpr int kThreads = kWarpgroup + kConsumerThreads;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
constexpr std::int64_t kMostBlocks = 65535, kMostRows = INT32_MAX - kKeys;

// What the copies need to know of the tensors.
struct Maps {
  CUtensorMap q, k, v, d_o;
};

struct Shared {
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kKeys> k, v;
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kQueries> q[kStages], d_o[kStages];
  alignas(hopper::kTileAlign) bfloat16 ds[kKeys][kQueries];  // transposed
  float4 stats[kStages][kQueries / 2];               // of two queries: lse, lse, delta, delta
  hopper::Barrier keys_here, queries_here[kStages];  // the copies are complete
  hopper::Barrier read[kStages];                     // by both consumers: the stage is free
};

// ---- Before and after: a block per tile of queries, head and batch ----------------------------------------------------------

__device__ QueryTile tile_of_block(const Forward& args) {
  const unsigned slot = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const std::int64_t b = blockIdx.z, first_row = std::int64_t{blockIdx.x} * kQueries;
  return {b * args.T_q, b * args.H_q * args.T_q, args.T_q, first_row, blockIdx.y, slot};
}

__global__ void __launch_bounds__(kEndThreads) prepare(const Backward args, float* stats) {
  prepare_tile<bfloat16, kD>(args, tile_of_block(args.forward), stats);
}

__global__ void __launch_bounds__(kEndThreads) finish(const Backward args, const float* dq_sums) {
  __shared__ alignas(16) PaddedRows<bfloat16, kD> rows_smem;
  finish_tile<bfloat16, kD>(rows_smem, args, tile_of_block(args.forward), dq_sums);
}

// ---- The gradients ----------------------------------------------------------------------------------------------------------

// Blocks: tile of keys, key head, batch.
__global__ void __launch_bounds__(kThreads, 1)
    gradients(const Backward args, const __grid_constant__ Maps maps, const float4* stats,
              float* dq_sums) {
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Shared*>(bytes_smem);
  const Forward& forward = args.forward;
  const int b = blockIdx.z, h_kv = blockIdx.y, first_key = blockIdx.x * kKeys;
  const int keys = min(static_cast<int>(forward.T_k) - first_key, kKeys);
  const int heads = static_cast<int>(forward.H_q / forward.H_kv), first_head = h_kv * heads;
  const int tiles = static_cast<int>((forward.T_q + kQueries - 1) / kQueries);
  const std::int64_t first_slot = (b * forward.H_q + first_head) * tiles;
  // TODO(1): roughly 7 lines; one thread says how many arrivals a phase has, of keys_here and of each of queries_here and read, before anybody uses
  // TODO(1): them; budget: one barrier of the block

  if (threadIdx.x < kWarpgroup) {
    hopper::give_registers<kProducerRegisters>();
    if (threadIdx.x != 0) return;
    // TODO(1): roughly 13 lines; tell of the bytes of k and v at keys_here, and ask for both. Then step i is tile i % tiles of head first_head + i /
    // TODO(1): tiles: hole 1, with the loop around it. budget: four bulk copies, and five in each step
    return;
  }
  hopper::take_registers<kConsumerRegisters>();

  // Which keys are this warpgroup's. From lane 0, so that the compiler knows that it is the same for all.
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup - 1, 0);
  const int tid = static_cast<int>(threadIdx.x) % kWarpgroup, lane = tid % kWarpSize;
  const int warp_row = group * kGroupKeys + tid / kWarpSize * 16;
  const int key = warp_row + lane / 4;                           // this thread's, and key + 8
  const int ds_row = warp_row + lane % 16, ds_unit = lane / 16;  // where it stores dS^T
  // TODO(2): roughly 2 lines; the descriptors of the rows of k and of v that belong to this warpgroup; budget: no access to memory
  const auto k_columns = hopper::describe(smem.k[group]);  // this warpgroup's part of dq
  // TODO(4): roughly 1 line; the descriptor of dS as it lies in shared memory; budget: no access to memory
  const float log2_scale = forward.scale * ladder::cuda::kLog2e;

  // TODO(4): roughly 1 line; where this thread's first four floats lie in a tile of dq's sums: the tile is the warpgroups' halves, each beginning
  // TODO(4): with four floats of each thread. budget: no access to memory

  float dk[kD / 2] = {}, dv[kD / 2] = {};
  // TODO(1): roughly 1 line; wait until k and v are here; budget: no barrier of the block
#pragma unroll 1
  for (int i = 0; i < heads * tiles; ++i) {
    const int stage = hopper::place_of<kStages>(i);
    const auto q = hopper::describe(smem.q[stage], kQueryPanel);
    const auto d_o = hopper::describe(smem.d_o[stage], kQueryPanel);
    // TODO(1): roughly 1 line; wait until this step's tiles are here; budget: no barrier of the block

    float p[kQueries / 2], ds[kQueries / 2], dq[kD / 4];
    std::uint32_t weights[kQueries / 16][4];
    // TODO(2): roughly 12 lines; S^T, waited for at once; minus infinity for keys that are not there; P^T; dP^T, waited for at once; dS^T. Two of the
    // TODO(2): steps are products, two are functions of hopper_gradients.hpp. budget: two waits for products

    pack_sums<bfloat16>(weights, p);
    // TODO(3): roughly 7 lines; add the product of the packed P^T with d_o to dv, and wait for it; then the same with dS^T, q and dk. budget: no
    // TODO(3): matrix load

#pragma unroll
    for (int s = 0; s < kQueries / 16; ++s) {
      // TODO(4): roughly 2 lines; store this warp's dS^T of 16 queries: its row is ds_row, its unit 2 * s + ds_unit, swizzled. budget: one matrix
      // TODO(4): store
    }
    // TODO(4): roughly 8 lines; hole 2; this warpgroup's half of the columns of dq, waited for, is added to the sums of slot first_slot + i; the
    // TODO(4): consumers meet again. budget: two named barriers, and no barrier of the block
  }

  // TODO(5): roughly 3 lines; store_rows() of hopper_gradients.hpp, through shared memory that nobody reads any more: dv, and dk times the scale, to
  // TODO(5): the rows from first_key on that there are. budget: one store of 16 bytes for eight elements
}

// Tiles, heads, batches.
dim3 grid_of(std::int64_t T, int tile_rows, std::int64_t H, std::int64_t B) {
  return {static_cast<unsigned>((T + tile_rows - 1) / tile_rows), static_cast<unsigned>(H),
          static_cast<unsigned>(B)};
}

void launch(const Backward& args) {
  const Forward& forward = args.forward;
  const std::int64_t B = forward.B, T_q = forward.T_q, T_k = forward.T_k;
  // TODO(5): roughly 23 lines; device memory for the stats, two floats for each row of a tile of queries, and for the sums of dq, all zero. If there
  // TODO(5): are queries, prepare; if there are keys, the maps and gradients; if there are queries, finish. budget: three launches, and one
  // TODO(5): cudaMemsetAsync
}

void attention_backward(const Backward& args) {
  const Forward& forward = args.forward;
  validate(args);
  ladder::require(forward.D == kD,
                  "D is " + std::to_string(forward.D) + "; this kernel allows 128");
  ladder::require(!forward.causal, "causal is true; this kernel allows no mask");
  ladder::require(forward.key_lengths == nullptr, "key_lengths is given; this kernel allows none");
  ladder::require(forward.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows none");
  require_at_most("B", forward.B, kMostBlocks);
  require_at_most("H_q", forward.H_q, kMostBlocks);
  require_at_most("T_q", forward.T_q, kMostRows);
  require_at_most("T_k", forward.T_k, kMostRows);
  if (forward.B == 0) return;
  require_copyable(args);
  hopper::require_hopper("attention_backward_producer");
  launch(args);
}

const ladder::Registration registration{
    {.name = "attention_backward_producer",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::AttentionBackward>(attention_backward)}};

}  // namespace
}  // namespace flash_attention
