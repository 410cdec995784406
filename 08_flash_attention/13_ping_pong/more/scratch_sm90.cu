// 08 flash attention, ping-pong: the consumers take turns at the tensor cores.
// Change: from 08.12: a turn is the product with V and that with the next K, one behind the other; named barriers hand it on.
// Why:    consumers drifted as it happened: while two of them took softmax at the same time, the tensor cores had nothing to do.
// Needs:  sm_90a; bf16; D in {64, 128}; no key lengths, no packed sequences; 16-byte rows.
// Costs:  a third stage, for a consumer is at two tiles in the same turn. A slow consumer makes the others wait.
//         See README for what was measured.
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
constexpr int kStages = 3;  // of the ring: a turn reads two, and one more is on its way

// A tile of rows of kD elements, in panels of 64 columns.
template <int kD, int kTileRows>
struct alignas(hopper::kTileAlign) Tile {
  bfloat16 at[kD / kPanel][kTileRows][kPanel];
};

// What the copies need to know of the tensors.
struct Maps {
  CUtensorMap q, k, v;
};

// What a block works on, and what it has in shared memory. A thread holds kKeys / 2 scores, kKeys / 4 registers of packed weights and
// kD / 2 sums of o, so that with D = 64 there are registers for a third consumer.
template <int kD>
struct Shared {
  static constexpr int kConsumers = kD == 64 ? 3 : 2, kThreads = (1 + kConsumers) * kWarpgroup;
  static constexpr int kQueries = kConsumers * kRows;
  // Registers of a thread, in eights: one of the producer and one of each consumer have at most 512 together, 65,536 for 128 of each.
  static constexpr int kProducerRegisters = kD == 64 ? 32 : 24;
  static constexpr int kConsumerRegisters = kD == 64 ? 160 : 240;
  Tile<kD, kQueries> q;
  Tile<kD, kKeys> k[kStages], v[kStages];
  hopper::Barrier q_here, here[kStages];  // the copies are complete
  hopper::Barrier read[kStages];          // by all consumers: the stage is free
};

// One thread asks for a tile, whose bytes count at `here`: rows of a batch, columns of head h. Rows beyond the batch's become zeros.
template <int kD, int kTileRows>
__device__ void copy_tile(Tile<kD, kTileRows>& to_smem, const CUtensorMap* map,
                          hopper::Barrier* here, int h, int row) {
  // TODO(1): roughly 3 lines; arrive at `here` and tell of all bytes of the tile; then ask for each panel, whose box begins at column h * kD +
  // TODO(1): panel * kPanel and this row of batch blockIdx.z; budget: one arrival, and one bulk copy for each panel
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
  // TODO(2): roughly 6 lines; for each 16 keys o += weights times rows of v, all kD columns at once; then they are one group. budget: kKeys / 16
  // TODO(2): products
}

template <int kD>
__global__ void __launch_bounds__(Shared<kD>::kThreads, 1)
    attend(const ladder::BasicAttentionArgs<bfloat16> args, const __grid_constant__ Maps maps) {
  using Smem = Shared<kD>;
  extern __shared__ __align__(hopper::kTileAlign) unsigned char bytes_smem[];
  auto& smem = *reinterpret_cast<Smem*>(bytes_smem);
  // TODO(3): roughly 9 lines; one thread says how many arrivals a phase has, of q_here, of each of smem.here and of each of smem.read, before
  // TODO(3): anybody uses them; budget: one block-wide barrier

  // This block's queries, those with the most keys first: short blocks fill the gaps at the end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = std::int64_t{gridDim.x - 1 - blockIdx.x} * Smem::kQueries;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{Smem::kQueries}));
  const int h = blockIdx.y, h_kv = h / static_cast<int>(args.H_q / args.H_kv);
  const std::int64_t stride_q = args.H_q * kD;
  const std::int64_t of_q = (s.first_query + first) * stride_q + h * kD;
  const int tiles = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);

  if (threadIdx.x < kWarpgroup) {
    hopper::give_registers<Smem::kProducerRegisters>();
    if (threadIdx.x != 0 || tiles <= 0) return;
    // TODO(1): roughly 8 lines; ask for the block's queries; then for K and V of each tile, when its stage is read by all consumers. budget: one
    // TODO(1): bulk copy for each panel, and no barrier of the block
    return;
  }
  hopper::take_registers<Smem::kConsumerRegisters>();

  // This warpgroup's rows. From lane 0, so that the compiler knows that it is the same for all.
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
    // TODO(3): roughly 2 lines; wait until the copies of this tile are complete; budget: no barrier of the block
  };
  const auto weigh = [&](int tile) {
    // TODO(3): roughly 4 lines; the mask, where a row does not see the whole tile; then the scores become weights in p, and o becomes relative to
    // TODO(3): the new largest score. budget: no access to memory
  };
  // Barrier 1 + c has the turns of consumer c: those who wait for one, and those who hand it on.
  const auto take_turn = [&] { hopper::sync_named(1 + consumer, 2 * kWarpgroup); };
  const auto pass_turn = [&] {
    // TODO(4): roughly 1 line; arrive where the next consumer waits for its turn; behind the last one comes the first one. budget: one arrival of
    // TODO(4): the warpgroup
  };
  // TODO(4): roughly 1 line; let the first consumer begin: another one hands it its first turn. budget: no barrier of the block
  if (tiles > 0) {
    // TODO(4): roughly 8 lines; wait for q and for tile 0; a turn for its scores: take it, issue the product, hand the turn on, and only then wait
    // TODO(4): for the product. budget: one product is issued in this turn
    weigh(0);
#pragma unroll 1
    for (int tile = 1; tile < tiles; ++tile) {
      const int stage = hopper::place_of<kStages>(tile);
      const int before = hopper::place_of<kStages>(tile - 1);
      wait_for(tile);
      // TODO(4): roughly 8 lines; a turn: take it; issue the product of the weights with V of the tile before, and the scores of this tile; hand
      // TODO(4): the turn on as soon as both are issued; only then wait for them, and pin o and the scores. budget: two products are issued in this
      // TODO(4): turn
      if (threadIdx.x % kWarpSize == 0) hopper::arrive(&smem.read[before]);
      weigh(tile);
    }
    // TODO(4): roughly 4 lines; the weights of the last tile times its values, which needs no turn. budget: one wait for products
  }
  if (consumer == 0) take_turn();  // the last one handed it on
  // TODO(5): roughly 2 lines; store_rows() of warpgroup_softmax.hpp: where the block's rows of o and of lse begin, how far apart those of o lie,
  // TODO(5): which row is this thread's, and how many there are. budget: one store of four bytes for two elements
}

template <int kD>
void launch(const ladder::BasicAttentionArgs<bfloat16>& args) {
  using Smem = Shared<kD>;
  constexpr int kBytes = sizeof(Smem);
  // TODO(5): roughly 9 lines; as much shared memory as is needed; the maps of q, k and v, whose boxes have the rows of a tile; and a block for each
  // TODO(5): kQueries queries, each head of q, and each batch: blockIdx.y is the head. budget: one launch
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
  hopper::require_hopper("attention_ping_pong");
  return args.D == 64 ? launch<64>(args) : launch<128>(args);
}

const ladder::Registration registration{
    {.name = "attention_ping_pong",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kWarpgroups,
     .launchers = ladder::launchers<ladder::Attention>(attention<bfloat16>)}};

}  // namespace
}  // namespace flash_attention
