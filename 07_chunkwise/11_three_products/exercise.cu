// 07 chunkwise, three products: fp32 linear attention on tensor cores, three tf32 MMAs per product.
// Change: rewrite. 10's loop with one shape and one pass, in fp32, and with its products written
//         out.
// Why:    tf32 keeps 11 of a float's 24 bits, but big big + big small + small big keeps nearly all.
//         Integers split faster than cvt.rna.
// Needs:  K = V = 64, fp32, the causal product without feature map or normaliser, rows at multiples
//         of 16 bytes, sm_80.
// Costs:  six instructions instead of one for bf16, and 152 floats to split per lane and 16 tokens.
//         From 0x1.ffep127 on the big part is infinite. A NaN in v_s reaches its column of o in all
//         of its 16 tokens, as in 10. See README for measurements.
#include "07_chunkwise/11_three_products/three_products.hpp"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

namespace tiles = ladder::cuda::tiles;
using ladder::LinearAttentionArgs;
using ladder::cuda::kWarpSize;
using ladder::cuda::to_tf32;
using tiles::Accumulator;
using tiles::FragmentA;
using tiles::FragmentB;
using tiles::Tf32;
using Rows = tiles::Tile<float, 64>;

constexpr int kChannels = Rows::kColumns;  // K and V
constexpr int kUnit = 16;                  // tokens, or channels, of a block of a product
constexpr int kBlocks = kChannels / kUnit;
constexpr int kTokens = 32;      // per stage, two sub-chunks
constexpr int kWarps = kBlocks;  // each has 16 value columns, and all rows of the state
constexpr int kThreads = kWarps * kWarpSize;

struct alignas(128) Stage {
  float q[kTokens * kChannels], k[kTokens * kChannels], v[kTokens * kChannels];
};
struct Shared {
  Stage stages[2];                        // double buffer, one in use, one in flight
  float outputs[2][kTokens * kChannels];  // double buffer, one is filled, one stored
};

// ---- Products ----

// A float is about big + small, two tf32, each as the bits of a float.
struct Parts {
  std::uint32_t big, small;
};

constexpr std::uint32_t kKept = 0xffffe000u;  // sign, exponent and the first ten bits of a float
constexpr std::uint32_t kHalf = 0x00001000u;  // half of the last kept bit

template <Products kProducts>
__device__ Parts split(float x) {
  if constexpr (kProducts == Products::kCheap) {
    // TODO(1): roughly 2 lines; return big, which is x rounded to tf32, and small, which is the
    // TODO(1): rest, truncated; budget: no cvt, and no access to memory.
    return {};  // until hole 1 is filled
  } else {
    const std::uint32_t big = to_tf32(x);
    return {big, to_tf32(x - __uint_as_float(big))};
  }
}

// A fragment of floats has 16 k, but an instruction multiplies 8, so each part is two fragments of
// tf32. With `pair` for lane % 4, the instruction expects k `pair` in a lane's first registers and
// k `pair + 4` in the others. Here they are the neighbours 2 pair and 2 pair + 1, in A and in B
// alike. The order of a sum's terms is free.
struct SplitA {
  FragmentA<Tf32> big[2], small[2];
};
struct SplitB {
  FragmentB<Tf32> big[2], small[2];
};

template <Products kProducts>
__device__ SplitA split(const FragmentA<float>& a) {
  SplitA parts = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // TODO(2): roughly 4 lines; split both floats of a.x[2 * half + i], and store their parts in
      // TODO(2): parts.big[half] and parts.small[half]; budget: two splits, no access to memory.
    }
  }
  return parts;
}

template <Products kProducts>
__device__ SplitB split(const FragmentB<float>& b) {
  SplitB parts = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Parts first = split<kProducts>(b.x[half].x), second = split<kProducts>(b.x[half].y);
    parts.big[half] = {{first.big, second.big}};
    parts.small[half] = {{first.small, second.small}};
  }
  return parts;
}

// Adds 16 products to each element of `sum`.
__device__ void add(Accumulator& sum, const FragmentA<Tf32> (&a)[2],
                    const FragmentB<Tf32> (&b)[2]) {
  tiles::multiply(sum, a[0], b[0]);
  tiles::multiply(sum, a[1], b[1]);
}

// c += a b, 16 x 16. The tensor cores add only these 16 terms, because they truncate their sums.
template <Products kProducts>
__device__ void multiply(Accumulator (&c)[2], const SplitA& a, const FragmentB<float> (&b)[2]) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const SplitB right = split<kProducts>(b[j]);
    Accumulator sum = {};
    // TODO(3): roughly 5 lines; add the needed products to sum, the largest last, and only this one
    // TODO(3): for Products::kOne; budget: six instructions of the tensor cores, two for kOne.
#pragma unroll
    for (int i = 0; i < 4; ++i)
      c[j][i] += sum[i];
  }
}

// ---- The loop over time ----

// Query l sees key s if s <= l.
__device__ void mask(Accumulator (&scores)[2], int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [l, s] = tiles::accumulator_place(lane, i);
      if (j * 8 + s > l) scores[j][i] = 0.0f;
    }
  }
}

template <Products kProducts>
__global__ void __launch_bounds__(kThreads, 2) three_products(const LinearAttentionArgs args) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid % kWarpSize, column = tid / kWarpSize * kUnit;
  const std::int64_t b = blockIdx.x / args.H, h = blockIdx.x % args.H, T = args.T_q;
  const std::int64_t stride = args.H * kChannels;

  const auto first_at = [&](std::int64_t t) { return ((b * T + t) * args.H + h) * kChannels; };
  const auto rows_from = [&](std::int64_t t) {
    return static_cast<int>(min(T - t, std::int64_t{kTokens}));
  };
  // Out-of-bounds tokens become zeros, which add nothing.
  const auto fetch = [&](std::int64_t t) {
    Stage& stage = shared.stages[t / kTokens % 2];
    const auto copy = [&](float* to, const float* from) {
      tiles::copy_rows_async<kTokens, kThreads>(Rows{to}, from + first_at(t), stride, rows_from(t),
                                                kChannels, true, tid);
    };
    copy(stage.q, args.q), copy(stage.k, args.k), copy(stage.v, args.v);
    __pipeline_commit();
  };
  const auto send_outputs = [&](std::int64_t t) {
    const Rows outputs{shared.outputs[t / kTokens % 2]};
    tiles::write_rows<kTokens, kThreads>(args.o + first_at(t), outputs, stride, rows_from(t),
                                         kChannels, true, tid);
  };

  // This warp's columns of the state, transposed. state[c] has rows V and columns K from 16 c on.
  Accumulator state[kBlocks][2] = {};
  fetch(0);
  for (std::int64_t t0 = 0; t0 < T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    __pipeline_wait_prior(0);
    __syncthreads();  // the stage has arrived; the previous one may be refilled
    if (t0 + kTokens < T) fetch(t0 + kTokens);
    if (t0 > 0) send_outputs(t0 - kTokens);

    // Scores are q k^T, summed over channels. The state adds v^T k, summed over tokens.
    const tiles::MkToA q_smem(Rows{stage.q}, 0, lane);
    const tiles::NkToB k_smem(Rows{stage.k}, 0, lane);
    const tiles::KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const tiles::KmToA v_by_token_smem(Rows{stage.v}, 0, lane);
    const Rows outputs{shared.outputs[t0 / kTokens % 2]};
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      const auto v_reg = v_by_token_smem.load(token, column);
      const SplitA v_split = split<kProducts>(v_reg);
      Accumulator scores[2] = {}, out[2] = {};
      FragmentB<float> b_reg[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        const SplitA q_split = split<kProducts>(q_smem.load(token, c * kUnit));
        k_smem.load(b_reg, token, c * kUnit);
        multiply<kProducts>(scores, q_split, b_reg);
        tiles::as_b(b_reg, tiles::as_a<float>(state[c][0], state[c][1]));
        multiply<kProducts>(out, q_split, b_reg);
        k_by_token_smem.load(b_reg, token, c * kUnit);
        multiply<kProducts>(state[c], v_split, b_reg);
      }
      mask(scores, lane);
      const SplitA scores_split = split<kProducts>(tiles::as_a<float>(scores[0], scores[1]));
      tiles::as_b(b_reg, v_reg);
      multiply<kProducts>(out, scores_split, b_reg);
      tiles::store_c(outputs, token, column, out[0], lane);
      tiles::store_c(outputs, token, column + 8, out[1], lane);
    }
  }
  __syncthreads();  // the last outputs are in shared memory
  send_outputs((T - 1) / kTokens * kTokens);
}

template <Products kProducts>
void launch(const LinearAttentionArgs& args) {
  const auto kernel = three_products<kProducts>;
  ladder::cuda::allow_shared_memory("linear_attention_three_products", kernel, sizeof(Shared));
  kernel<<<static_cast<unsigned>(args.B * args.H), kThreads, sizeof(Shared),
           ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void causal_product(const LinearAttentionArgs& args, Products products) {
  ladder::validate(args);
  ladder::require(args.causal && args.feature_map == ladder::FeatureMap::kIdentity &&
                      !args.normalize && args.key_lengths == nullptr && args.T_q == args.T_k,
                  "causal, feature_map, normalize, key_lengths, T_q or T_k asks for more; this "
                  "kernel allows the causal product only");
  ladder::require(args.K == kChannels && args.V == kChannels,
                  "K is " + std::to_string(args.K) + " and V is " + std::to_string(args.V) +
                      "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("q", args.q, sizeof(float4));
  ladder::require_pointer("k", args.k, sizeof(float4));
  ladder::require_pointer("v", args.v, sizeof(float4));
  ladder::require_pointer("o", args.o, sizeof(float4));
  switch (products) {
    case Products::kOne: return launch<Products::kOne>(args);
    case Products::kNearest: return launch<Products::kNearest>(args);
    case Products::kCheap: return launch<Products::kCheap>(args);
  }
}

namespace {

void cheap_split(const LinearAttentionArgs& args) {
  causal_product(args, Products::kCheap);
}
void nearest_split(const LinearAttentionArgs& args) {
  causal_product(args, Products::kNearest);
}

const ladder::Registration cheap_registration{
    {.name = "linear_attention_three_products",
     .device = ladder::DeviceKind::kCuda,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(cheap_split)}};

const ladder::Registration nearest_registration{
    {.name = "linear_attention_three_products_rna",
     .device = ladder::DeviceKind::kCuda,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(nearest_split)}};

}  // namespace
}  // namespace chunkwise
