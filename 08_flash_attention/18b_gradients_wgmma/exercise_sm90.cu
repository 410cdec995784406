// 08 flash attention, gradients by wgmma: each product is waited for at once.
// Change: rewrite of 08.18, with two warpgroups of 64 keys each. Products read tiles in shared
//         memory, which TMA loads.
// Why:    S and dP are computed transposed, so that P and dS are in the registers in which dv and
//         dk need them.
// Needs:  sm_90a, bf16, D = 128, no mask, no key lengths and no packed sequences, 16-byte rows.
// Costs:  nothing overlaps. While dS is computed, the tensor cores are idle. See README for what
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

constexpr int kThreads = kConsumerThreads;

struct Shared {
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kKeys> k, v;
  alignas(hopper::kTileAlign) Panels<bfloat16, kD, kQueries> q, d_o;
  alignas(hopper::kTileAlign) bfloat16 ds[kKeys][kQueries];  // transposed
  float4 stats[kQueries / 2];               // for each pair of queries, lse, lse, delta, delta
  hopper::Barrier keys_full, queries_full;  // full when the copies are complete
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
    hopper::init(&smem.queries_full, 1);
    hopper::fence_barrier_init();
    hopper::arrive_expect_tx(&smem.keys_full, sizeof smem.k + sizeof smem.v);
    copy_panels(smem.k, &maps.k, &smem.keys_full, h_kv * kD, first_key, b);
    copy_panels(smem.v, &maps.v, &smem.keys_full, h_kv * kD, first_key, b);
  }
  __syncthreads();

  // This warpgroup's keys. From lane 0, so that the compiler sees a warp-uniform value.
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  const int tid = static_cast<int>(threadIdx.x) % kWarpgroup, lane = tid % kWarpSize;
  const int warp_row = group * kGroupKeys + tid / kWarpSize * 16;
  const int key = warp_row + lane / 4;                           // this thread has key and key + 8
  const int ds_row = warp_row + lane % 16, ds_unit = lane / 16;  // where it stores dS^T
  const auto k_rows = hopper::matrix_descriptor(smem.k[0][group * kGroupKeys]);
  const auto v_rows = hopper::matrix_descriptor(smem.v[0][group * kGroupKeys]);
  const auto k_columns = hopper::matrix_descriptor(smem.k[group]);  // this warpgroup's part of dq
  const auto q = hopper::matrix_descriptor(smem.q, kQueryPanel);
  const auto d_o = hopper::matrix_descriptor(smem.d_o, kQueryPanel);
  const auto ds_columns = hopper::matrix_descriptor(smem.ds);
  const float log2_scale = forward.scale * ladder::cuda::kLog2e;

  dq_sums += group * (kQueries * kD / 2) + tid * 4;  // this thread's first sums in a tile

  float dk[kD / 2] = {}, dv[kD / 2] = {};
  hopper::wait(&smem.keys_full, 0);
#pragma unroll 1
  for (int i = 0; i < heads * tiles; ++i) {
    const int h = first_head + i / tiles, first_query = i % tiles * kQueries;
    if (threadIdx.x == 0) {
      hopper::arrive_expect_tx(&smem.queries_full, 2 * sizeof smem.q + sizeof smem.stats);
      copy_panels(smem.q, &maps.q, &smem.queries_full, h * kD, first_query, b);
      copy_panels(smem.d_o, &maps.d_o, &smem.queries_full, h * kD, first_query, b);
      hopper::bulk_copy(smem.stats, stats + (first_slot + i) * (kQueries / 2), sizeof smem.stats,
                        &smem.queries_full);
    }
    hopper::wait(&smem.queries_full, hopper::phase_of<1>(i));

    float p[kQueries / 2], ds[kQueries / 2], dq[kD / 4];
    std::uint32_t weights[kQueries / 16][4];
    multiply_rows<bfloat16, kD>(p, k_rows, q);
    hopper::wgmma_wait_group<0>();
    hopper::pin(p);
    if (keys < kKeys) {  // keys past the last one get no weight
#pragma unroll
      for (int j = 0; j < kQueries / 2; ++j)
        if (key + (j & 2) * 4 >= keys) p[j] = -INFINITY;
    }
    weigh(p, smem.stats + lane % 4, log2_scale);
    multiply_rows<bfloat16, kD>(ds, v_rows, d_o);
    hopper::wgmma_wait_group<0>();
    hopper::pin(ds);
    differentiate(ds, p, smem.stats + lane % 4);

    // TODO(1): roughly 8 lines; add P^T d_o to dv, with P^T packed in `weights` as A; then likewise
    // TODO(1): dS^T q to dk, so that `weights` keeps dS^T; wait for each product, and pin its sums;
    // TODO(1): budget: no matrix load
#pragma unroll
    for (int s = 0; s < kQueries / 16; ++s) {
      const int unit = (2 * s + ds_unit) ^ ds_row % 8;  // swizzled, as wgmma reads it
      hopper::store_matrices(&smem.ds[ds_row][unit * kUnit], weights[s]);
    }
    // TODO(2): roughly 7 lines; make dS visible to wgmma; synchronize with the other warpgroup;
    // TODO(2): compute dq = dS k, and add it to the step's tile of dq_sums; synchronize, so that
    // TODO(2): the next tile may arrive; budget: 2 barriers of the block
  }

  const KeyRows to{b * forward.T_k + first_key, static_cast<int>(forward.H_kv), h_kv, keys};
  store_rows<bfloat16, kD>(smem.v, to, group, dv, 1.0f, args.dv);
  store_rows<bfloat16, kD>(smem.k, to, group, dk, forward.scale, args.dk);
}

void attention_backward(const Backward& args) {
  if (!require_whole_sequences(args)) return;
  hopper::require_hopper("attention_backward_wgmma");
  const Call call(args);
  if (call.rows > 0) {
    prepare<<<call.queries, kEndThreads, 0, call.stream>>>(args, call.stats.pointer());
    CUDA_CHECK(cudaGetLastError());
  }
  if (call.keys.x > 0) {
    ladder::cuda::allow_shared_memory("attention_backward_wgmma", gradients, sizeof(Shared));
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
    {.name = "attention_backward_wgmma",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::AttentionBackward>(attention_backward)}};

}  // namespace
}  // namespace flash_attention
