// 07 chunkwise: linear attention on tensor cores, the state on chip, in bf16 and in fp32.
// Change: rewrite: a warp walks the sequence 16 tokens at a time: o = q S + (q k^T . M) v, then S += k^T v, five products of blocks.
// Why:    a product of blocks does 4096 multiply-adds at once; q, k, v and o then move once, about as fast as a copy.
// Needs:  K up to 256, V up to 2^20; all options of linear attention; tensor cores (sm_80). 16-byte rows to be fast.
// Costs:  few heads: keys and values are read twice, by segments of time. In fp32 three products stand for one. A NaN in v_s reaches
//         its column of o in all of its 16 tokens, the earlier ones too: a masked score is 0, and 0 times NaN is NaN.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_chunkwise/linear_attention.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace chunkwise {
namespace {

using ladder::BasicLinearAttentionArgs;
using ladder::bfloat16;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

// Of fp32: the split that takes fewer instructions, whose number is the limit here.
constexpr Split kSplit = Split::kCheap;

constexpr int kBlock = 16;  // tokens, or channels, of a block of a product
constexpr int kWarps = 4;   // with value columns; another one has the normaliser's
constexpr int kColumns = kWarps * kBlock;
constexpr int kCopyThreads = kWarps * kWarpSize;

// A segment of time has at least so many stages: it begins with one trip to memory that nothing hides.
constexpr int kLeastStages = 4;

// What a block of threads holds: kRows rows of the state (K rounded up), and kStages stages of kTokens tokens, all but one of them
// on their way.
template <int kRows_, int kTokens_, int kStages_>
struct Cut {
  static constexpr int kRows = kRows_, kTokens = kTokens_, kStages = kStages_;
  template <typename Element>
  struct Stage {
    using Rows = Tile<Element, kRows>;
    using Columns = Tile<Element, kColumns>;
    static constexpr int kSize = kTokens * (2 * kRows + kColumns);
    Element* smem;
    __device__ Rows q() const { return {smem}; }
    __device__ Rows k() const { return {smem + kTokens * kRows}; }
    __device__ Columns v() const { return {smem + 2 * kTokens * kRows}; }
  };
  static constexpr int kMinBlocks = kRows <= 128 ? 2 : 1;
};

// How the host cuts the work.
struct Plan {
  Steps steps = {};
  std::int64_t segment_steps = 0;  // a multiple of a stage
  int segments = 1;
  int column_tiles = 1;
  bool wide_rows = false;  // whether q, k, v and o can be moved in 16-byte units
};

enum class Pass {
  kOutputs,
  kStates,  // only what each segment adds to the state
};

// phi of `rows` rows of `width` elements that have come to the tile; the zeros around them stay. Each thread maps what it has copied,
// so it sees its own copies without a barrier.
template <int kTokens, typename Tile>
__device__ void map_features(Tile tile, int rows, int width) {
  const Share<Tile, kTokens, kCopyThreads> share(threadIdx.x);
  share.template for_each<Unroll::kNone>(tile, [&](int n, int c, typename Tile::Element* unit) {
    const int exist = share.row + n < rows ? width - (share.column + c) : 0;
    for (int e = 0; e < Tile::kUnit && e < exist; ++e)
      ladder::cuda::store(unit + e, elu_plus_one(ladder::cuda::load(unit + e)));
  });
}

// Key s is seen by query l if s <= l.
__device__ void mask(Accumulator (&scores)[2], int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [l, s] = accumulator_place(lane, i);
      if (j * 8 + s > l) scores[j][i] = 0.0f;
    }
  }
}

// kPlain: identity as feature map, no normaliser, rows of 16-byte units.
// states: (B, H, column tiles, segments, warps, kRows / 16, 2, 32), as they lie in registers.
template <typename C, Pass kPass, bool kPlain, typename Element>
__global__ void __launch_bounds__((kWarps + !kPlain) * kWarpSize, C::kMinBlocks)
    walk(const BasicLinearAttentionArgs<Element> args, const Plan plan, float4* states) {
  constexpr int kBlocks = C::kRows / kBlock, kUnits = C::kTokens / kBlock;
  constexpr int kAhead = (C::kStages - 1) * C::kTokens;
  using Stage = typename C::template Stage<Element>;
  using Outputs = typename Stage::Columns;
  constexpr int kOutputsSize = C::kTokens * kColumns;
  // (kStages, Stage::kSize), then two stages' outputs, then the denominators (kTokens)
  extern __shared__ uint4 smem[];
  Element* const outputs_smem = reinterpret_cast<Element*>(smem) + C::kStages * Stage::kSize;
  float* const denominator_smem = reinterpret_cast<float*>(outputs_smem + 2 * kOutputsSize);

  const int lane = threadIdx.x % kWarpSize;
  const int warp = threadIdx.x / kWarpSize, column = warp * kBlock;
  const bool copies = threadIdx.x < kCopyThreads;
  const bool normalises = !kPlain && warp == kWarps;
  const int segment = static_cast<int>(blockIdx.x) % plan.segments;
  const int column_tile = static_cast<int>(blockIdx.x) / plan.segments;
  const std::int64_t h = blockIdx.y, b = blockIdx.z;
  const std::int64_t first_column = static_cast<std::int64_t>(column_tile) * kColumns;
  const int columns = rows_from(first_column, args.V, kColumns), K = static_cast<int>(args.K);
  const std::int64_t stride_K = args.H * args.K, stride_V = args.H * args.V;
  const Element* const q = args.q + (b * args.T_q * args.H + h) * args.K;
  const Element* const k = args.k + (b * args.T_k * args.H + h) * args.K;
  const Element* const v = args.v + (b * args.T_k * args.H + h) * args.V + first_column;
  Element* const o = args.o + (b * args.T_q * args.H + h) * args.V + first_column;
  const bool wide = kPlain || plan.wide_rows;

  const std::int64_t keys = keys_of(args, b);
  const std::int64_t first = segment * plan.segment_steps;
  std::int64_t end = first + plan.segment_steps;
  const std::int64_t last = kPass == Pass::kStates ? keys : plan.steps.count;
  if (end > last) end = last;

  const auto stage_at = [&](int place) {
    return Stage{reinterpret_cast<Element*>(smem) + place * Stage::kSize};
  };
  const auto copy = [&](auto tile, const Element* x, std::int64_t stride, int rows, int width) {
    copy_rows_async<C::kTokens, kCopyThreads>(tile, x, stride, rows, width, wide, threadIdx.x);
  };
  const auto fetch = [&](int place, std::int64_t t) {
    const Stage tile = stage_at(place);
    if (t < end && copies) {
      const int key_rows = rows_from(t, keys, C::kTokens);
      copy(tile.k(), k + t * stride_K, stride_K, key_rows, K);
      copy(tile.v(), v + t * stride_V, stride_V, key_rows, columns);
      if constexpr (kPass == Pass::kOutputs) {
        const std::int64_t l = t - plan.steps.first_query;
        copy(tile.q(), q + l * stride_K, stride_K, rows_from(l, args.T_q, C::kTokens), K);
      }
    }
    __pipeline_commit();  // a group for every stage, so that they can be counted
  };

  const auto outputs_at = [&](int place) { return Outputs{outputs_smem + place * kOutputsSize}; };
  const auto send_outputs = [&](int place, std::int64_t l) {
    if (!copies) return;
    write_rows<C::kTokens, kCopyThreads>(o + l * stride_V, outputs_at(place), stride_V,
                                         rows_from(l, args.T_q, C::kTokens), columns, wide,
                                         threadIdx.x);
  };

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  const auto state_of = [&](int s) {
    const std::int64_t block =
        ((b * args.H + h) * plan.column_tiles + column_tile) * plan.segments + s;
    return states + (block * (kWarps + !kPlain) + warp) * kBlocks * 2 * kWarpSize + lane;
  };
  if constexpr (kPass == Pass::kOutputs) {
    for (int s = 0; s < segment; ++s) {
#pragma unroll
      for (int i = 0; i < 2 * kBlocks; ++i) {
        const float4 x = state_of(s)[i * kWarpSize];
        float* const d = state[i / 2][i % 2];
        d[0] += x.x, d[1] += x.y, d[2] += x.z, d[3] += x.w;
      }
    }
  }

  // The normaliser is one more value column, of ones.
  Accumulator one[2] = {};
  if (lane < 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      one[i / 2][i % 2] = 1.0f;
  }
  const auto ones = as_a<Element>(one[0], one[1]);

  int now = 0, next = 0, odd = 0;
  // From some stages before the first on, so that the code that copies is there once.
  for (std::int64_t t0 = first - kAhead; t0 < end; t0 += C::kTokens) {
    const Stage tile = stage_at(now);
    const std::int64_t l0 = t0 - plan.steps.first_query;
    const int queries = rows_from(l0, args.T_q, C::kTokens);
    if (t0 >= first) {
      __pipeline_wait_prior(C::kStages - 2);
      if (!kPlain && copies && args.feature_map != ladder::FeatureMap::kIdentity) {
        map_features<C::kTokens>(tile.k(), rows_from(t0, keys, C::kTokens), K);
        if constexpr (kPass == Pass::kOutputs) map_features<C::kTokens>(tile.q(), queries, K);
      }
      __syncthreads();  // everybody's copies are here, and nobody still reads what is overwritten next
    }
    fetch(next, t0 + kAhead);
    next = next + 1 < C::kStages ? next + 1 : 0;
    if (t0 < first) continue;
    if (kPass == Pass::kOutputs && t0 > first) send_outputs(odd ^ 1, l0 - C::kTokens);
    now = now + 1 < C::kStages ? now + 1 : 0;

    // Scores are q k^T, with the channels as inner index; the state takes v^T k, with the tokens.
    const MkToA q_smem(tile.q(), 0, lane);
    const NkToB k_smem(tile.k(), 0, lane);
    const KnToB k_by_token_smem(tile.k(), 0, lane);
    const KmToA v_by_token_smem(tile.v(), 0, lane);
    // Until their denominators are known.
    [[maybe_unused]] Accumulator kept[kPlain ? 1 : kUnits][2];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      const int token = unit * kBlock;
      const auto v_reg = normalises ? ones : v_by_token_smem.load(token, column);
      Accumulator scores[2] = {}, out[2] = {};
      FragmentB<Element> b[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        if constexpr (kPass == Pass::kOutputs) {
          const auto q_reg = q_smem.load(token, c * kBlock);
          k_smem.load(b, token, c * kBlock);
          multiply<kSplit>(scores, q_reg, b);
          as_b(b, as_a<Element>(state[c][0], state[c][1]));
          multiply<kSplit>(out, q_reg, b);
        }
        k_by_token_smem.load(b, token, c * kBlock);
        multiply<kSplit>(state[c], v_reg, b);
      }
      if constexpr (kPass == Pass::kOutputs) {
        mask(scores, lane);
        as_b(b, v_reg);
        multiply<kSplit>(out, as_a<Element>(scores[0], scores[1]), b);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if constexpr (kPlain) {
            store_c(outputs_at(odd), token, column + half * 8, out[half], lane);
          } else {
#pragma unroll
            for (int i = 0; i < 4; ++i)
              kept[unit][half][i] = out[half][i];
          }
        }
      }
    }

    if constexpr (kPass == Pass::kOutputs && !kPlain) {
      const int row = lane / 4;
      if (normalises && lane % 4 == 0) {
#pragma unroll
        for (int unit = 0; unit < kUnits; ++unit) {
          denominator_smem[unit * kBlock + row] = kept[unit][0][0];
          denominator_smem[unit * kBlock + row + 8] = kept[unit][0][2];
        }
      }
      __syncthreads();  // the denominators are here
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        if (normalises) break;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float denominator = denominator_smem[unit * kBlock + row + i / 2 * 8] + args.eps;
          const float factor = args.normalize ? 1.0f / denominator : 1.0f;
          kept[unit][0][i] *= factor, kept[unit][1][i] *= factor;
        }
#pragma unroll
        for (int half = 0; half < 2; ++half)
          store_c(outputs_at(odd), unit * kBlock, column + half * 8, kept[unit][half], lane);
      }
    }
    odd ^= 1;
  }

  if constexpr (kPass == Pass::kOutputs) {
    __syncthreads();  // the last outputs are here
    const std::int64_t stages = (end - first + C::kTokens - 1) / C::kTokens;
    if (stages > 0)
      send_outputs(odd ^ 1, first + (stages - 1) * C::kTokens - plan.steps.first_query);
  }
  if constexpr (kPass == Pass::kStates) {
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const float* const d = state[i / 2][i % 2];
      state_of(segment)[i * kWarpSize] = make_float4(d[0], d[1], d[2], d[3]);
    }
  }
}

template <typename C, Pass kPass, bool kPlain, typename Element>
void launch_pass(const BasicLinearAttentionArgs<Element>& args, const Plan& plan, float4* states) {
  using Stage = typename C::template Stage<Element>;
  constexpr int kBytes = (C::kStages * Stage::kSize + 2 * C::kTokens * kColumns) * sizeof(Element) +
                         C::kTokens * sizeof(float);
  const auto kernel = walk<C, kPass, kPlain, Element>;
  ladder::cuda::allow_shared_memory("linear_attention_chunkwise", kernel, kBytes);
  const dim3 grid(static_cast<unsigned>(plan.column_tiles * plan.segments),
                  static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  kernel<<<grid, (kWarps + !kPlain) * kWarpSize, kBytes, ladder::cuda::stream()>>>(args, plan,
                                                                                   states);
  CUDA_CHECK(cudaGetLastError());
}

template <typename C, bool kPlain, typename Element>
void launch(const BasicLinearAttentionArgs<Element>& args, const Plan& plan) {
  const std::int64_t blocks = args.B * args.H * plan.column_tiles * plan.segments;
  const std::int64_t elements = blocks * (kWarps + !kPlain) * kBlock * C::kRows;
  const ladder::cuda::Scratch<float4> states(plan.segments > 1 ? elements / 4 : 0);
  if (plan.segments > 1) launch_pass<C, Pass::kStates, kPlain>(args, plan, states.pointer());
  launch_pass<C, Pass::kOutputs, kPlain>(args, plan, states.pointer());
}

template <typename C, typename Element>
void launch(const BasicLinearAttentionArgs<Element>& args) {
  constexpr std::int64_t kUnit = 16 / sizeof(Element);
  Plan plan;
  plan.steps = steps_of(args, C::kTokens);
  plan.column_tiles = static_cast<int>((args.V + kColumns - 1) / kColumns);
  plan.wide_rows = args.K % kUnit == 0 && args.V % kUnit == 0;
  for (const void* pointer : {static_cast<const void*>(args.q), static_cast<const void*>(args.k),
                              static_cast<const void*>(args.v), static_cast<const void*>(args.o)})
    plan.wide_rows &= reinterpret_cast<std::uintptr_t>(pointer) % sizeof(uint4) == 0;

  const std::int64_t stages = (plan.steps.count + C::kTokens - 1) / C::kTokens;
  const std::int64_t blocks = args.B * args.H * plan.column_tiles;
  const std::int64_t places = 2 * ladder::cuda::multiprocessors_to_fill();
  const std::int64_t segments =
      std::max(std::int64_t{1}, std::min(places / blocks, stages / kLeastStages));
  const std::int64_t segment_stages = (stages + segments - 1) / segments;
  plan.segment_steps = segment_stages * C::kTokens;
  plan.segments = static_cast<int>((stages + segment_stages - 1) / segment_stages);

  const bool identity = args.feature_map == ladder::FeatureMap::kIdentity;
  const bool plain = identity && !args.normalize && plan.wide_rows;
  plain ? launch<C, true>(args, plan) : launch<C, false>(args, plan);
}

template <typename Element>
void linear_attention(const BasicLinearAttentionArgs<Element>& args) {
  require_shape(args);
  if (args.B == 0 || args.T_q == 0) return;
  constexpr bool kHalf = sizeof(Element) == 2;
  if (args.K <= 64) return launch<Cut<64, kHalf ? 64 : 32, 2>>(args);
  if (args.K <= 128) return launch<Cut<128, kHalf ? 64 : 16, kHalf ? 2 : 3>>(args);
  launch<Cut<256, kHalf ? 32 : 16, 2>>(args);
}

const ladder::Registration registration{{.name = "linear_attention_chunkwise",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<ladder::LinearAttention>(
                                             linear_attention<float>, linear_attention<bfloat16>)}};

}  // namespace
}  // namespace chunkwise
