// 08 flash attention, wgmma: four warps issue a matrix product with operands in shared memory.
// Change: rewrite of 08.08, in which wgmma replaces mma.sync. Tiles have the layout of its
//         descriptors, no fragment of Q, K or V passes through a register, and a fence makes the
//         threads' copies visible to the tensor cores.
// Why:    a warp's product (mma.sync) reads registers that ldmatrix fills, with instructions for
//         each 16 x 16 block of K and V.
// Needs:  sm_90a, bf16, D in {64, 128}, no key lengths and no packed sequences, 16-byte rows.
// Costs:  no other GPU runs it. An SM has one block, and its warpgroups wait for tiles together.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

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

namespace hopper = ladder::cuda::hopper;
using hopper::kPanel;
using hopper::kWarpgroup;
using hopper::Major;
using ladder::bfloat16;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;

constexpr int kRows = 64;   // rows of a warpgroup's products, its queries
constexpr int kKeys = 128;  // of a tile
constexpr int kUnit = 8;    // elements in 16 bytes

// A tile of rows of kD elements, in panels of 64 columns.
template <int kD, int kTileRows>
struct alignas(hopper::kTileAlign) Tile {
  bfloat16 at[kD / kPanel][kTileRows][kPanel];
};

// A block's queries and its shared memory. A thread holds kKeys / 2 scores, kKeys / 4 registers of
// packed weights and kD / 2 accumulators of o, which leaves registers for a third warpgroup if D =
// 64.
template <int kD>
struct Shared {
  static constexpr int kWarpgroups = kD == 64 ? 3 : 2, kThreads = kWarpgroups * kWarpgroup;
  static constexpr int kQueries = kWarpgroups * kRows;
  Tile<kD, kQueries> q;
  Tile<kD, kKeys> k, v;
};

// Starts the block's copies of a tile. Its first `rows` rows are in bounds, and the others become
// zeros. The 16-byte vectors are stored in the 128-byte swizzle that the descriptors name.
template <int kD, int kTileRows>
__device__ void copy_tile(Tile<kD, kTileRows>& to_smem, const bfloat16* from, std::int64_t stride,
                          int rows) {
  constexpr int kUnits = kD / kUnit;
  for (int i = threadIdx.x; i < kTileRows * kUnits; i += Shared<kD>::kThreads) {
    const int row = i / kUnits, unit = i % kUnits, place = unit % 8 ^ row % 8;
    __pipeline_memcpy_async(&to_smem.at[unit / 8][row][place * kUnit],
                            from + row * stride + unit * kUnit, 16, row < rows ? 0 : 16);
  }
}

// Waits until all threads' copies are complete and visible to wgmma.
__device__ void wait_for_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  hopper::fence_proxy_async();  // cp.async writes as stores do; wgmma reads through the async proxy
  __syncthreads();
}

// S = Q K^T for the warpgroup's rows and a tile of keys. Both operands are contiguous along D.
template <int kD, int kQueries>
__device__ void multiply_q_k(float (&s)[kKeys / 2], const Tile<kD, kQueries>& q, int first_row,
                             const Tile<kD, kKeys>& k) {
#pragma unroll
  for (int i = 0; i < kD / 16; ++i) {
    // TODO(1): roughly 4 lines; add to s the product of columns 16 i to 16 i + 15 of q and of k,
    // TODO(1): but for i = 0 set s to it; budget: one product of the warpgroup, of kKeys columns,
    // TODO(1): for each i
  }
  hopper::wgmma_commit_group();
}

// O += P V, with the weights in registers. V's channels, which are columns of o, are contiguous.
template <int kD>
__device__ void multiply_p_v(float (&o)[kD / 2], const std::uint32_t (&p)[kKeys / 16][4],
                             const Tile<kD, kKeys>& v) {
  // TODO(2): roughly 6 lines; for each i, add to o the product of p[i] and rows 16 i to 16 i + 15
  // TODO(2): of v; make all products one group; budget: one product of the warpgroup, of kD
  // TODO(2): columns, for each i
}

template <int kD>
__global__ void __launch_bounds__(Shared<kD>::kThreads, 1)
    attend(const ladder::BasicAttentionArgs<bfloat16> args) {
  using Smem = Shared<kD>;
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Smem*>(bytes_smem);

  // This block's queries, those with the most keys first, so that short blocks fill the gaps at the
  // end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = std::int64_t{gridDim.x - 1 - blockIdx.x} * Smem::kQueries;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{Smem::kQueries}));
  const int h = blockIdx.y, h_kv = h / static_cast<int>(args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD;
  const std::int64_t stride_k = args.H_kv * kD;
  const std::int64_t of_q = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t of_k = s.first_key * stride_k + h_kv * kD;
  const int tiles = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);

  // This warpgroup's rows. From lane 0, so that the compiler sees a warp-uniform value.
  const int first_row =
      __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup * kRows, 0);
  const int row = first_row + static_cast<int>(threadIdx.x) % kWarpgroup / kWarpSize * 16 +
                  static_cast<int>(threadIdx.x) % kWarpSize / 4;
  const Visible visible = visible_from(s, first);
  const int seen[2] = {visible.keys(row), visible.keys(row + 8)};
  const int whole_tiles = visible.keys(first_row) / kKeys;  // all rows see all of their keys

  const auto copy_keys = [&](Tile<kD, kKeys>& to_smem, const bfloat16* x, int tile) {
    const std::int64_t key = std::int64_t{tile} * kKeys;
    copy_tile(to_smem, x + of_k + key * stride_k, stride_k, static_cast<int>(s.keys - key));
  };
  if (tiles > 0) {
    copy_tile(smem.q, args.q + of_q, stride_q, queries);
    copy_keys(smem.k, args.k, 0);
  }
  float scores[kKeys / 2], o[kD / 2] = {}, keep[2];
  std::uint32_t p[kKeys / 16][4];
  Softmax softmax;
  const float factor = args.scale * ladder::cuda::kLog2e;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();  // K has arrived, and V's buffer may be refilled
    copy_keys(smem.v, args.v, tile);

    // TODO(1): roughly 4 lines; fence, call multiply_q_k for the tile's keys, wait, pin the scores

    wait_for_copies();  // V has arrived, and K's buffer may be refilled
    if (tile + 1 < tiles) copy_keys(smem.k, args.k, tile + 1);

    if (tile >= whole_tiles) mask(scores, seen, tile * kKeys);
    softmax.step(scores, keep, factor);
    rescale(o, keep);
    pack_sums<bfloat16>(p, scores);

    // TODO(2): roughly 4 lines; fence, call multiply_p_v for the tile's values, wait, pin o
  }
  store_rows(args.o + of_q, stride_q, args.lse + s.first_lse + h * args.T_q + first, row, queries,
             o, softmax, args.scale);
}

template <int kD>
void launch(const ladder::BasicAttentionArgs<bfloat16>& args) {
  using Smem = Shared<kD>;
  constexpr int kBytes = sizeof(Smem);
  ladder::cuda::allow_shared_memory("attention_wgmma", attend<kD>, kBytes);
  const dim3 grid(static_cast<unsigned>((args.T_q + Smem::kQueries - 1) / Smem::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(args.B));
  attend<kD><<<grid, Smem::kThreads, kBytes, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  if (!require_whole_rows(args)) return;
  hopper::require_hopper("attention_wgmma");
  return args.D == 64 ? launch<64>(args) : launch<128>(args);
}

const ladder::Registration registration{
    {.name = "attention_wgmma",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::Attention>(attention<bfloat16>)}};

}  // namespace
}  // namespace flash_attention
