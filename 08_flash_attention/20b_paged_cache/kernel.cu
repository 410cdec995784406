// 08 flash attention, decoding from a paged cache of keys and values, by a table. bf16 and fp16.
// Change: from 08.20, a rewrite of the path to a key: the pages of a stage are looked up one stage
//         before its copies are issued. No packed sequences.
// Why:    a contiguous cache per sequence must be as long as the longest possible answer. Pages are
//         allocated when they are needed.
// Needs:  D and D_v multiples of 8 up to 256, pages of 16, 32, 64, ... keys, any lengths, causal,
//         any scale, window, softcap. Tensor cores (sm_80).
// Costs:  a load of 4 bytes for every 16 keys and warp, and its latency once per warp, before the
//         first copies.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "08_flash_attention/20b_paged_cache/paged_attention.hpp"
#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/decode_rows.hpp"
#include "08_flash_attention/decode_tile.hpp"
#include "08_flash_attention/partial_results.hpp"
#include "08_flash_attention/sequence.hpp"
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

namespace flash_attention {

using namespace flash_attention::decode;

namespace {

constexpr int kGroup = 16;  // keys of one look-up, all in one page, because no page has fewer
constexpr std::int64_t kMaxPage = 1 << 16;

// kBent means a window, a softcap, a scale of 0 or a D_v unlike D. Otherwise their code is not
// compiled in.
template <typename Element, bool kBent>
using ArgsOf =
    std::conditional_t<kBent, FullPagedAttentionArgs<Element>, BasicPagedAttentionArgs<Element>>;

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
  const int first_row = static_cast<int>(blockIdx.x % rows.tiles) * kRows;
  const int rows_here = min(rows.count - first_row, kRows);
  const BlockRows at{b, h, first_row, rows_here, split, splits};
  std::conditional_t<kBent, WindowedSequence, Sequence> sequence;
  sequence.queries = args.T_q, sequence.causal = args.causal;
  sequence.keys = clamped(args.key_lengths[b], 0, args.max_pages * args.page_keys);
  if constexpr (kBent) sequence.window = args.window > 0 ? args.window : sequence.keys;

  const int last_row = first_row + rows_here - 1;
  const std::int64_t seen_by_first = sequence.keys_seen(first_row / rows.group);
  const std::int64_t seen_by_last = sequence.keys_seen(last_row / rows.group);
  // Keys before the windows are not read, and do not count for the splits.
  const std::int64_t hidden_from_first = sequence.first_key_seen(first_row / rows.group);
  const std::int64_t hidden_from_last = sequence.first_key_seen(last_row / rows.group);
  const std::int64_t begin = hidden_from_first / C::kKeys * C::kKeys;
  const std::int64_t keys = (kBent ? seen_by_last : sequence.keys) - begin;
  // The split's keys are first to end - 1.
  const std::int64_t stages = (keys + C::kKeys - 1) / C::kKeys;
  const std::int64_t stages_here = (stages + splits - 1) / splits;
  const std::int64_t first = begin + split * stages_here * C::kKeys;
  const std::int64_t end = min(first + stages_here * C::kKeys, seen_by_last);

  Element* const tiles = reinterpret_cast<Element*>(smem) + warp * C::kStages * 2 * C::kTile;
  const std::int64_t D_v = value_channels(args);
  const std::int64_t stride = args.H_kv * args.D, stride_v = args.H_kv * D_v;
  const Element* const k = args.k + h * args.D;
  const Element* const v = args.v + h * D_v;
  // The pages of a stage, looked up one stage before its copies are issued, so that no thread waits
  // for the table.
  constexpr int kGroups = C::kKeys / kGroup, kStep = C::kWarps * C::kKeys;
  const int shift = __ffs(static_cast<int>(args.page_keys)) - 1;  // a page has 2^shift keys
  const auto look_up = [&](std::int64_t t, int(&pages)[kGroups]) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group, t += kGroup) {
      if (t < end) pages[group] = args.block_table[b * args.max_pages + (t >> shift)];
    }
  };
  const auto fetch = [&](int stage, std::int64_t t, const int(&pages)[kGroups]) {
    Element* const tile = tiles + stage * 2 * C::kTile;
    if (t < end) {
      std::int64_t first_rows[kGroups] = {};  // each group's first row, among all pages' rows
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const std::int64_t page = clamped(pages[group], 0, args.pages - 1);
        first_rows[group] = (page << shift) + ((t + group * kGroup) & (args.page_keys - 1));
      }
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int unit = (i * kWarpSize + lane) % kUnits, row = (i * kWarpSize + lane) / kUnits;
        const int group = i * kWarpSize / kUnits / kGroup;  // the same for all lanes
        const int within = row - group * kGroup;
        const std::int64_t from =
            row_offset<kBent>(first_rows[group], within, stride) + unit * kUnit;
        const std::int64_t from_v =
            row_offset<kBent>(first_rows[group], within, stride_v) + unit * kUnit;
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

  // The first stages' pages are loaded together, so that the warp waits once.
  std::int64_t ahead = first + warp * C::kKeys;
  int first_pages[C::kStages][kGroups] = {};
#pragma unroll
  for (int stage = 0; stage < C::kStages; ++stage)
    look_up(ahead + stage * kStep, first_pages[stage]);
#pragma unroll
  for (int stage = 0; stage < C::kStages - 1; ++stage, ahead += kStep)
    fetch(stage, ahead, first_pages[stage]);
  auto& pages = first_pages[C::kStages - 1];

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
    fetch(next, ahead, pages);
    look_up(ahead + kStep, pages);
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
  merge_warps<kD, merge_partials>(args, rows, at, partials, reinterpret_cast<const float*>(smem),
                                  statistics_smem);
}

// One block merges one row.
template <typename Element, int kD>
__global__ void __launch_bounds__(kMergeThreads<kD>)
    merge_splits(const BasicPagedAttentionArgs<Element> args, const Rows rows, const int splits,
                 const Partials partials) {
  __shared__ float4 acc_smem[kParts][kD / 4];
  __shared__ float2 statistics_smem[kParts];
  merge_row<kD, merge_partials, false>(args, rows, splits, partials, acc_smem, statistics_smem);
}

template <typename Element, int kD, bool kBent>
void launch(const FullPagedAttentionArgs<Element>& args, std::int64_t splits) {
  using C = Cut<kD>;
  constexpr const char* kName = "attention_paged";
  const Rows rows = rows_of(kName, args);
  const auto kernel = attend<Element, kD, kBent>;
  ladder::cuda::allow_shared_memory(kName, kernel, C::kBytes);
  if (splits == 0) {
    splits = planned_splits<kD>(kernel, args, args.max_pages * args.page_keys, rows.tiles,
                                rows.tiles == 1);
  }
  const PartialsScratch<kD> scratch(args, rows, splits);
  kernel<<<attend_grid(args, rows, splits), C::kThreads, C::kBytes, ladder::cuda::stream()>>>(
      args, rows, scratch.partials());
  CUDA_CHECK(cudaGetLastError());
  if (splits == 1) return;
  BasicPagedAttentionArgs<Element> of_o = args;
  of_o.D = args.D_v;  // the merge reads neither q nor k
  merge_splits<Element, kD>
      <<<merge_grid(args, rows), kMergeThreads<kD>, 0, ladder::cuda::stream()>>>(
          of_o, rows, static_cast<int>(splits), scratch.partials());
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void run(const FullPagedAttentionArgs<Element>& given, std::int64_t splits) {
  validate(given);
  require_units_of_all_channels(given);
  const std::int64_t page = given.page_keys;
  ladder::require(page >= kGroup && page <= kMaxPage && (page & (page - 1)) == 0,
                  "page_keys is " + std::to_string(page) +
                      "; attention_paged allows powers of two from 16 to 65536");
  const FullPagedAttentionArgs<Element> args = with_value_channels(given);
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("k", args.k, 16);
  ladder::require_pointer("v", args.v, 16);
  ladder::require_pointer("q", args.q, 4);
  const bool is_bent =
      args.window > 0 || args.softcap > 0.0f || args.scale == 0.0f || args.D_v != args.D;
  launch_width(most_channels(args), [&]<int kD>() {
    is_bent ? launch<Element, kD, true>(args, splits) : launch<Element, kD, false>(args, splits);
  });
}

template <typename Element>
void attention(const FullPagedAttentionArgs<Element>& args) {
  run(args, 0);
}

const ladder::Registration registration{
    {.name = "attention_paged",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<PagedAttention>(attention<ladder::bfloat16>,
                                                    attention<ladder::float16>)}};

}  // namespace

void paged_attention_in_splits(const PagedAttentionBf16Args& args, std::int64_t splits) {
  run(args, splits);
}

void paged_attention_in_splits(const PagedAttentionFp16Args& args, std::int64_t splits) {
  run(args, splits);
}

}  // namespace flash_attention
