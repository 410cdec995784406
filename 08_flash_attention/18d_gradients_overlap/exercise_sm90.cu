// 08 flash attention, gradients with products issued ahead, and dq a step late.
// Change: from 08.18c: S and dP are issued together, dk is waited for in the next step, and dq uses
//         the dS of the previous step.
// Why:    each product was waited for at once, and both warpgroups synchronized twice per step.
// Needs:  sm_90a, bf16, D = 128, no mask, no key lengths and no packed sequences, 16-byte rows.
// Costs:  two buffers for dS, and one more product for dq than there are steps. See README for what
//         was measured.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "08_flash_attention/hopper_gradients.hpp"
#include "08_flash_attention/hopper_tiles.hpp"
#include "08_flash_attention/teaching_gradients.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using hopper::kWarpgroup;
using ladder::bfloat16;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;

constexpr int kStages = 2;  // of the ring
constexpr int kThreads = kWarpgroup + kConsumerThreads;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;

struct Shared {
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kKeys> k, v;
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kQueries> q[kStages], d_o[kStages];
  alignas(
      hopper::kTileAlign) bfloat16 ds[2][kKeys][kQueries];  // transposed, of this and the last step
  float4 stats[kStages][kQueries / 2];  // for each pair of queries, lse, lse, delta, delta
  hopper::Barrier keys_full, queries_full[kStages];  // full when the copies are complete
  hopper::Barrier empty[kStages];                    // empty when both consumers have released it
  hopper::Barrier ds_full[2];  // full when both consumers have stored their dS
};

__global__ void __launch_bounds__(kEndThreads) prepare(const Backward args, float* stats) {
  prepare_tile<bfloat16, kD>(args, tile_of_block(args.forward), stats);
}

__global__ void __launch_bounds__(kEndThreads) finish(const Backward args, const float* dq_sums) {
  __shared__ alignas(16) PaddedRows<bfloat16, kD> rows_smem;
  finish_tile<bfloat16, kD>(rows_smem, args, tile_of_block(args.forward), dq_sums);
}

// The grid is tile of keys, key head, batch.
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
  if (threadIdx.x == 0) {
    hopper::init(&smem.keys_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      hopper::init(&smem.queries_full[stage], 1);
      hopper::init(&smem.empty[stage], kConsumerThreads);
    }
    for (hopper::Barrier& barrier : smem.ds_full)
      hopper::init(&barrier, kConsumerThreads / kWarpSize);
    hopper::fence_barrier_init();
  }
  __syncthreads();

  if (threadIdx.x < kWarpgroup) {
    hopper::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x != 0) return;
    hopper::arrive_expect_tx(&smem.keys_full, sizeof smem.k + sizeof smem.v);
    copy_panels(smem.k, &maps.k, &smem.keys_full, h_kv * kD, first_key, b);
    copy_panels(smem.v, &maps.v, &smem.keys_full, h_kv * kD, first_key, b);
#pragma unroll 1
    for (int i = 0; i < heads * tiles; ++i) {
      const int h = first_head + i / tiles, first_query = i % tiles * kQueries;
      const int stage = hopper::stage_of<kStages>(i);
      hopper::Barrier* const full = &smem.queries_full[stage];
      // Wait until the stage is empty; in round 0 the flipped parity lets this return at once.
      hopper::wait(&smem.empty[stage], hopper::phase_of<kStages>(i) ^ 1);
      hopper::arrive_expect_tx(full, 2 * sizeof smem.q[0] + sizeof smem.stats[0]);
      copy_panels(smem.q[stage], &maps.q, full, h * kD, first_query, b);
      copy_panels(smem.d_o[stage], &maps.d_o, full, h * kD, first_query, b);
      hopper::bulk_copy(smem.stats[stage], stats + (first_slot + i) * (kQueries / 2),
                        sizeof smem.stats[0], full);
    }
    return;
  }
  hopper::setmaxnreg_inc<kConsumerRegisters>();

  // This warpgroup's keys. From lane 0, so that the compiler sees a warp-uniform value.
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup - 1, 0);
  const int tid = static_cast<int>(threadIdx.x) % kWarpgroup, lane = tid % kWarpSize;
  const int warp_row = group * kGroupKeys + tid / kWarpSize * 16;
  const int key = warp_row + lane / 4;                           // this thread has key and key + 8
  const int ds_row = warp_row + lane % 16, ds_unit = lane / 16;  // where it stores dS^T
  const auto k_rows = hopper::matrix_descriptor(smem.k[0][group * kGroupKeys]);
  const auto v_rows = hopper::matrix_descriptor(smem.v[0][group * kGroupKeys]);
  const auto k_columns = hopper::matrix_descriptor(smem.k[group]);  // this warpgroup's part of dq
  const auto ds_columns = hopper::matrix_descriptor(smem.ds[0]);
  const float log2_scale = forward.scale * ladder::cuda::kLog2e;

  dq_sums += group * (kQueries * kD / 2) + tid * 4;  // this thread's first sums in a tile

  float dk[kD / 2] = {}, dv[kD / 2] = {};
  // dq comes a step late, from that buffer's dS, which both warpgroups have stored.
  const auto multiply_dq = [&](float(&dq)[kD / 4], int place) {
    const int bytes = place * static_cast<int>(sizeof smem.ds[0]);
    multiply_ds<bfloat16, kD>(dq, hopper::advance(ds_columns, bytes), k_columns);
  };
  const auto store_ds = [&](int place, const std::uint32_t(&from)[kQueries / 16][4]) {
#pragma unroll
    for (int s = 0; s < kQueries / 16; ++s) {
      const int unit = (2 * s + ds_unit) ^ ds_row % 8;  // swizzled, as wgmma reads it
      hopper::store_matrices(&smem.ds[place][ds_row][unit * kUnit], from[s]);
    }
  };
  // The first step has no earlier dS and multiplies zeros, because a branch around that product
  // would serialize the others.
  store_ds(1, {});
  hopper::fence_proxy_async();
  hopper::named_barrier_sync(kBothGroups, kConsumerThreads);
  hopper::wait(&smem.keys_full, 0);
  const int steps = heads * tiles;
  std::uint32_t ds16[kQueries / 16][4];  // dk's A, in use until the next step's wait
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const int stage = hopper::stage_of<kStages>(i), place = hopper::stage_of<2>(i);
    const auto q = hopper::matrix_descriptor(smem.q[stage], kQueryPanel);
    const auto d_o = hopper::matrix_descriptor(smem.d_o[stage], kQueryPanel);
    hopper::wait(&smem.queries_full[stage], hopper::phase_of<kStages>(i));

    float p[kQueries / 2], ds[kQueries / 2], dq[kD / 4];
    std::uint32_t p16[kQueries / 16][4];
    // TODO(1): roughly 7 lines; issue S^T; wait for all products before it, pin dv and dk; release
    // TODO(1): the previous step's stage, if any; issue dP^T; wait for S^T only, pin p; budget: no
    // TODO(1): barrier
    if (keys < kKeys) {  // keys past the last one get no weight
#pragma unroll
      for (int j = 0; j < kQueries / 2; ++j)
        if (key + (j & 2) * 4 >= keys) p[j] = -INFINITY;
    }
    weigh(p, smem.stats[stage] + lane % 4, log2_scale);
    hopper::wgmma_wait_group<0>();  // dP
    hopper::pin(ds);
    differentiate(ds, p, smem.stats[stage] + lane % 4);

    pack_sums<bfloat16>(p16, p);
    pack_sums<bfloat16>(ds16, ds);
    // The previous step's dS is complete, and the buffer of the one before may be overwritten.
    if (i > 0) hopper::wait(&smem.ds_full[place ^ 1], hopper::phase_of<2>(i - 1));
    store_ds(place, ds16);
    hopper::fence_proxy_async();
    add_weighted_rows<bfloat16, kD>(dv, p16, d_o);
    // TODO(2): roughly 7 lines; issue the previous step's dq, then this step's dk; wait for dq, pin
    // TODO(2): it; one lane of each warp arrives at this step's `ds_full`, after all of its warp's
    // TODO(2): stores of dS; add dq to the previous step's tile, if any; budget: no barrier
  }

  float dq[kD / 4];  // of the last step
  if (steps > 0) {
    const int place = hopper::stage_of<2>(steps - 1);
    hopper::wait(&smem.ds_full[place], hopper::phase_of<2>(steps - 1));
    multiply_dq(dq, place);
  }
  hopper::wgmma_wait_group<0>();
  hopper::pin(dv);
  hopper::pin(dk);
  hopper::pin(dq);
  if (steps > 0) add_to_memory<kD>(dq_sums + (first_slot + steps - 1) * (kQueries * kD), dq);
  hopper::named_barrier_sync(kBothGroups, kConsumerThreads);  // both have read k and v

  const KeyRows to{b * forward.T_k + first_key, static_cast<int>(forward.H_kv), h_kv, keys};
  store_rows<bfloat16, kD>(smem.v, to, group, dv, 1.0f, args.dv);
  store_rows<bfloat16, kD>(smem.k, to, group, dk, forward.scale, args.dk);
}

void attention_backward(const Backward& args) {
  if (!require_whole_sequences(args)) return;
  hopper::require_hopper("attention_backward_overlap");
  const Call call(args);
  if (call.rows > 0) {
    prepare<<<call.queries, kEndThreads, 0, call.stream>>>(args, call.stats.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  if (call.keys.x > 0) {
    ladder::cuda::allow_shared_memory("attention_backward_overlap", gradients, sizeof(Shared));
    const auto* const stats = reinterpret_cast<const float4*>(call.stats.pointer());
    gradients<<<call.keys, kThreads, sizeof(Shared), call.stream>>>(args, call.maps(args), stats,
                                                                    call.dq_sums.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  if (call.rows > 0) {
    finish<<<call.queries, kEndThreads, 0, call.stream>>>(args, call.dq_sums.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
}

const ladder::Registration registration{
    {.name = "attention_backward_overlap",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::AttentionBackward>(attention_backward)}};

}  // namespace
}  // namespace flash_attention
