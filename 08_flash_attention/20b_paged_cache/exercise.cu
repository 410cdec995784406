// 08 flash attention, decoding from a paged cache: keys and values lie in pages, which a table of each batch names. bf16 and fp16.
// Change: from 08.20: a stage of keys lies in a page, which is looked up one stage before its copies are issued; no packed sequences.
// Why:    a cache in one piece per sequence must be as long as the longest answer can become; pages are taken when they are needed.
// Needs:  D and D_v multiples of 8 up to 256, pages of 16, 32, 64, ... keys, any lengths, causal, any scale, window, softcap. Tensor cores (sm_80).
// Costs:  a load of 4 bytes for every 16 keys and warp, and its latency once per warp, before the first copies.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "08_flash_attention/20b_paged_cache/paged_attention.hpp"
#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/softcap.hpp"
#include "08_flash_attention/split_plan.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/exp2.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

namespace {

constexpr int kRows = 16;  // of a tile of queries, as tensor cores take them
constexpr int kUnit = 8;   // elements of a 16-byte copy
constexpr int kParts = 8;  // threads of `merge_splits` that share a column
// So that a grid's blocks can be counted.
constexpr std::int64_t kMaxRows = 1 << 18, kMaxHeads = 65535;
constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr int kGroup = 16;  // keys that lie in one page: no page has fewer
constexpr std::int64_t kMaxPage = 1 << 16, kMaxPages = std::numeric_limits<std::int32_t>::max();

// Tiles of kD columns, of which D are channels (D_v, of v) and the others zeros. A block's warps have keys of their own, each kStages stages of
// kKeys keys and values, all but one of them on their way: 64 KB and more in a block.
template <int kD>
struct Cut {
  static constexpr int kBytes = 96 * 1024;  // of shared memory, what any GPU since sm_80 has
  static constexpr int kWarps = kD == 256 ? 2 : 4;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kKeys = kD <= 64 ? 32 : 16;
  static constexpr int kTile = kKeys * kD;  // elements of k, and as many of v
  static constexpr int kStages = kBytes / (kWarps * 4 * kTile);
  static constexpr int kMergeThreads = kParts * kD / 4;
};

// What a row's keys so far, or some of them, give in four columns: the largest score (base 2), the sum of the weights
// exp2(score - m), and the sum of the values with these weights.
struct Partial {
  float m = kNothing, l = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};
};

// `one`, as if it had seen the keys of `other` too.
__device__ void merge(Partial& one, const Partial& other) {
  const float m = fmaxf(one.m, other.m);
  const float origin = m == kNothing ? 0.0f : m;  // no key in either: -inf - -inf would be NaN
  const float keep = exp2f(one.m - origin), add = exp2f(other.m - origin);
  one.m = m;
  one.l = keep * one.l + add * other.l;
  one.acc.x = keep * one.acc.x + add * other.acc.x;
  one.acc.y = keep * one.acc.y + add * other.acc.y;
  one.acc.z = keep * one.acc.z + add * other.acc.z;
  one.acc.w = keep * one.acc.w + add * other.acc.w;
}

// The rows that share the keys of one kv head: query l, head g of the group is row l * group + g.
struct Rows {
  int group = 1, count = 0;
  int tiles = 0;  // of kRows
};

template <typename Element>
__device__ std::int64_t query_of(const BasicPagedAttentionArgs<Element>& args, const Rows& rows,
                                 std::int64_t b, std::int64_t h, int row) {
  return (b * args.T_q + row / rows.group) * args.H_q + h * rows.group + row % rows.group;
}

// The answer, four columns of it.
template <typename Args>
__device__ void finish(const Args& args, const Rows& rows, std::int64_t b, std::int64_t h, int row,
                       int column, const Partial& p) {
  const std::int64_t D_v = value_channels(args);
  if (column >= D_v) return;
  const float share = p.l > 0.0f ? 1.0f / p.l : 0.0f;
  auto* const o = args.o + query_of(args, rows, b, h, row) * D_v + column;
  ladder::cuda::store(o, p.acc.x * share);
  ladder::cuda::store(o + 1, p.acc.y * share);
  ladder::cuda::store(o + 2, p.acc.z * share);
  ladder::cuda::store(o + 3, p.acc.w * share);
  if (column == 0) {
    const std::int64_t head = h * rows.group + row % rows.group;
    args.lse[(b * args.H_q + head) * args.T_q + row / rows.group] =
        p.l > 0.0f ? p.m * ladder::cuda::kLn2 + logf(p.l) : kNothing;
  }
}

// What the splits leave for `merge_splits`. Null if there is only one.
struct Partials {
  float4* acc = nullptr;         // (B, H_kv, rows, splits, kD / 4)
  float2* statistics = nullptr;  // (B, H_kv, rows, splits), m and l
};

// kBent: with a window, a softcap, a scale of 0 or a D_v unlike D. Who asks for none of them has a kernel without them.
template <typename Element, bool kBent>
using ArgsOf =
    std::conditional_t<kBent, FullPagedAttentionArgs<Element>, BasicPagedAttentionArgs<Element>>;

// One block: one split of the keys of one kv head, one tile of rows. A warp takes every kWarps-th stage of keys and never waits for
// another before the end.
template <typename Element, int kD, bool kBent>
__global__ void __launch_bounds__(Cut<kD>::kThreads)
    attend(const ArgsOf<Element, kBent> args, const Rows rows, const Partials partials) {
  using C = Cut<kD>;
  constexpr int kWarps = C::kWarps, kScores = C::kKeys / 8;
  constexpr int kUnits = kD / kUnit, kBlocks = kD / 16;
  constexpr int kCopies = C::kKeys * kUnits / kWarpSize;
  extern __shared__ uint4 smem[];  // (kWarps, kStages, k and v, kKeys, kD)
  __shared__ float2 statistics_smem[kWarps][kRows];

  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  // Tiles and heads change fastest: blocks that read the same or neighbouring bytes run together.
  const std::int64_t h = blockIdx.x / rows.tiles, b = blockIdx.z;
  const int split = static_cast<int>(blockIdx.y), splits = static_cast<int>(gridDim.y);
  const int first_row = static_cast<int>(blockIdx.x % rows.tiles) * kRows;
  const int rows_here = min(rows.count - first_row, kRows);
  std::conditional_t<kBent, WindowedSequence, Sequence> sequence;
  sequence.queries = args.T_q, sequence.causal = args.causal;
  sequence.keys = clamped(args.key_lengths[b], 0, args.max_pages * args.page_keys);
  if constexpr (kBent) sequence.window = args.window > 0 ? args.window : sequence.keys;

  const int last_row = first_row + rows_here - 1;
  const std::int64_t seen_by_first = sequence.keys_seen(first_row / rows.group);
  const std::int64_t seen_by_last = sequence.keys_seen(last_row / rows.group);
  // In front of the windows no key is read, and none counts for the splits.
  const std::int64_t hidden_from_first = sequence.first_key_seen(first_row / rows.group);
  const std::int64_t hidden_from_last = sequence.first_key_seen(last_row / rows.group);
  const std::int64_t begin = hidden_from_first / C::kKeys * C::kKeys;
  const std::int64_t keys = (kBent ? seen_by_last : sequence.keys) - begin;
  // The split's keys: first to end - 1.
  std::int64_t first = 0, end = 0;  // until hole 1 is filled
  // TODO(1): roughly 4 lines; the keys of split `split`, first .. end - 1, of the `keys` keys from `begin` on: all splits have as many whole
  // TODO(1): stages of C::kKeys keys, but the last ones, and no key is taken that no row sees; budget: no access to memory.

  Element* const tiles = reinterpret_cast<Element*>(smem) + warp * C::kStages * 2 * C::kTile;
  const std::int64_t D_v = value_channels(args);
  const std::int64_t stride = args.H_kv * args.D, stride_v = args.H_kv * D_v;
  const Element* const k = args.k + h * args.D;
  const Element* const v = args.v + h * D_v;
  // The pages of a stage. They are looked up one stage before its copies are issued, so that no thread waits for the table.
  constexpr int kGroups = C::kKeys / kGroup, kStep = kWarps * C::kKeys;
  const int shift = __ffs(static_cast<int>(args.page_keys)) - 1;  // a page has 2^shift keys
  const auto look_up = [&](std::int64_t t, int(&pages)[kGroups]) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group, t += kGroup) {
      // TODO(2): roughly 1 line; the entry of batch b's table for the page that holds key t, where t is one of the split's keys;
      // TODO(2): budget: one load for 16 keys.
    }
  };
  const auto fetch = [&](int stage, std::int64_t t, const int(&pages)[kGroups]) {
    Element* const tile = tiles + stage * 2 * C::kTile;
    if (t < end) {
      std::int64_t first_rows[kGroups] = {};  // of all pages' rows, where each group begins
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        // TODO(2): roughly 2 lines; first_rows[group]: counted over all pages, the row of key t + group * kGroup. An entry that is no
        // TODO(2): page's number must not lead out of k and v.
      }
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int unit = (i * kWarpSize + lane) % kUnits, row = (i * kWarpSize + lane) / kUnits;
        const int group = i * kWarpSize / kUnits / kGroup;  // of any lane's row
        const int within = row - group * kGroup;
        const std::int64_t from =
            row_offset<kBent>(first_rows[group], within, stride) + unit * kUnit;
        const std::int64_t from_v =
            row_offset<kBent>(first_rows[group], within, stride_v) + unit * kUnit;
        const bool is_hidden = kBent && t + row < hidden_from_first;
        const bool there = !is_hidden && t + row < end;
        // Not NaN, which 0 times would remain.
        const int zeros = there && unit * kUnit < args.D ? 0 : 16;
        const int zeros_v = there && unit * kUnit < D_v ? 0 : 16;
        Element* const to = tile + Tile<Element, kD>::place(row, unit * kUnit);
        __pipeline_memcpy_async(to, k + from, 16, zeros);
        __pipeline_memcpy_async(to + C::kTile, v + from_v, 16, zeros_v);
      }
    }
    __pipeline_commit();  // a group for every stage, so that they can be counted
  };

  // The first stages' pages all at once: the warp waits for them together.
  std::int64_t ahead = first + warp * C::kKeys;
  int first_pages[C::kStages][kGroups] = {};
#pragma unroll
  for (int stage = 0; stage < C::kStages; ++stage)
    look_up(ahead + stage * kStep, first_pages[stage]);
#pragma unroll
  for (int stage = 0; stage < C::kStages - 1; ++stage, ahead += kStep)
    fetch(stage, ahead, first_pages[stage]);
  auto& pages = first_pages[C::kStages - 1];

  // The lane has two rows of every product.
  std::uint32_t q_reg[kBlocks][4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    const bool there = row < rows_here;
    const int channels = there ? static_cast<int>(args.D) : 0;
    const std::int64_t query = query_of(args, rows, b, h, first_row + (there ? row : 0));
    const auto* const q =
        reinterpret_cast<const std::uint32_t*>(args.q + query * args.D) + lane % 4;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      q_reg[block][i] = block * 16 < channels ? q[block * 8] : 0u;
      q_reg[block][i + 2] = block * 16 + 8 < channels ? q[block * 8 + 4] : 0u;
    }
  }
  // Not in the loop above, which would be compiled twice: causal or not.
  std::int64_t seen[2], hidden[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    const std::int64_t query = (first_row + (row < rows_here ? row : 0)) / rows.group;
    seen[i] = sequence.keys_seen(query), hidden[i] = sequence.first_key_seen(query);
  }
  // A negative scale is that of -q, so that the largest score remains the largest. All of q is loaded first: a sign flipped beside its
  // load waits for it, and so does the next load.
  const std::uint32_t sign = args.scale < 0.0f ? 0x80008000u : 0u;
#pragma unroll
  for (int i = 0; i < 4 * kBlocks; ++i)
    q_reg[i / 4][i % 4] ^= sign;

  // Bent scores are scaled already: 0 times a masked one is no number.
  const float scale = fabsf(args.scale), to_base_2 = (kBent ? 1.0f : scale) * ladder::cuda::kLog2e;
  float m[2] = {kNothing, kNothing}, l[2] = {};  // l: of the lane's own columns
  float acc[2 * kBlocks][4] = {};
  int now = 0, next = C::kStages - 1;
  for (std::int64_t t = first + warp * C::kKeys; t < end; t += kStep, ahead += kStep) {
    __pipeline_wait_prior(C::kStages - 2);
    __syncwarp();  // all lanes' copies are here, and nobody still reads what is overwritten next
    fetch(next, ahead, pages);
    look_up(ahead + kStep, pages);
    next = next + 1 < C::kStages ? next + 1 : 0;
    const Element* const k_smem = tiles + now * 2 * C::kTile;
    const Element* const v_smem = k_smem + C::kTile;
    now = now + 1 < C::kStages ? now + 1 : 0;

    float scores[kScores][4] = {};
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int j = 0; j < kScores; j += 2) {
        std::uint32_t r[4];
        const unsigned row = j * 8 + lane / 16 * 8 + lane % 8;
        ladder::cuda::load_matrices(
            r, k_smem + Tile<Element, kD>::place(row, block * 16 + lane / 8 % 2 * kUnit));
        ladder::cuda::mma<Element>(scores[j], q_reg[block], {r[0], r[1]});
        ladder::cuda::mma<Element>(scores[j + 1], q_reg[block], {r[2], r[3]});
      }
    }

    if constexpr (kBent) {
      const Softcap softcap(args.softcap);
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          scores[j][e] = softcap.bent(scale * scores[j][e]);
      }
    }
    if (t + C::kKeys > seen_by_first || (kBent && t < hidden_from_last)) {
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const std::int64_t key = t + j * 8 + lane % 4 * 2 + e % 2;
          if (key >= seen[e / 2] || (kBent && key < hidden[e / 2])) scores[j][e] = kNothing;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float largest = kNothing;
#pragma unroll
      for (int j = 0; j < kScores; ++j)
        largest = fmaxf(largest, fmaxf(scores[j][2 * i], scores[j][2 * i + 1]));
      const float before = m[i];
      m[i] = fmaxf(before, quad_max(largest) * to_base_2);
      const float origin = m[i] == kNothing ? 0.0f : m[i];  // no key yet: -inf - -inf is NaN
      const float keep = exp2f(before - origin);
      l[i] *= keep;
#pragma unroll
      for (int c = 0; c < 2 * kBlocks; ++c)
        acc[c][2 * i] *= keep, acc[c][2 * i + 1] *= keep;
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
#pragma unroll
        for (int e = 2 * i; e < 2 * i + 2; ++e) {
          scores[j][e] = exp2f(scores[j][e] * to_base_2 - origin);
          l[i] += scores[j][e];
        }
      }
    }

#pragma unroll
    for (int j = 0; j < kScores; j += 2) {
      const FragmentA<Element> p = as_a<Element>(scores[j], scores[j + 1]);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        std::uint32_t r[4];
        const unsigned row = j * 8 + lane % 16;
        ladder::cuda::load_matrices_transposed(
            r, v_smem + Tile<Element, kD>::place(row, block * 16 + lane / 16 * kUnit));
        ladder::cuda::mma<Element>(acc[2 * block], p.x, {r[0], r[1]});
        ladder::cuda::mma<Element>(acc[2 * block + 1], p.x, {r[2], r[3]});
      }
    }
  }

  // The warps' results through shared memory, in rows a little apart.
  constexpr int kAccStride = kD + 8;
  static_assert(kRows * kAccStride <= C::kStages * C::kTile);
  __syncwarp();  // nobody reads this warp's stages any more
  float* const acc_smem = reinterpret_cast<float*>(tiles);  // (kRows, kAccStride)
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    l[i] = quad_sum(l[i]);
    if (lane % 4 == 0) statistics_smem[warp][row] = make_float2(m[i], l[i]);
#pragma unroll
    for (int c = 0; c < 2 * kBlocks; ++c)
      *reinterpret_cast<float2*>(acc_smem + row * kAccStride + c * 8 + lane % 4 * 2) =
          make_float2(acc[c][2 * i], acc[c][2 * i + 1]);
  }
  __syncthreads();  // all warps' results are here

  for (int i = threadIdx.x; i < rows_here * (kD / 4); i += C::kThreads) {
    const int row = i / (kD / 4), column = i % (kD / 4);
    Partial all;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float* const other =
          reinterpret_cast<const float*>(smem) + w * C::kStages * C::kTile + row * kAccStride;
      const float2 statistics = statistics_smem[w][row];
      merge(all,
            {statistics.x, statistics.y, *reinterpret_cast<const float4*>(other + column * 4)});
    }
    if (partials.acc == nullptr) {
      finish(args, rows, b, h, first_row + row, column * 4, all);
      continue;
    }
    const std::int64_t to = ((b * args.H_kv + h) * rows.count + first_row + row) * splits + split;
    partials.acc[to * (kD / 4) + column] = all.acc;
    if (column == 0) partials.statistics[to] = make_float2(all.m, all.l);
  }
}

// One block: one row. Its threads take the splits in turns, and then merge among themselves.
template <typename Element, int kD>
__global__ void __launch_bounds__(Cut<kD>::kMergeThreads)
    merge_splits(const BasicPagedAttentionArgs<Element> args, const Rows rows, const int splits,
                 const Partials partials) {
  constexpr int kColumns = kD / 4;
  __shared__ float4 acc_smem[kParts][kColumns];
  __shared__ float2 statistics_smem[kParts];
  const int part = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
  const int row = static_cast<int>(blockIdx.x);
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const std::int64_t first = ((b * args.H_kv + h) * rows.count + row) * splits;

  Partial mine;
#pragma unroll 8
  for (int split = part; split < splits; split += kParts) {
    const float2 statistics = partials.statistics[first + split];
    merge(mine, {statistics.x, statistics.y, partials.acc[(first + split) * kColumns + column]});
  }
  acc_smem[part][column] = mine.acc;
  if (column == 0) statistics_smem[part] = make_float2(mine.m, mine.l);
  __syncthreads();  // all parts are here
  if (part > 0) return;
#pragma unroll
  for (int other = 1; other < kParts; ++other)
    merge(mine, {statistics_smem[other].x, statistics_smem[other].y, acc_smem[other][column]});
  finish(args, rows, b, h, row, column * 4, mine);
}

template <typename Element, int kD, bool kBent>
void launch_as(const FullPagedAttentionArgs<Element>& args, std::int64_t splits) {
  const std::int64_t group = args.H_q / args.H_kv, count = args.T_q * group;
  ladder::require(count <= kMaxRows, "T_q * H_q / H_kv is " + std::to_string(count) +
                                         "; attention_paged allows up to " +
                                         std::to_string(kMaxRows));
  ladder::require(args.B <= kMaxHeads && args.H_kv <= kMaxHeads,
                  "B is " + std::to_string(args.B) + " and H_kv " + std::to_string(args.H_kv) +
                      "; attention_paged allows up to " + std::to_string(kMaxHeads));
  const std::int64_t tiles = (count + kRows - 1) / kRows;
  const Rows rows{static_cast<int>(group), static_cast<int>(count), static_cast<int>(tiles)};
  using C = Cut<kD>;
  const auto kernel = attend<Element, kD, kBent>;
  ladder::cuda::allow_shared_memory("attention_paged", kernel, C::kBytes);
  if (splits == 0) {
    Places places{.multiprocessors = ladder::cuda::multiprocessor_count()};
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&places.blocks_each, kernel,
                                                             C::kThreads, C::kBytes));
    const bool one_is_enough = tiles == 1 && C::kWarps == 4;
    std::int64_t keys = args.max_pages * args.page_keys;
    if (args.window > 0 && args.window < keys)  // a tile's windows together
      keys = std::min(keys, args.window + std::min<std::int64_t>(args.T_q, kRows) - 1);
    splits = split_plan(keys, (args.D + args.D_v) / 2, args.B * args.H_kv * tiles,
                        one_is_enough ? places : places.as_one_round());
  }

  const std::int64_t kept = splits > 1 ? args.B * args.H_kv * count * splits : 0;
  const ladder::cuda::Scratch<float4> acc(kept * (kD / 4));
  const ladder::cuda::Scratch<float2> statistics(kept);
  const Partials partials{acc.pointer(), statistics.pointer()};
  const auto H_kv = static_cast<unsigned>(args.H_kv), B = static_cast<unsigned>(args.B);
  const dim3 grid(static_cast<unsigned>(rows.tiles) * H_kv, static_cast<unsigned>(splits), B);
  kernel<<<grid, C::kThreads, C::kBytes, ladder::cuda::stream()>>>(args, rows, partials);
  CUDA_CHECK(cudaGetLastError());
  if (splits == 1) return;
  const dim3 merge_grid(static_cast<unsigned>(rows.count), H_kv, B);
  BasicPagedAttentionArgs<Element> of_o = args;
  of_o.D = args.D_v;  // it touches neither q nor k
  merge_splits<Element, kD><<<merge_grid, C::kMergeThreads, 0, ladder::cuda::stream()>>>(
      of_o, rows, static_cast<int>(splits), partials);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element, int kD>
void launch(const FullPagedAttentionArgs<Element>& args, std::int64_t splits) {
  const bool is_bent =
      args.window > 0 || args.softcap > 0.0f || args.scale == 0.0f || args.D_v != args.D;
  is_bent ? launch_as<Element, kD, true>(args, splits)
          : launch_as<Element, kD, false>(args, splits);
}

template <typename Element>
void run(const FullPagedAttentionArgs<Element>& given, std::int64_t splits) {
  const auto is = [](const char* name, std::int64_t value) {
    return std::string(name) + " is " + std::to_string(value) + "; ";
  };
  ladder::require_at_least("D_v", given.D_v, 0);
  const FullPagedAttentionArgs<Element> args = with_value_channels(given);
  ladder::validate_lists(args);
  ladder::require(
      args.H_q % args.H_kv == 0,
      is("H_q", args.H_q) + "allowed: a multiple of H_kv, which is " + std::to_string(args.H_kv));
  const auto require_finite = [](const char* name, float value) {
    ladder::require(std::isfinite(value), std::string(name) + " is " + std::to_string(value) +
                                              "; allowed: a finite number");
  };
  require_finite("scale", args.scale);
  require_finite("softcap", args.softcap);
  ladder::require(args.window >= 0, is("window", args.window) + "allowed: 0, no window, or more");
  require_units_of_all_channels(args);
  const std::int64_t page = args.page_keys;
  ladder::require(page >= kGroup && page <= kMaxPage && (page & (page - 1)) == 0,
                  is("page_keys", page) + "attention_paged allows powers of two from 16 to 65536");
  ladder::require(args.pages <= kMaxPages, is("pages", args.pages) + "allowed: what int32 counts");
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("k", args.k, 16);
  ladder::require_pointer("v", args.v, 16);
  ladder::require_pointer("q", args.q, 4);
  const std::int64_t columns = most_channels(args);
  if (columns <= 32) return launch<Element, 32>(args, splits);
  if (columns <= 64) return launch<Element, 64>(args, splits);
  if (columns <= 96) return launch<Element, 96>(args, splits);
  if (columns <= 128) return launch<Element, 128>(args, splits);
  launch<Element, 256>(args, splits);
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
