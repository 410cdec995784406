// 08 flash attention, swizzled: tiles come by asynchronous copies, and lie in shared memory so that no banks collide.
// Change: a unit of 16 bytes goes to shared memory without passing a register, to a place that depends on its row.
// Why:    the matrix loads of 05_tensor_cores took eight turns each: eight rows of a tile began in the same bank.
// Needs:  D = 64 or 128 and bf16, for the sake of short files; all options of attention; 16-byte rows; tensor cores (sm_80).
// Costs:  a lane's addresses take an exclusive or. Each tile is still waited for: 08_pipelined.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "08_flash_attention/attention_tile.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/swizzle.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

template <int kD>
using Layout = Swizzled<kD>;

// kRows rows of x to a tile of shared memory, in units of 16 bytes. Where there are fewer, `rows`, the last one stands for those
// behind it too: nothing but finite numbers may meet a weight of 0.
template <int kD, int kRows, typename Element>
__device__ void fetch(Element* tile, const Element* x, int stride, int rows) {
  constexpr int kColumns =
      kD % 64 == 0 ? 64 : 32;  // of a row, that neighbouring lanes move at once
  constexpr int kStep = Cut<kD>::kThreads / (kColumns / 8);
  const int first = threadIdx.x / (kColumns / 8), first_column = threadIdx.x % (kColumns / 8) * 8;
  Element* const to = tile + Layout<kD>::place(first, first_column);
  const auto copy = [&](int i, int row) {
    const Element* const from = x + static_cast<std::int64_t>(row) * stride + first_column;
#pragma unroll
    for (int column = 0; column < kD; column += kColumns)
      __pipeline_memcpy_async(to + i * kD + column, from + column, 16);
  };
  if (rows >= kRows) {
#pragma unroll
    for (int i = 0; i < kRows; i += kStep)
      copy(i, first + i);
  } else {
#pragma unroll 1
    for (int i = 0; i < kRows; i += kStep)
      copy(i, min(first + i, rows - 1));
  }
}

// The tiles of kKeys keys that a block of queries looks at. Of the block, the first query sees least and the last one most.
template <int kKeys>
__device__ KeyTiles tiles_of(const Sequence& s, std::int64_t first, int queries) {
  KeyTiles tiles;
  tiles.count = static_cast<int>((s.keys_seen(first + queries - 1) + kKeys - 1) / kKeys);
  tiles.whole = static_cast<int>(s.keys_seen(first) / kKeys);
  return tiles;
}

template <int kD, typename Element>
__global__ void __launch_bounds__(Cut<kD>::kThreads, Cut<kD>::kBlocks)
    attend(const BasicAttentionArgs<Element> args) {
  using C = Cut<kD>;
  using L = Layout<kD>;
  extern __shared__ uint4 smem[];
  Element* const q_smem = reinterpret_cast<Element*>(smem);  // (kQueries, kD)
  Element* const k_smem = q_smem + C::kQueries * kD;         // (kKeys, kD)
  Element* const v_smem = k_smem + C::kKeys * kD;            // (kKeys, kD)

  // This block's queries, those with the most keys first: short blocks fill the gaps at the end.
  const Sequence s = sequence_of(args, blockIdx.z);
  const std::int64_t first = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * C::kQueries;
  if (first >= s.queries) return;
  const int queries = static_cast<int>(min(s.queries - first, std::int64_t{C::kQueries}));
  const std::int64_t h = blockIdx.y, h_kv = h / (args.H_q / args.H_kv);
  const int stride_q = static_cast<int>(args.H_q) * kD, stride_k = static_cast<int>(args.H_kv) * kD;
  const std::int64_t q_offset = (s.first_query + first) * stride_q + h * kD;
  const std::int64_t k_offset = s.first_key * stride_k + h_kv * kD;

  const KeyTiles tiles = tiles_of<C::kKeys>(s, first, queries);
  const Visible visible = visible_from(s, first);

  const auto fetch_keys = [&](Element* to, const Element* x, int tile) {
    const std::int64_t key = std::int64_t{tile} * C::kKeys;
    fetch<kD, C::kKeys>(to, x + k_offset + key * stride_k, stride_k,
                        visible.most - tile * C::kKeys);
  };
  if (tiles.count > 0) fetch<kD, C::kQueries>(q_smem, args.q + q_offset, stride_q, queries);

  // This warp's queries, and the lane's unit of the first 16 x 16 block of each factor.
  const int lane = threadIdx.x % kWarpSize;
  const int first_row = static_cast<int>(threadIdx.x) / kWarpSize * C::kRowBlocks * kBlock;
  const unsigned q_unit = L::place(first_row + lane % 16, lane / 16 * 8);
  const unsigned k_unit = L::place(lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8);
  const unsigned v_unit = L::place(lane % 16, lane / 16 * 8);

  OnlineSoftmax<C::kRowBlocks> softmax(args.scale);
  Sums<C::kRowBlocks, kD> o = {};
#pragma unroll 1
  for (int tile = 0; tile < tiles.count; ++tile) {
    __syncthreads();  // nobody reads the last tiles any more
    fetch_keys(k_smem, args.k, tile);
    fetch_keys(v_smem, args.v, tile);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // these are here

    Sums<C::kRowBlocks, C::kKeys> scores = {};
#pragma unroll
    for (int d = 0; d < kD; d += kBlock) {
      std::uint32_t q[C::kRowBlocks][4];
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b)
        ladder::cuda::load_matrices(q[b], q_smem + L::along(q_unit, d) + b * kBlock * kD);
#pragma unroll
      for (int n = 0; n < C::kKeys; n += kBlock) {
        std::uint32_t k[4];
        ladder::cuda::load_matrices(k, k_smem + L::along(k_unit, d) + n * kD);
#pragma unroll
        for (int b = 0; b < C::kRowBlocks; ++b) {
          ladder::cuda::mma<Element>(scores[b][n / 8], q[b], {k[0], k[1]});
          ladder::cuda::mma<Element>(scores[b][n / 8 + 1], q[b], {k[2], k[3]});
        }
      }
    }
    if (tile >= tiles.whole) mask(scores, visible, first_row, tile * C::kKeys);

    softmax.update(scores, o);
#pragma unroll
    for (int n = 0; n < C::kKeys; n += kBlock) {
      std::uint32_t p[C::kRowBlocks][4];
#pragma unroll
      for (int b = 0; b < C::kRowBlocks; ++b)
        pack_factor<Element>(p[b], scores[b][n / 8], scores[b][n / 8 + 1]);
#pragma unroll
      for (int d = 0; d < kD; d += kBlock) {
        std::uint32_t v[4];
        ladder::cuda::load_matrices_transposed(v, v_smem + L::along(v_unit, d) + n * kD);
#pragma unroll
        for (int b = 0; b < C::kRowBlocks; ++b) {
          ladder::cuda::mma<Element>(o[b][d / 8], p[b], {v[0], v[1]});
          ladder::cuda::mma<Element>(o[b][d / 8 + 1], p[b], {v[2], v[3]});
        }
      }
    }
  }
  send<L, kD>(args.o + q_offset + first_row * stride_q, stride_q,
              args.lse + s.first_lse + h * args.T_q + first + first_row, queries - first_row,
              q_smem + first_row * kD, o, softmax);
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  using C = Cut<kD>;
  ladder::cuda::allow_shared_memory("attention_swizzled", attend<kD, Element>, C::kBytes);
  const dim3 grid(static_cast<unsigned>((args.T_q + C::kQueries - 1) / C::kQueries),
                  static_cast<unsigned>(args.H_q), static_cast<unsigned>(sequence_count(args)));
  attend<kD, Element><<<grid, C::kThreads, C::kBytes>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  require_tensor_core_tiles(args);
  ladder::require(
      args.D == 64 || args.D == 128,
      "D is " + std::to_string(args.D) + "; allowed in this step of chapter 08: 64, 128");
  if (args.T_q == 0 || sequence_count(args) == 0) return;
  switch (args.D) {
    case 64: return launch<64>(args);
    case 128: return launch<128>(args);
  }
}

const ladder::Registration registration{
    {.name = "attention_swizzled",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>)}};

}  // namespace
}  // namespace flash_attention
