// 08 flash attention, TMA: one thread requests a box of a tensor, and hardware copies it.
// Change: from 08.10: TMA replaces cp.async and fills a ring of stages, each with a tile of K and
//         one of V. An mbarrier per stage completes when the stage is full.
// Why:    copies needed addresses, a bounds check and a request per 16 bytes of a tile, and the
//         next K was requested only after this K was read.
// Needs:  sm_90a, bf16, D in {64, 128}, no key lengths and no packed sequences, 16-byte rows.
// Costs:  twice the shared memory for K and V. All warpgroups still synchronize once per tile.
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

constexpr int kStages = 2;  // of the ring

// A block's queries and its shared memory. A thread holds kKeys / 2 scores, kKeys / 4 registers of
// packed weights and kD / 2 accumulators of o, which leaves registers for a third warpgroup if D =
// 64.
template <int kD>
struct Shared {
  static constexpr int kWarpgroups = kD == 64 ? 3 : 2, kThreads = kWarpgroups * kWarpgroup;
  static constexpr int kQueries = kWarpgroups * kRows;
  Tile<kD, kQueries> q;
  Tile<kD, kKeys> k[kStages], v[kStages];
  hopper::Barrier q_full, full[kStages];  // full when the copies are complete
};

// One thread loads a tile by TMA, with rows of a batch and columns of head h. Its bytes count on
// the barrier `full`. Rows past the end of the batch become zeros.
template <int kD, int kTileRows>
__device__ void copy_tile(Tile<kD, kTileRows>& to_smem, const CUtensorMap* map,
                          hopper::Barrier* full, int h, int row) {
  // TODO(1): roughly 3 lines; arrive on `full` with the tile's bytes; then load each panel, whose
  // TODO(1): box begins at column h * kD + panel * kPanel and row `row` of batch blockIdx.z;
  // TODO(1): budget: one arrival, one bulk copy per panel
}

template <int kD>
__global__ void __launch_bounds__(Shared<kD>::kThreads, 1)
    attend(const ladder::BasicAttentionArgs<bfloat16> args, const __grid_constant__ Maps maps) {
  using Smem = Shared<kD>;
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Smem*>(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::init(&smem.q_full, 1);
    for (hopper::Barrier& full : smem.full)
      hopper::init(&full, 2);  // two arrivals: with the bytes of K and of V
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

  // This warpgroup's rows. From lane 0, so that the compiler sees a warp-uniform value.
  const int first_row =
      __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup * kRows, 0);
  const int row = first_row + static_cast<int>(threadIdx.x) % kWarpgroup / kWarpSize * 16 +
                  static_cast<int>(threadIdx.x) % kWarpSize / 4;
  const Visible visible = visible_from(s, first);
  const int seen[2] = {visible.keys(row), visible.keys(row + 8)};
  const int whole_tiles = visible.keys(first_row) / kKeys;  // all rows see all of their keys

  const auto copy_keys = [&](int tile) {
    const int stage = hopper::stage_of<kStages>(tile);
    copy_tile(smem.k[stage], &maps.k, &smem.full[stage], h_kv, tile * kKeys);
    copy_tile(smem.v[stage], &maps.v, &smem.full[stage], h_kv, tile * kKeys);
  };
  if (threadIdx.x == 0 && tiles > 0) {
    copy_tile(smem.q, &maps.q, &smem.q_full, h, static_cast<int>(first));
    copy_keys(0);
  }
  float scores[kKeys / 2], o[kD / 2] = {}, keep[2];
  std::uint32_t p[kKeys / 16][4];
  Softmax softmax;
  const float factor = args.scale * ladder::cuda::kLog2e;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = hopper::stage_of<kStages>(tile);
    // TODO(2): roughly 4 lines; let one thread load the next tile, if there is one, when no thread
    // TODO(2): reads that tile's stage any more; then wait, in all threads, for q and this tile;
    // TODO(2): budget: one block-wide barrier, and one load per tile
    hopper::wgmma_fence();
    multiply_q_k(scores, smem.q, first_row, smem.k[stage]);
    hopper::wgmma_wait_group<0>();
    hopper::pin(scores);

    if (tile >= whole_tiles) mask(scores, seen, tile * kKeys);
    softmax.step(scores, keep, factor);
    rescale(o, keep);
    pack_sums<bfloat16>(p, scores);

    hopper::wgmma_fence();
    multiply_p_v<kD>(o, p, smem.v[stage]);
    hopper::wgmma_wait_group<0>();
    hopper::pin(o);
  }
  store_rows(args.o + of_q, stride_q, args.lse + s.first_lse + h * args.T_q + first, row, queries,
             o, softmax, args.scale);
}

template <int kD>
void launch(const ladder::BasicAttentionArgs<bfloat16>& args) {
  using Smem = Shared<kD>;
  constexpr int kBytes = sizeof(Smem);
  ladder::cuda::allow_shared_memory("attention_tma", attend<kD>, kBytes);
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
  hopper::require_hopper("attention_tma");
  return args.D == 64 ? launch<64>(args) : launch<128>(args);
}

const ladder::Registration registration{
    {.name = "attention_tma",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::Attention>(attention<bfloat16>)}};

}  // namespace
}  // namespace flash_attention
