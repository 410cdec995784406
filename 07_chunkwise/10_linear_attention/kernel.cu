// 07 chunkwise: linear attention on tensor cores, with the state on chip, in bf16, fp16 and fp32.
// Change: rewrite. A warp goes through the sequence 16 tokens at a time, with o = q S + (q k^T . M)
//         v and then S += k^T v, which are four products of blocks.
// Why:    a product of blocks does 4096 FMAs at once. q, k, v and o then move once, about as fast
//         as a copy.
// Needs:  K up to 256, V up to 2^20, all options of linear attention, tensor cores (sm_80). 16-byte
//         rows to be fast.
// Costs:  with few heads keys and values are read twice, by segments of time. In fp32 three
//         products replace one. A NaN in v_s reaches its column of o in all of its 16 tokens, also
//         the earlier ones, because a masked score is 0, and 0 times NaN is NaN. See README for
//         what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

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
using ladder::float16;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

// For fp32, the split with fewer instructions, because their number is the limit here.
constexpr Split kSplit = Split::kCheap;

constexpr int kBlock = 16;  // tokens, or channels, of a block of a product
constexpr int kWarps = 4;   // with value columns; one more has the normaliser's
constexpr int kColumns = kWarps * kBlock;
constexpr int kCopyThreads = kWarps * kWarpSize;

// The fewest stages of a segment, which begins with one memory latency that nothing hides.
constexpr int kLeastStages = 4;

// The sizes of a thread block: kRows rows of the state (K rounded up), and kStages stages of
// kTokens tokens, all but one of them in flight.
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

// The host's division of the work.
struct Plan {
  Steps steps = {};
  std::int64_t segment_steps = 0;  // a multiple of a stage
  int segments = 1;
  int column_tiles = 1;
  Width width = Width::kElement;  // access width of q, k, v and o
};

enum class Pass {
  kOutputs,
  kStates,  // only each segment's contribution to the state
};

// Applies phi to `rows` rows of `width` elements of the tile, and leaves the zeros around them.
// Each thread maps the elements it copied, so it needs no barrier.
template <int kTokens, typename Tile>
__device__ void map_features(Tile tile, int rows, int width) {
  const Share<Tile, kTokens, kCopyThreads> share(threadIdx.x);
  share.template for_each<Unroll::kNone>(tile, [&](int n, int c, typename Tile::Element* unit) {
    const int exist = share.row + n < rows ? width - (share.column + c) : 0;
    for (int e = 0; e < Tile::kUnit && e < exist; ++e)
      ladder::cuda::store(unit + e, elu_plus_one(ladder::cuda::load(unit + e)));
  });
}

// Query l sees key s if s <= l.
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

// Shared memory holds kStages stages, then two stages' outputs, then the denominators (kTokens).
template <typename C, typename Element>
struct Shared {
  using Stage = typename C::template Stage<Element>;
  using Outputs = typename Stage::Columns;
  static constexpr int kOutputsSize = C::kTokens * kColumns;
  static constexpr int kBytes =
      (C::kStages * Stage::kSize + 2 * kOutputsSize) * sizeof(Element) + C::kTokens * sizeof(float);

  static __device__ Element* begin() {
    extern __shared__ uint4 smem[];
    return reinterpret_cast<Element*>(smem);
  }
  static __device__ Stage stage(int place) { return {begin() + place * Stage::kSize}; }
  static __device__ Outputs outputs(int place) {
    return {begin() + C::kStages * Stage::kSize + place * kOutputsSize};
  }
  static __device__ float* denominators() { return reinterpret_cast<float*>(outputs(2).smem); }
};

// A thread's indices and its block's work. kPlain means that the feature map is the identity, there
// is no normaliser, and rows consist of whole 16-byte vectors.
template <typename C, Pass kPass, bool kPlain, typename Element>
struct Work {
  const BasicLinearAttentionArgs<Element>& args;
  const Plan& plan;
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize, column = warp * kBlock;
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
  const Width width = kPlain ? Width::kUnit : plan.width;
  const std::int64_t keys = keys_of(args, b);  // of this sequence
  // The segment's steps.
  const std::int64_t first = segment * plan.segment_steps;
  const std::int64_t end =
      min(first + plan.segment_steps, kPass == Pass::kStates ? keys : plan.steps.count);

  __device__ int keys_from(std::int64_t t) const { return rows_from(t, keys, C::kTokens); }
  __device__ int queries_from(std::int64_t l) const { return rows_from(l, args.T_q, C::kTokens); }
  // The query of step t.
  __device__ std::int64_t query(std::int64_t t) const { return t - plan.steps.first_query; }

  // states: (B, H, column tiles, segments, warps, kRows / 16, 2, 32), in the order of the
  // registers. Returns this lane's in segment s.
  __device__ float4* state_of(float4* states, int s) const {
    const std::int64_t block =
        ((b * args.H + h) * plan.column_tiles + column_tile) * plan.segments + s;
    return states + (block * (kWarps + !kPlain) + warp) * (C::kRows / kBlock * 2 * kWarpSize) +
           lane;
  }
};

// Starts the copies of the stage at step t. A group for every stage, even an empty one, so that
// they can be counted.
template <typename C, Pass kPass, bool kPlain, typename Element>
__device__ void fetch(const Work<C, kPass, kPlain, Element>& work, int place, std::int64_t t) {
  const auto copy = [&](auto tile, const Element* x, std::int64_t stride, int rows, int columns) {
    copy_rows_async<C::kTokens, kCopyThreads>(tile, x, stride, rows, columns, work.width,
                                              threadIdx.x);
  };
  const auto tile = Shared<C, Element>::stage(place);
  if (t < work.end && work.copies) {
    const int key_rows = work.keys_from(t);
    copy(tile.k(), work.k + t * work.stride_K, work.stride_K, key_rows, work.K);
    copy(tile.v(), work.v + t * work.stride_V, work.stride_V, key_rows, work.columns);
    if constexpr (kPass == Pass::kOutputs) {
      const std::int64_t l = work.query(t);
      copy(tile.q(), work.q + l * work.stride_K, work.stride_K, work.queries_from(l), work.K);
    }
  }
  __pipeline_commit();
}

template <typename C, Pass kPass, bool kPlain, typename Element>
__device__ void send_outputs(const Work<C, kPass, kPlain, Element>& work, int place,
                             std::int64_t l) {
  if (!work.copies) return;
  write_rows<C::kTokens, kCopyThreads>(work.o + l * work.stride_V,
                                       Shared<C, Element>::outputs(place), work.stride_V,
                                       work.queries_from(l), work.columns, work.width, threadIdx.x);
}

// A warp's columns of the state, transposed. x[c] has rows of V, and columns of K from 16 c.
template <typename C>
struct State {
  static constexpr int kBlocks = C::kRows / kBlock;
  Accumulator x[kBlocks][2] = {};

  __device__ void add(const float4* from) {
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const float4 y = from[i * kWarpSize];
      float* const d = x[i / 2][i % 2];
      d[0] += y.x, d[1] += y.y, d[2] += y.z, d[3] += y.w;
    }
  }
  __device__ void store(float4* to) const {
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const float* const d = x[i / 2][i % 2];
      to[i * kWarpSize] = make_float4(d[0], d[1], d[2], d[3]);
    }
  }
};

// A factor in fp16 is at most 65504. Returns the power of two that makes a warp's blocks smaller
// than that, or 1 if they are smaller already.
template <typename Element, int kCount>
__device__ float fitting(const Accumulator (&x)[kCount][2]) {
  constexpr float kMost = 32768.0f;
  if constexpr (std::is_same_v<Element, float16>) {
    float largest = 0.0f;
#pragma unroll
    for (int i = 0; i < 8 * kCount; ++i)
      largest = fmaxf(largest, fabsf(x[i / 8][i / 4 % 2][i % 4]));
    if (!__any_sync(ladder::cuda::kAllLanes, largest >= kMost)) return 1.0f;
    for (int lanes = kWarpSize / 2; lanes > 0; lanes /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(ladder::cuda::kAllLanes, largest, lanes));
    if (!isinf(largest)) return ldexpf(kMost, -1 - ilogbf(largest));
  }
  return 1.0f;
}

template <typename Element>
__device__ void scale_block(Accumulator (&x)[2], float factor) {
  if constexpr (std::is_same_v<Element, float16>) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x[i / 4][i % 4] *= factor;
  }
}

// The normaliser is one more value column, of ones. This is v^T of a sub-chunk.
template <typename Element>
__device__ FragmentA<Element> ones_of(int lane) {
  Accumulator one[2] = {};
  if (lane < 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      one[i / 2][i % 2] = 1.0f;
  }
  return as_a<Element>(one[0], one[1]);
}

// Divides a warp's outputs of a stage by the denominators of the fifth warp, and stores them to the
// outputs' tile.
template <typename C, Pass kPass, bool kPlain, typename Element, int kUnits>
__device__ void normalise(const Work<C, kPass, kPlain, Element>& work,
                          Accumulator (&kept)[kUnits][2],
                          const typename Shared<C, Element>::Outputs outputs) {
  float* const denominator_smem = Shared<C, Element>::denominators();
  const int row = work.lane / 4;
  if (work.normalises && work.lane % 4 == 0) {
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      denominator_smem[unit * kBlock + row] = kept[unit][0][0];
      denominator_smem[unit * kBlock + row + 8] = kept[unit][0][2];
    }
  }
  __syncthreads();  // the denominators are in shared memory
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    if (work.normalises) break;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float denominator = denominator_smem[unit * kBlock + row + i / 2 * 8] + work.args.eps;
      const float factor = work.args.normalize ? 1.0f / denominator : 1.0f;
      kept[unit][0][i] *= factor, kept[unit][1][i] *= factor;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_c(outputs, unit * kBlock, work.column + half * 8, kept[unit][half], work.lane);
  }
}

// One stage, that is, its outputs and the contribution of its keys and values to the state.
template <typename C, Pass kPass, bool kPlain, typename Element>
__device__ void walk_stage(const Work<C, kPass, kPlain, Element>& work, State<C>& state,
                           const FragmentA<Element>& ones,
                           const typename Shared<C, Element>::Stage tile,
                           const typename Shared<C, Element>::Outputs outputs) {
  constexpr int kUnits = C::kTokens / kBlock;
  const int lane = work.lane;
  // Scores are q k^T, summed over channels. The state adds v^T k, summed over tokens.
  const MkToA q_smem(tile.q(), 0, lane);
  const NkToB k_smem(tile.k(), 0, lane);
  const KnToB k_by_token_smem(tile.k(), 0, lane);
  const KmToA v_by_token_smem(tile.v(), 0, lane);
  // Kept until their denominators are known.
  [[maybe_unused]] Accumulator kept[kPlain ? 1 : kUnits][2];
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    const int token = unit * kBlock;
    const auto v_reg = work.normalises ? ones : v_by_token_smem.load(token, work.column);
    Accumulator scores[1][2] = {}, out[2] = {};
    [[maybe_unused]] float fit = kPass == Pass::kOutputs ? fitting<Element>(state.x) : 1.0f;
    FragmentB<Element> b[2];
#pragma unroll
    for (int c = 0; c < State<C>::kBlocks; ++c) {
      if constexpr (kPass == Pass::kOutputs) {
        const auto q_reg = q_smem.load(token, c * kBlock);
        k_smem.load(b, token, c * kBlock);
        multiply<kSplit>(scores[0], q_reg, b);
        Accumulator fitted[2];
#pragma unroll
        for (int i = 0; i < 8; ++i)
          fitted[i / 4][i % 4] = state.x[c][i / 4][i % 4];
        scale_block<Element>(fitted, fit);
        as_b(b, as_a<Element>(fitted[0], fitted[1]));
        multiply<kSplit>(out, q_reg, b);
      }
      k_by_token_smem.load(b, token, c * kBlock);
      multiply<kSplit>(state.x[c], v_reg, b);
    }
    if constexpr (kPass == Pass::kOutputs) {
      mask(scores[0], lane);
      scale_block<Element>(out, 1.0f / fit);
      fit = fitting<Element>(scores);
      scale_block<Element>(out, fit);
      scale_block<Element>(scores[0], fit);
      as_b(b, v_reg);
      multiply<kSplit>(out, as_a<Element>(scores[0][0], scores[0][1]), b);
      scale_block<Element>(out, 1.0f / fit);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if constexpr (kPlain) {
          store_c(outputs, token, work.column + half * 8, out[half], lane);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            kept[unit][half][i] = out[half][i];
        }
      }
    }
  }
  if constexpr (kPass == Pass::kOutputs && !kPlain) normalise(work, kept, outputs);
}

template <typename C, Pass kPass, bool kPlain, typename Element>
__global__ void __launch_bounds__((kWarps + !kPlain) * kWarpSize, C::kMinBlocks)
    walk(const BasicLinearAttentionArgs<Element> args, const Plan plan, float4* states) {
  constexpr int kAhead = (C::kStages - 1) * C::kTokens;
  const Work<C, kPass, kPlain, Element> work{args, plan};

  State<C> state;
  if constexpr (kPass == Pass::kOutputs) {
    for (int s = 0; s < work.segment; ++s)
      state.add(work.state_of(states, s));
  }
  const auto ones = ones_of<Element>(work.lane);

  int now = 0, next = 0, odd = 0;
  // Starts some stages before the first one, so that the copying code is compiled once.
  for (std::int64_t t0 = work.first - kAhead; t0 < work.end; t0 += C::kTokens) {
    const auto tile = Shared<C, Element>::stage(now);
    const std::int64_t l0 = work.query(t0);
    if (t0 >= work.first) {
      __pipeline_wait_prior(C::kStages - 2);
      if (!kPlain && work.copies && args.feature_map != ladder::FeatureMap::kIdentity) {
        map_features<C::kTokens>(tile.k(), work.keys_from(t0), work.K);
        if constexpr (kPass == Pass::kOutputs)
          map_features<C::kTokens>(tile.q(), work.queries_from(l0), work.K);
      }
      __syncthreads();  // all copies have arrived; the next stage may be overwritten
    }
    fetch(work, next, t0 + kAhead);
    next = next + 1 < C::kStages ? next + 1 : 0;
    if (t0 < work.first) continue;
    if (kPass == Pass::kOutputs && t0 > work.first) send_outputs(work, odd ^ 1, l0 - C::kTokens);
    now = now + 1 < C::kStages ? now + 1 : 0;
    walk_stage(work, state, ones, tile, Shared<C, Element>::outputs(odd));
    odd ^= 1;
  }

  if constexpr (kPass == Pass::kOutputs) {
    __syncthreads();  // the last outputs are in shared memory
    const std::int64_t stages = (work.end - work.first + C::kTokens - 1) / C::kTokens;
    if (stages > 0) send_outputs(work, odd ^ 1, work.query(work.first + (stages - 1) * C::kTokens));
  } else {
    state.store(work.state_of(states, work.segment));
  }
}

template <typename C, Pass kPass, bool kPlain, typename Element>
void launch_pass(const BasicLinearAttentionArgs<Element>& args, const Plan& plan, float4* states) {
  constexpr int kBytes = Shared<C, Element>::kBytes;
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

// The width such that all rows begin at multiples of it and consist of multiples of it.
template <typename Element>
Width width_of(const BasicLinearAttentionArgs<Element>& args) {
  std::uintptr_t ends = (args.K | args.V) * sizeof(Element);
  for (const void* pointer : {static_cast<const void*>(args.q), static_cast<const void*>(args.k),
                              static_cast<const void*>(args.v), static_cast<const void*>(args.o)})
    ends |= reinterpret_cast<std::uintptr_t>(pointer);
  return ends % 16 == 0 ? Width::kUnit : ends % 8 == 0 ? Width::kHalf : Width::kElement;
}

template <typename C, typename Element>
void launch(const BasicLinearAttentionArgs<Element>& args) {
  Plan plan;
  plan.steps = steps_of(args, C::kTokens);
  plan.column_tiles = static_cast<int>((args.V + kColumns - 1) / kColumns);
  plan.width = width_of(args);

  const std::int64_t stages = (plan.steps.count + C::kTokens - 1) / C::kTokens;
  const std::int64_t blocks = args.B * args.H * plan.column_tiles;
  const std::int64_t places = 2 * ladder::cuda::multiprocessors_to_fill();
  const std::int64_t segments =
      std::max(std::int64_t{1}, std::min(places / blocks, stages / kLeastStages));
  const std::int64_t segment_stages = (stages + segments - 1) / segments;
  plan.segment_steps = segment_stages * C::kTokens;
  plan.segments = static_cast<int>((stages + segment_stages - 1) / segment_stages);

  const bool identity = args.feature_map == ladder::FeatureMap::kIdentity;
  const bool plain = identity && !args.normalize && plan.width == Width::kUnit;
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

const ladder::Registration registration{
    {.name = "linear_attention_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(
         linear_attention<float>, linear_attention<bfloat16>, linear_attention<float16>)}};

}  // namespace
}  // namespace chunkwise
