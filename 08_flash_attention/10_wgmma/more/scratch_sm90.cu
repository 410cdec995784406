// 08 flash attention, products of a warpgroup: four warps issue one product, and it reads its operands from shared memory.
// Change: rewrite of 08.08: wgmma for mma.sync. Tiles lie as its descriptors say, no fragment of Q, K or V passes a register, and what the
//         threads have copied they declare to the tensor cores by a fence.
// Why:    a product of a warp (mma.sync) reads registers that ldmatrix has filled: instructions for each 16 x 16 block of K and V.
// Needs:  sm_90a; bf16; D in {64, 128}; no key lengths, no packed sequences; 16-byte rows.
// Costs:  no other GPU runs it. One block on a multiprocessor: its warpgroups wait for tiles together.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/warpgroup_softmax.hpp"
#include "common/core/errors.hpp"
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
using hopper::Order;
using ladder::bfloat16;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;

constexpr int kRows = 64;   // of a warpgroup's products: its queries
constexpr int kKeys = 128;  // of a tile
constexpr int kUnit = 8;    // elements in 16 bytes

// A tile of rows of kD elements, in panels of 64 columns.
template <int kD, int kTileRows>
struct alignas(hopper::kTileAlign) Tile {
  bfloat16 at[kD / kPanel][kTileRows][kPanel];
};

// What a block works on, and what it has in shared memory. A thread holds kKeys / 2 scores, kKeys / 4 registers of packed weights and
// kD / 2 sums of o, so that with D = 64 there are registers for a third warpgroup.
template <int kD>
struct Shared {
  static constexpr int kWarpgroups = kD == 64 ? 3 : 2, kThreads = kWarpgroups * kWarpgroup;
  static constexpr int kQueries = kWarpgroups * kRows;
  Tile<kD, kQueries> q;
  Tile<kD, kKeys> k, v;
};

// The block asks for a tile; of its rows the first `rows` exist, the others become zeros. Units stand in the order of the 128-byte
// swizzle, which descriptors name.
template <int kD, int kTileRows>
__device__ void copy_tile(Tile<kD, kTileRows>& to_smem, const bfloat16* from, std::int64_t stride,
                          int rows) {
  // TODO(1): roughly 6 lines; ask for each unit of the tile by an asynchronous copy; the copies of rows from `rows` on read nothing and write
  // TODO(1): zeros. In its row of a panel unit u lies in place u ^ row % 8. budget: one copy of 16 bytes for each unit
}

// The copies that all threads have asked for are here, for products too.
__device__ void wait_for_copies() {
  // TODO(1): roughly 4 lines; close the group of copies and wait for it; then what this thread's copies have written is visible to the tensor
  // TODO(1): cores, and all threads meet. budget: one block-wide barrier
}

// S = Q K^T, of the warpgroup's rows and a tile of keys. Both operands have their sums' index side by side.
template <int kD, int kQueries>
__device__ void multiply_q_k(float (&s)[kKeys / 2], const Tile<kD, kQueries>& q, int first_row,
                             const Tile<kD, kKeys>& k) {
  // TODO(2): roughly 8 lines; for each 16 channels a product of the warpgroup's rows of q and all keys: the first one sets s, the others add to it;
  // TODO(2): then they are one group. budget: kD / 16 products, each by one instruction of the warpgroup
}

// O += P V, with the weights from registers. V's channels, which are columns of o, lie side by side.
template <int kD>
__device__ void multiply_p_v(float (&o)[kD / 2], const std::uint32_t (&p)[kKeys / 16][4],
                             const Tile<kD, kKeys>& v) {
  // TODO(3): roughly 6 lines; for each 16 keys o += weights times rows of v, all kD columns at once; then they are one group. budget: kKeys / 16
  // TODO(3): products
}

template <int kD>
__global__ void __launch_bounds__(Shared<kD>::kThreads, 1)
    attend(const ladder::BasicAttentionArgs<bfloat16> args) {
  using Smem = Shared<kD>;
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Smem*>(bytes_smem);

  // This block's queries, those with the most keys first: short blocks fill the gaps at the end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = std::int64_t{gridDim.x - 1 - blockIdx.x} * Smem::kQueries;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{Smem::kQueries}));
  const int h = blockIdx.y, h_kv = h / static_cast<int>(args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD;
  const std::int64_t stride_k = args.H_kv * kD;
  const std::int64_t of_q = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t of_k = s.first_key * stride_k + h_kv * kD;
  const int tiles = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);

  // This warpgroup's rows. From lane 0, so that the compiler knows that it is the same for all.
  const int first_row =
      __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup * kRows, 0);
  const int row = first_row + static_cast<int>(threadIdx.x) % kWarpgroup / kWarpSize * 16 +
                  static_cast<int>(threadIdx.x) % kWarpSize / 4;
  const Visible visible = visible_from(s, first);
  const int seen[2] = {visible.keys(row), visible.keys(row + 8)};
  const int whole_tiles = visible.keys(first_row) / kKeys;  // all rows see all of their keys

  const auto copy_keys = [&](Tile<kD, kKeys>& to_smem, const bfloat16* x, int tile) {
    // TODO(4): roughly 2 lines; copy_tile: the tile's rows of x, which begin at of_k and are stride_k apart; the batch has s.keys of them. budget:
    // TODO(4): one copy of 16 bytes for each unit
  };
  // TODO(4): roughly 4 lines; ask for the block's queries, and for the keys of the first tile, if there is one; budget: each unit once, and no wait
  float scores[kKeys / 2], o[kD / 2] = {}, keep[2];
  std::uint32_t p[kKeys / 16][4];
  Softmax softmax;
  const float factor = args.scale * ladder::cuda::kLog2e;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    // TODO(4): roughly 2 lines; K is here; ask for V of this tile. budget: one block-wide barrier

    hopper::fence_operands();
    // TODO(2): roughly 2 lines; the tile's scores, which are complete before anybody looks at them; budget: one wait for products
    hopper::pin(scores);

    // TODO(4): roughly 2 lines; V is here; ask for K of the next tile, if there is one. budget: one block-wide barrier

    if (tile >= whole_tiles) mask(scores, seen, tile * kKeys);
    // TODO(3): roughly 7 lines; the scores become weights, o becomes relative to the new largest score, and takes in the weights times V. The
    // TODO(3): registers of o and p are operands from some point on, and o is complete at the end. budget: one wait for products
  }
  // TODO(5): roughly 2 lines; store_rows() of warpgroup_softmax.hpp: where the block's rows of o and of lse begin, how far apart those of o lie,
  // TODO(5): which row is this thread's, and how many there are. budget: one store of four bytes for two elements
}

template <int kD>
void launch(const ladder::BasicAttentionArgs<bfloat16>& args) {
  using Smem = Shared<kD>;
  constexpr int kBytes = sizeof(Smem);
  // TODO(5): roughly 5 lines; as much shared memory as is needed, and a block for each kQueries queries, each head of q, and each batch: blockIdx.y
  // TODO(5): is the head. budget: one launch
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  constexpr std::uintptr_t kUnitBytes = 16;  // what the copies take at once
  ladder::validate(args);
  ladder::require(args.D == 64 || args.D == 128,
                  "D is " + std::to_string(args.D) + "; this kernel allows 64 and 128");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows T_k keys for every batch");
  ladder::require(args.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows no packed sequences");
  require_grid(args);
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("q", args.q, kUnitBytes);
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kUnitBytes);
    ladder::require_pointer("v", args.v, kUnitBytes);
  }
  ladder::require_pointer("o", args.o, sizeof(std::uint32_t));
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
