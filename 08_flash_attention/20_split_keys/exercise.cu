// 08 flash attention, decoding: few queries, long cache, keys split over blocks. bf16 and fp16.
// Change: rewrite, in which a block has some of the keys, and all query heads that share them. A
//         second kernel merges the blocks' results.
// Why:    with one query per head most of the GPU is idle if a block takes all keys, although only
//         memory should be the limit.
// Needs:  D and D_v multiples of 8 up to 256, any T_q and T_k, all options, any scale, window and
//         softcap. Tensor cores (sm_80).
// Costs:  a tile of 16 rows is mostly padding, and partial results of every split go to memory and
//         back.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "08_flash_attention/20_split_keys/split_keys.hpp"
#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/decode_rows.hpp"
#include "08_flash_attention/decode_tile.hpp"
#include "08_flash_attention/partial_results.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/split_launch.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention::split_keys {

using ladder::BasicAttentionArgs;
using namespace flash_attention::decode;

namespace {

constexpr std::int64_t kMaxSequences = kMaxRows / kRows;

// Updates `one` as if it had seen the keys of `other` too.
__device__ void merge(Partial& one, const Partial& other) {
  // TODO(1): roughly 9 lines; set `one` to the result of both, relative to the larger m: scale each
  // TODO(1): side's l and acc by exp2(its m - that m), and add; a side without a key, or both,
  // TODO(1): has m = -inf; a NaN in l or acc stays NaN; budget: two exponentials, no access to
  // TODO(1): memory.
}

// kBent means a window, a softcap, a scale of 0 or a D_v unlike D. Otherwise their code is not
// compiled in.
template <typename Element, bool kBent>
using ArgsOf =
    std::conditional_t<kBent, ladder::FullAttentionArgs<Element>, BasicAttentionArgs<Element>>;

// One block computes one split of the keys of one kv head, for one tile of rows. A warp computes
// every kWarps-th stage of keys and waits for no other warp before the end.
template <typename Element, int kD, bool kBent>
__global__ void __launch_bounds__(Cut<kD>::kThreads)
    attend(const ArgsOf<Element, kBent> args, const Rows rows, const Partials partials) {
  using C = Cut<kD>;
  constexpr int kUnits = kD / kUnit, kCopies = C::kKeys * kUnits / kWarpSize;
  extern __shared__ uint4 smem[];  // (kWarps, kStages, k and v, kKeys, kD)
  __shared__ float2 statistics_smem[C::kWarps][kRows];

  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  // Tiles and heads change fastest, so that blocks that read the same or neighbouring bytes run
  // together.
  const std::int64_t h = blockIdx.x / rows.tiles, b = blockIdx.z;
  const int split = static_cast<int>(blockIdx.y), splits = static_cast<int>(gridDim.y);
  std::int64_t tile = blockIdx.x % rows.tiles, n = b;
  if (args.cu_seqlens_q != nullptr) {
    n = sequence_of_slot<kRows, 0>(args.T_q, args.cu_seqlens_q, args.sequences, tile, rows.group);
    tile -= first_slot<kRows>(args.T_q, args.cu_seqlens_q, n, rows.group);
  }
  const auto sequence = sequence_of(args, n);            // with kBent, including its window
  const int first_row = static_cast<int>(tile) * kRows;  // in the sequence
  const int rows_here = min(static_cast<int>(sequence.queries) * rows.group - first_row, kRows);
  if (rows_here <= 0) return;  // a slot without a tile
  const int first_of_all = args.cu_seqlens_q == nullptr
                               ? first_row
                               : static_cast<int>(sequence.first_query) * rows.group + first_row;

  // Keys before the windows are not read, and do not count for the splits.
  const int last_row = first_row + rows_here - 1;
  const std::int64_t hidden_from_first = sequence.first_key_seen(first_row / rows.group);
  const std::int64_t hidden_from_last = sequence.first_key_seen(last_row / rows.group);
  const std::int64_t begin = hidden_from_first / C::kKeys * C::kKeys;
  const std::int64_t behind = kBent ? sequence.keys_seen(last_row / rows.group) : sequence.keys;

  const std::int64_t stages = (behind - begin + C::kKeys - 1) / C::kKeys;
  const std::int64_t stages_here = (stages + splits - 1) / splits;
  const std::int64_t first = begin + split * stages_here * C::kKeys;
  const std::int64_t seen_by_first = sequence.keys_seen(first_row / rows.group);
  const std::int64_t seen_by_last = sequence.keys_seen(last_row / rows.group);
  const std::int64_t end = min(first + stages_here * C::kKeys, seen_by_last);

  Element* const tiles = reinterpret_cast<Element*>(smem) + warp * C::kStages * 2 * C::kTile;
  const std::int64_t D_v = value_channels(args);
  const std::int64_t stride = args.H_kv * args.D, stride_v = args.H_kv * D_v;
  const Element* const k = args.k + (sequence.first_key * args.H_kv + h) * args.D;
  const Element* const v = args.v + (sequence.first_key * args.H_kv + h) * D_v;
  const auto fetch = [&](int stage, std::int64_t t) {
    Element* const tile = tiles + stage * 2 * C::kTile;
    if (t < end) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int unit = (i * kWarpSize + lane) % kUnits, row = (i * kWarpSize + lane) / kUnits;
        const std::int64_t from = row_offset<kBent>(t, row, stride) + unit * kUnit;
        const std::int64_t from_v = row_offset<kBent>(t, row, stride_v) + unit * kUnit;
        const bool is_hidden = kBent && t + row < hidden_from_first;
        const bool there = !is_hidden && t + row < end;
        // Zeros, because 0 times a NaN would be NaN.
        const int zeros = there && unit * kUnit < args.D ? 0 : 16;
        const int zeros_v = there && unit * kUnit < D_v ? 0 : 16;
        Element* const to = tile + Tile<Element, kD>::place(row, unit * kUnit);
        __pipeline_memcpy_async(to, k + from, 16, zeros);
        __pipeline_memcpy_async(to + C::kTile, v + from_v, 16, zeros_v);
      }
    }
    __pipeline_commit();  // a group for every stage, even an empty one, so that they can be counted
  };

  constexpr int kStep = C::kWarps * C::kKeys;
  std::int64_t ahead = first + warp * C::kKeys;
#pragma unroll
  for (int stage = 0; stage < C::kStages - 1; ++stage, ahead += kStep)
    fetch(stage, ahead);

  const BlockRows at{b, h, first_of_all, rows_here, split, splits};
  std::uint32_t q_reg[kD / 16][4];
  load_queries(q_reg, args, rows, at, lane);
  // Apart from the loop of loads, which would otherwise be compiled twice, causal and not causal.
  const VisibleKeys visible(sequence, rows, first_row, rows_here, lane);
  flip_signs(q_reg, args.scale);

  // Bent scores are already scaled, because 0 times a masked one would be NaN.
  const float scale = fabsf(args.scale), to_base_2 = (kBent ? 1.0f : scale) * ladder::cuda::kLog2e;
  OnlineSoftmax<kD> result;
  int now = 0, next = C::kStages - 1;
  for (std::int64_t t = first + warp * C::kKeys; t < end; t += kStep, ahead += kStep) {
    __pipeline_wait_prior(C::kStages - 2);
    __syncwarp();  // all lanes' copies have arrived, and the next stage may be overwritten
    fetch(next, ahead);
    next = next + 1 < C::kStages ? next + 1 : 0;
    const Element* const k_smem = tiles + now * 2 * C::kTile;
    const Element* const v_smem = k_smem + C::kTile;
    now = now + 1 < C::kStages ? now + 1 : 0;

    float scores[C::kKeys / 8][4] = {};
    multiply_by_keys<kD>(scores, q_reg, k_smem, lane);
    if constexpr (kBent) scale_and_cap(scores, scale, args.softcap);
    if (t + C::kKeys > seen_by_first || (kBent && t < hidden_from_last))
      visible.mask<kBent>(scores, t, lane);
    result.update(scores, to_base_2);
#pragma unroll
    for (int j = 0; j < C::kKeys / 8; j += 2) {
      const FragmentA<Element> p = as_a<Element>(scores[j], scores[j + 1]);
#pragma unroll
      for (int block = 0; block < kD / 16; ++block) {
        std::uint32_t r[4];
        const unsigned row = j * 8 + lane % 16;
        ladder::cuda::load_matrices_transposed(
            r, v_smem + Tile<Element, kD>::place(row, block * 16 + lane / 16 * kUnit));
        ladder::cuda::mma<Element>(result.acc[2 * block], p.x, {r[0], r[1]});
        ladder::cuda::mma<Element>(result.acc[2 * block + 1], p.x, {r[2], r[3]});
      }
    }
  }

  __syncwarp();  // all lanes have finished the warp's stages, which results may overwrite
  store_result(result, reinterpret_cast<float*>(tiles), statistics_smem[warp], lane);
  __syncthreads();  // all warps' results are in shared memory
  merge_warps<kD, merge>(args, rows, at, partials, reinterpret_cast<const float*>(smem),
                         statistics_smem);
}

// One block merges one row. With kPacked, rows of no packed sequence are skipped.
template <typename Element, int kD, bool kPacked>
__global__ void __launch_bounds__(kMergeThreads<kD>)
    merge_splits(const BasicAttentionArgs<Element> args, const Rows rows, const int splits,
                 const Partials partials) {
  __shared__ float4 acc_smem[kParts][kD / 4];
  __shared__ float2 statistics_smem[kParts];
  merge_row<kD, merge, kPacked>(args, rows, splits, partials, acc_smem, statistics_smem);
}

template <typename Element, int kD, bool kBent>
void launch(const ladder::FullAttentionArgs<Element>& args, std::int64_t splits) {
  using C = Cut<kD>;
  constexpr const char* kName = "attention_split_keys";
  const bool is_packed = args.cu_seqlens_q != nullptr;
  Rows rows = rows_of(kName, args);
  require_countable(kName, args.sequences <= kMaxSequences,
                    "sequences is " + std::to_string(args.sequences), kMaxSequences);
  std::int64_t keys = args.T_k, busy_tiles = rows.tiles;
  if (is_packed) {
    // Only the device knows their lengths, so the plan assumes the mean length.
    keys = (args.T_k + args.sequences - 1) / args.sequences;
    busy_tiles = std::max(args.sequences, busy_tiles);
    rows.tiles =
        static_cast<int>(count_slots<kRows>(rows.count, args.cu_seqlens_q, args.sequences));
  }
  const auto kernel = attend<Element, kD, kBent>;
  ladder::cuda::allow_shared_memory(kName, kernel, C::kBytes);
  if (splits == 0)
    splits = planned_splits<kD>(kernel, args, keys, busy_tiles, is_packed || rows.tiles == 1);
  const PartialsScratch<kD> scratch(args, rows, splits);
  if (is_packed) scratch.mark_all();
  kernel<<<attend_grid(args, rows, splits), C::kThreads, C::kBytes, ladder::cuda::stream()>>>(
      args, rows, scratch.partials());
  CUDA_CHECK(cudaGetLastError());
  if (splits == 1) return;
  const auto merge = is_packed ? merge_splits<Element, kD, true> : merge_splits<Element, kD, false>;
  BasicAttentionArgs<Element> of_o = args;
  of_o.D = args.D_v;  // the merge reads neither q nor k
  merge<<<merge_grid(args, rows), kMergeThreads<kD>, 0, ladder::cuda::stream()>>>(
      of_o, rows, static_cast<int>(splits), scratch.partials());
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void run(const ladder::FullAttentionArgs<Element>& given, std::int64_t splits) {
  validate(given, ladder::ChannelsOfV::kAny);
  require_units_of_all_channels(given);
  const ladder::FullAttentionArgs<Element> args = with_value_channels(given);
  if (sequence_count(args) == 0 || args.T_q == 0) return;
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, 16);
    ladder::require_pointer("v", args.v, 16);
  }
  ladder::require_pointer("q", args.q, 4);
  const bool is_bent =
      args.window > 0 || args.softcap > 0.0f || args.scale == 0.0f || args.D_v != args.D;
  ladder::require(!is_bent || args.T_k <= kMostRows,
                  "T_k is " + std::to_string(args.T_k) + "; attention_split_keys allows up to " +
                      std::to_string(kMostRows) +
                      " with a window, a softcap, a scale of 0 or a D_v unlike D");
  launch_width(most_channels(args), [&]<int kD>() {
    is_bent ? launch<Element, kD, true>(args, splits) : launch<Element, kD, false>(args, splits);
  });
}

template <typename Element>
void attention(const ladder::FullAttentionArgs<Element>& args) {
  run(args, 0);
}

const ladder::Registration registration{
    {.name = "attention_split_keys",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::Attention>(attention<ladder::bfloat16>,
                                                       attention<ladder::float16>)}};

}  // namespace

void attention_in_splits(const ladder::AttentionBf16Args& args, std::int64_t splits) {
  run(args, splits);
}

void attention_in_splits(const ladder::AttentionFp16Args& args, std::int64_t splits) {
  run(args, splits);
}

}  // namespace flash_attention::split_keys
