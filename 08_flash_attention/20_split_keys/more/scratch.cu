// 08 flash attention, decoding: few queries against a long cache; the keys are split over blocks. bf16 and fp16.
// Change: rewrite: a block takes some of the keys, and all query heads that share them; a second kernel merges what the blocks found.
// Why:    one query per head leaves most of the GPU idle when a block takes all keys, and here only memory should be the limit.
// Needs:  D and D_v multiples of 8 up to 256, any T_q and T_k, all options, any scale, window and softcap. Tensor cores (sm_80).
// Costs:  a tile of 16 rows is mostly padding; partial results of every split go to memory and back.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "08_flash_attention/20_split_keys/split_keys.hpp"
#include "08_flash_attention/all_options.hpp"
#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "08_flash_attention/softcap.hpp"
#include "08_flash_attention/split_plan.hpp"
#include "common/core/errors.hpp"
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

namespace flash_attention::split_keys {

using ladder::BasicAttentionArgs;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

namespace {

constexpr int kRows = 16;  // of a tile of queries, as tensor cores take them
constexpr int kUnit = 8;   // elements of a 16-byte copy
constexpr int kParts = 8;  // threads of `merge_splits` that share a column
// So that a grid's blocks can be counted.
constexpr std::int64_t kMaxRows = 1 << 18, kMaxHeads = 65535, kMaxSequences = kMaxRows / kRows;
constexpr float kNothing = -std::numeric_limits<float>::infinity();
// The largest score of a row that no packed sequence has: a NaN, which no score's maximum is.
constexpr std::uint32_t kNobody = 0xffffffffu;

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
  // TODO(1): roughly 9 lines; what both have seen, relative to the larger m: each side is scaled by exp2(its m - that m), also where a side (or
  // TODO(1): both) has seen no key and its m is -inf, and so that a NaN in l or acc stays one; budget: two exponentials, no access to memory
}

// The rows that share the keys of one kv head: query l, head g of the group is row l * group + g. Packed sequences lie in one batch,
// and their rows one behind the other.
struct Rows {
  int group = 1, count = 0;
  int tiles = 0;  // of kRows; of packed sequences, slots
};

template <typename Element>
__device__ std::int64_t query_of(const BasicAttentionArgs<Element>& args, const Rows& rows,
                                 std::int64_t b, std::int64_t h, int row) {
  return (b * args.T_q + row / rows.group) * args.H_q + h * rows.group + row % rows.group;
}

// The answer, four columns of it.
template <typename Args>
__device__ void finish(const Args& args, const Rows& rows, std::int64_t b, std::int64_t h, int row,
                       int column, const Partial& p) {
  const std::int64_t D_v = value_channels(args);
  if (column >= D_v) return;
  // TODO(1): roughly 11 lines; the four columns of acc times 1 / l, or zeros where no key was seen, to the row of o that query_of() names. The
  // TODO(1): thread of column 0 stores the row's lse, -inf where no key was seen. budget: one store of each element
}

// What the splits leave for `merge_splits`. Null if there is only one.
struct Partials {
  float4* acc = nullptr;         // (B, H_kv, rows, splits, kD / 4)
  float2* statistics = nullptr;  // (B, H_kv, rows, splits), m and l
};

// kBent: with a window, a softcap, a scale of 0 or a D_v unlike D. Who asks for none of them has a kernel without them.
template <typename Element, bool kBent>
using ArgsOf =
    std::conditional_t<kBent, ladder::FullAttentionArgs<Element>, BasicAttentionArgs<Element>>;

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
  std::int64_t tile = blockIdx.x % rows.tiles, n = b;
  if (args.cu_seqlens_q != nullptr) {
    n = sequence_of_slot<kRows, 0>(args.T_q, args.cu_seqlens_q, args.sequences, tile, rows.group);
    tile -= first_slot<kRows>(args.T_q, args.cu_seqlens_q, n, rows.group);
  }
  const auto sequence = sequence_of(args, n);            // kBent: with its window
  const int first_row = static_cast<int>(tile) * kRows;  // of the sequence's
  const int rows_here = min(static_cast<int>(sequence.queries) * rows.group - first_row, kRows);
  if (rows_here <= 0) return;  // a slot without a tile
  const int first_of_all = args.cu_seqlens_q == nullptr
                               ? first_row
                               : static_cast<int>(sequence.first_query) * rows.group + first_row;

  // In front of the windows no key is read, and none counts for the splits.
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
    // TODO(2): roughly 16 lines; if the split has keys from t on: ask for the stage's tiles of k and v, `tile` and C::kTile elements behind it.
    // TODO(2): Lane by lane units of neighbouring rows, which begin `stride` elements apart, those of v `stride_v`; zeros where a unit belongs to no
    // TODO(2): channel, of which v has D_v, to no key below `end`, or, if kBent, to a key in front of `hidden_from_first`. budget: one copy of 16
    // TODO(2): bytes for each unit
    __pipeline_commit();  // a group for every stage, so that they can be counted
  };

  constexpr int kStep = kWarps * C::kKeys;
  std::int64_t ahead = first + warp * C::kKeys;
  // TODO(2): roughly 3 lines; ask for the warp's first C::kStages - 1 stages, of which each begins kStep keys behind the one before; `ahead` is the
  // TODO(2): first that was not asked for. budget: each unit once, and no wait

  // The lane has two rows of every product.
  std::uint32_t q_reg[kBlocks][4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = lane / 4 + 8 * i;
    const bool there = row < rows_here;
    const int channels = there ? static_cast<int>(args.D) : 0;
    const std::int64_t query = query_of(args, rows, b, h, first_of_all + (there ? row : 0));
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
    // TODO(2): roughly 4 lines; this warp's stage `now` is here, for all lanes; ask for the stage at `ahead`, whose place is `next`; then `next`
    // TODO(2): goes on by one place, modulo C::kStages. budget: no barrier of the block
    const Element* const k_smem = tiles + now * 2 * C::kTile;
    const Element* const v_smem = k_smem + C::kTile;
    now = now + 1 < C::kStages ? now + 1 : 0;

    float scores[kScores][4] = {};
    // TODO(3): roughly 12 lines; scores += the blocks of q_reg times the keys of the stage. One load of matrices brings 16 keys of 16 channels: two
    // TODO(3): B, for scores[j] and scores[j + 1]. budget: each block of K is loaded once

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
    // TODO(4): roughly 36 lines; for each of the lane's two rows: m becomes the largest score so far, in base 2, of all lanes of the row; l and the
    // TODO(4): row's acc become relative to it; each score becomes its weight, which is added to l. Then acc += the weights, as an A, times the
    // TODO(4): values of the stage: one load of matrices brings 16 keys of 16 columns, two B for acc[2 * block] and the next one. budget: one
    // TODO(4): exponential more than there are scores, for each row; each block of V is loaded once
  }

  // The warps' results through shared memory, in rows a little apart.
  constexpr int kAccStride = kD + 8;
  static_assert(kRows * kAccStride <= C::kStages * C::kTile);
  __syncwarp();  // nobody reads this warp's stages any more
  float* const acc_smem = reinterpret_cast<float*>(tiles);  // (kRows, kAccStride)
  // TODO(5): roughly 10 lines; the lane's two rows: l, added up over the lanes of the row, and m to statistics_smem, by one lane; acc to acc_smem,
  // TODO(5): in rows of kAccStride. budget: one store of a float2 for two columns
  __syncthreads();  // all warps' results are here

  // TODO(5): roughly 20 lines; for each row that is here, and each four columns: merge what all warps have. If there is one split, that is the
  // TODO(5): answer; else acc goes to partials.acc, in the order that Partials names, and m and l of the row to partials.statistics. budget: one
  // TODO(5): store of each element
}

// One block: one row, unless no packed sequence has it. Its threads take the splits in turns, and then merge among themselves.
template <typename Element, int kD, bool kPacked>
__global__ void __launch_bounds__(Cut<kD>::kMergeThreads)
    merge_splits(const BasicAttentionArgs<Element> args, const Rows rows, const int splits,
                 const Partials partials) {
  constexpr int kColumns = kD / 4;
  __shared__ float4 acc_smem[kParts][kColumns];
  __shared__ float2 statistics_smem[kParts];
  const int part = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
  const int row = static_cast<int>(blockIdx.x);
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const std::int64_t first = ((b * args.H_kv + h) * rows.count + row) * splits;
  if (kPacked && __float_as_uint(partials.statistics[first].x) == kNobody) return;

  Partial mine;
  // TODO(5): roughly 13 lines; this thread merges every kParts-th split, from number `part` on; then the threads of part 0 merge what all parts
  // TODO(5): have of their columns, and store the answer. budget: one read of each partial result, one block-wide barrier
}

template <typename Element, int kD, bool kBent>
void launch_as(const ladder::FullAttentionArgs<Element>& args, std::int64_t splits) {
  const std::int64_t group = args.H_q / args.H_kv, count = args.T_q * group;
  const bool is_packed = args.cu_seqlens_q != nullptr;
  ladder::require(count <= kMaxRows, "T_q * H_q / H_kv is " + std::to_string(count) +
                                         "; attention_split_keys allows up to " +
                                         std::to_string(kMaxRows));
  ladder::require(args.B <= kMaxHeads && args.H_kv <= kMaxHeads,
                  "B is " + std::to_string(args.B) + " and H_kv " + std::to_string(args.H_kv) +
                      "; attention_split_keys allows up to " + std::to_string(kMaxHeads));
  ladder::require(args.sequences <= kMaxSequences,
                  "sequences is " + std::to_string(args.sequences) +
                      "; attention_split_keys allows up to " + std::to_string(kMaxSequences));
  const std::int64_t tiles =
      count_slots<kRows>(count, args.cu_seqlens_q, is_packed ? args.sequences : 1);
  const Rows rows{static_cast<int>(group), static_cast<int>(count), static_cast<int>(tiles)};
  using C = Cut<kD>;
  const auto kernel = attend<Element, kD, kBent>;
  ladder::cuda::allow_shared_memory("attention_split_keys", kernel, C::kBytes);
  if (splits == 0) {
    Places places{.multiprocessors = ladder::cuda::multiprocessor_count()};
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&places.blocks_each, kernel,
                                                             C::kThreads, C::kBytes));
    const bool one_is_enough = (tiles == 1 || is_packed) && C::kWarps == 4;
    // Only the device knows packed sequences' lengths: planned is for so many of the mean length.
    std::int64_t keys = is_packed ? (args.T_k + args.sequences - 1) / args.sequences : args.T_k;
    if (args.window > 0 && args.window < keys)  // a tile's windows together
      keys = std::min(keys, args.window + std::min<std::int64_t>(args.T_q, kRows) - 1);
    const std::int64_t busy =
        is_packed ? std::max(args.sequences, (count + kRows - 1) / kRows) : tiles;
    splits = split_plan(keys, (args.D + args.D_v) / 2, args.B * args.H_kv * busy,
                        one_is_enough ? places : places.as_one_round());
  }

  const std::int64_t kept = splits > 1 ? args.B * args.H_kv * count * splits : 0;
  const ladder::cuda::Scratch<float4> acc(kept * (kD / 4));
  const ladder::cuda::Scratch<float2> statistics(kept);
  const Partials partials{acc.pointer(), statistics.pointer()};
  if (is_packed && splits > 1) {
    CUDA_CHECK(
        cudaMemsetAsync(statistics.pointer(), 0xff, kept * sizeof(float2), ladder::cuda::stream()));
  }
  const auto H_kv = static_cast<unsigned>(args.H_kv), B = static_cast<unsigned>(args.B);
  const dim3 grid(static_cast<unsigned>(rows.tiles) * H_kv, static_cast<unsigned>(splits), B);
  kernel<<<grid, C::kThreads, C::kBytes, ladder::cuda::stream()>>>(args, rows, partials);
  CUDA_CHECK(cudaGetLastError());
  if (splits == 1) return;
  const dim3 merge_grid(static_cast<unsigned>(rows.count), H_kv, B);
  const auto merge = is_packed ? merge_splits<Element, kD, true> : merge_splits<Element, kD, false>;
  BasicAttentionArgs<Element> of_o = args;
  of_o.D = args.D_v;  // it touches neither q nor k
  merge<<<merge_grid, C::kMergeThreads, 0, ladder::cuda::stream()>>>(
      of_o, rows, static_cast<int>(splits), partials);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element, int kD>
void launch(const ladder::FullAttentionArgs<Element>& args, std::int64_t splits) {
  const bool is_bent =
      args.window > 0 || args.softcap > 0.0f || args.scale == 0.0f || args.D_v != args.D;
  if (!is_bent) return launch_as<Element, kD, false>(args, splits);
  ladder::require(args.T_k <= kMostRows,
                  "T_k is " + std::to_string(args.T_k) + "; attention_split_keys allows up to " +
                      std::to_string(kMostRows) +
                      " with a window, a softcap, a scale of 0 or a D_v unlike D");
  launch_as<Element, kD, true>(args, splits);
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
  const std::int64_t columns = most_channels(args);
  if (columns <= 32) return launch<Element, 32>(args, splits);
  if (columns <= 64) return launch<Element, 64>(args, splits);
  if (columns <= 96) return launch<Element, 96>(args, splits);
  if (columns <= 128) return launch<Element, 128>(args, splits);
  launch<Element, 256>(args, splits);
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
