// 08 flash attention, overlap in a warpgroup: the softmax of a tile during another tile's product.
// Change: from 08.13: Q K^T of the next tile is issued before P V of this one, and the softmax
//         waits for the former only.
// Why:    a consumer waited for both products before its softmax, which needs only the scores.
// Needs:  sm_90a, bf16, D in {64, 128}, no key lengths and no packed sequences, 16-byte rows.
// Costs:  registers, because scores, weights and the accumulators of o are all in use at the same
//         time.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/hopper_products.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/warpgroup_softmax.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
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

constexpr int kStages = 3;  // of the ring, of which a turn reads two while one more is in flight

// A block's queries and its shared memory. A thread holds kKeys / 2 scores, kKeys / 4 registers of
// packed weights and kD / 2 accumulators of o, which leaves registers for a third consumer if D =
// 64.
template <int kD>
struct Shared {
  static constexpr int kConsumers = kD == 64 ? 3 : 2, kThreads = (1 + kConsumers) * kWarpgroup;
  static constexpr int kQueries = kConsumers * kRows;
  // Registers per thread, multiples of 8. A producer thread and a thread of each consumer have at
  // most 512 in all, because an SM has 65,536 and a warpgroup 128 threads.
  static constexpr int kProducerRegisters = kD == 64 ? 32 : 24;
  static constexpr int kConsumerRegisters = kD == 64 ? 160 : 240;
  Tile<kD, kQueries> q;
  Tile<kD, kKeys> k[kStages], v[kStages];
  hopper::Barrier q_full, full[kStages];  // full when the copies are complete
  hopper::Barrier empty[kStages];         // empty when all consumers have released the stage
};

// One thread loads a tile by TMA, with rows of a batch and columns of head h. Its bytes count on
// the barrier `full`. Rows past the end of the batch become zeros.
template <int kD, int kTileRows>
__device__ void copy_tile(Tile<kD, kTileRows>& to_smem, const CUtensorMap* map,
                          hopper::Barrier* full, int h, int row) {
  hopper::arrive_expect_tx(full, sizeof to_smem);
  copy_panels(to_smem.at, map, full, h * kD, row, blockIdx.z);
}

template <int kD>
__global__ void __launch_bounds__(Shared<kD>::kThreads, 1)
    attend(const ladder::BasicAttentionArgs<bfloat16> args, const __grid_constant__ Maps maps) {
  using Smem = Shared<kD>;
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Smem*>(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::init(&smem.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      hopper::init(&smem.full[stage], 2);  // two arrivals: with the bytes of K and of V
      hopper::init(&smem.empty[stage], Smem::kConsumers * kWarpgroup / kWarpSize);
    }
    hopper::fence_barrier_init();
  }
  __syncthreads();

  // This block's queries, those with the most keys first, so that short blocks fill the gaps at the
  // end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = std::int64_t{gridDim.x - 1 - blockIdx.x} * Smem::kQueries;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{Smem::kQueries}));
  const int h = blockIdx.y, h_kv = h / static_cast<int>(args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD;
  const std::int64_t of_q = (s.first_query + first) * stride_q + h * kD;
  const int tiles = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);

  if (threadIdx.x < kWarpgroup) {
    hopper::setmaxnreg_dec<Smem::kProducerRegisters>();
    if (threadIdx.x != 0 || tiles <= 0) return;
    copy_tile(smem.q, &maps.q, &smem.q_full, h, static_cast<int>(first));
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      const int stage = hopper::stage_of<kStages>(tile);
      // Wait until the stage is empty; in round 0 the flipped parity lets this return at once.
      hopper::wait(&smem.empty[stage], hopper::phase_of<kStages>(tile) ^ 1);
      copy_tile(smem.k[stage], &maps.k, &smem.full[stage], h_kv, tile * kKeys);
      copy_tile(smem.v[stage], &maps.v, &smem.full[stage], h_kv, tile * kKeys);
    }
    return;
  }
  hopper::setmaxnreg_inc<Smem::kConsumerRegisters>();

  // This warpgroup's rows. From lane 0, so that the compiler sees a warp-uniform value.
  const int consumer = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup - 1, 0);
  const int first_row = consumer * kRows;
  const int row = first_row + static_cast<int>(threadIdx.x) % kWarpgroup / kWarpSize * 16 +
                  static_cast<int>(threadIdx.x) % kWarpSize / 4;
  const Visible visible = visible_from(s, first);
  const int seen[2] = {visible.keys(row), visible.keys(row + 8)};
  const int whole_tiles = visible.keys(first_row) / kKeys;  // all rows see all of their keys

  float scores[kKeys / 2], o[kD / 2] = {}, keep[2];
  std::uint32_t p[kKeys / 16][4];
  Softmax softmax;
  const float factor = args.scale * ladder::cuda::kLog2e;
  const auto wait_for = [&](int tile) {
    const int stage = hopper::stage_of<kStages>(tile);
    hopper::wait(&smem.full[stage], hopper::phase_of<kStages>(tile));
  };
  // Consumer c waits for its turn at named barrier 1 + c, where its predecessor arrives.
  const auto take_turn = [&] { hopper::named_barrier_sync(1 + consumer, 2 * kWarpgroup); };
  const auto pass_turn = [&] {
    hopper::named_barrier_arrive(1 + (consumer + 1) % Smem::kConsumers, 2 * kWarpgroup);
  };
  if (consumer == Smem::kConsumers - 1) pass_turn();  // consumer 0 gets the first turn
  if (tiles > 0) {
    hopper::wait(&smem.q_full, 0);
    wait_for(0);
    take_turn();
    hopper::wgmma_fence();
    multiply_q_k(scores, smem.q, first_row, smem.k[0]);
    pass_turn();
    hopper::wgmma_wait_group<0>();
    hopper::pin(scores);
    if (whole_tiles <= 0) mask(scores, seen, 0);
    softmax.step(scores, keep, factor);
    pack_sums<bfloat16>(p, scores);
#pragma unroll 1
    for (int tile = 1; tile < tiles; ++tile) {
      const int stage = hopper::stage_of<kStages>(tile);
      const int before = hopper::stage_of<kStages>(tile - 1);
      wait_for(tile);
      take_turn();
      hopper::wgmma_fence();
      // TODO(1): roughly 5 lines; issue this tile's scores, then the product with the previous V;
      // TODO(1): pass the turn; wait for the scores only, and pin them; budget: two products
      if (tile >= whole_tiles) mask(scores, seen, tile * kKeys);
      softmax.step(scores, keep, factor);
      // TODO(2): roughly 6 lines; wait for the product; pin o, and the scores again; release the
      // TODO(2): product's stage; rescale o; pack the new weights into p; budget: no barrier of the
      // TODO(2): block
    }
    hopper::wgmma_fence();
    multiply_p_v<kD>(o, p, smem.v[hopper::stage_of<kStages>(tiles - 1)]);
    hopper::wgmma_wait_group<0>();
    hopper::pin(o);
  }
  if (consumer == 0) take_turn();  // receives the turn that the last consumer passed
  store_rows(args.o + of_q, stride_q, args.lse + s.first_lse + h * args.T_q + first, row, queries,
             o, softmax, args.scale);
}

template <int kD>
void launch(const ladder::BasicAttentionArgs<bfloat16>& args) {
  using Smem = Shared<kD>;
  constexpr int kBytes = sizeof(Smem);
  ladder::cuda::allow_shared_memory("attention_overlap", attend<kD>, kBytes);
  const Maps maps = {
      hopper::make_tensor_map_of_batches(args.q, args.B, args.T_q, args.H_q * kD, Smem::kQueries),
      hopper::make_tensor_map_of_batches(args.k, args.B, args.T_k, args.H_kv * kD, kKeys),
      hopper::make_tensor_map_of_batches(args.v, args.B, args.T_k, args.H_kv * kD, kKeys)};
  const dim3 grid(static_cast<unsigned>((args.T_q + Smem::kQueries - 1) / Smem::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(args.B));
  attend<kD><<<grid, Smem::kThreads, kBytes, ladder::cuda::stream()>>>(args, maps);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  if (!require_whole_rows(args)) return;
  hopper::require_hopper("attention_overlap");
  return args.D == 64 ? launch<64>(args) : launch<128>(args);
}

const ladder::Registration registration{
    {.name = "attention_overlap",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::Attention>(attention<bfloat16>)}};

}  // namespace
}  // namespace flash_attention
