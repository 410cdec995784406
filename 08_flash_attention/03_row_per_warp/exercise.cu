// 08 flash attention, a row per warp: the online softmax on a GPU in its simplest form.
// Change: rewrite of 08.02, in which a warp has a row and loops over the keys. A score is a sum
//         over its lanes, and m, l and o are registers.
// Why:    the three kernels of 08.01 write a matrix of scores. Here a score is used before the next
//         key is loaded.
// Needs:  D in {32, 64, 96, 128, 256}, fp32 or bf16, no key lengths and no packed sequences. Any
//         CUDA GPU, no shared memory.
// Costs:  each query loads all its keys and values again. A key needs five shuffles and two
//         exponentials.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {
namespace {

using ladder::BasicAttentionArgs;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::load;
using ladder::cuda::store;

// Warps of a block compute neighbouring queries, which read the same keys at about the same time.
constexpr int kWarps = 4;
constexpr std::int64_t kMostRows = std::int64_t{kWarps} * INT32_MAX;  // the limit of a grid

template <int kD, typename Element>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    row_per_warp(const BasicAttentionArgs<Element> args) {
  constexpr int kChannels = kD / kWarpSize;  // per lane, with channels lane, lane + 32, ...
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;  // of lse
  if (row >= args.B * args.H_q * args.T_q) return;                                 // a whole warp
  const std::int64_t query = row % args.T_q, h = row / args.T_q % args.H_q;
  const std::int64_t b = row / args.T_q / args.H_q, h_kv = h / (args.H_q / args.H_kv);
  const std::int64_t of_query = ((b * args.T_q + query) * args.H_q + h) * kD + lane;
  const std::int64_t of_key = (b * args.T_k * args.H_kv + h_kv) * kD + lane;
  const std::int64_t stride = args.H_kv * kD;  // from key to key
  const Element *k = args.k + of_key, *v = args.v + of_key;

  float q[kChannels], o[kChannels] = {};
  for (int c = 0; c < kChannels; ++c)
    q[c] = args.scale * load(args.q + of_query + c * kWarpSize);

  float m = -INFINITY, l = 0.0f;  // of the keys so far, the same in all lanes
  const std::int64_t keys = args.causal ? query + 1 + args.T_k - args.T_q : args.T_k;
  for (std::int64_t key = 0; key < keys; ++key, k += stride, v += stride) {
    float score = 0.0f;
    // TODO(1): roughly 4 lines; add this lane's part of q . k to score, then sum score over the
    // TODO(1): warp, so that every lane has the sum; budget: kChannels loads and five shuffles for
    // TODO(1): each key.

    const float before = m;
    // TODO(2): roughly 5 lines; add the key to the row: update m, rescale l and this lane's part of
    // TODO(2): o from `before` to m, and add the key to both; budget: kChannels loads and two
    // TODO(2): exponentials for each key.
  }

  const float share = l == 0.0f ? 0.0f : 1.0f / l;  // a query without a key has o = 0
  for (int c = 0; c < kChannels; ++c)
    store(args.o + of_query + c * kWarpSize, o[c] * share);
  if (lane == 0) args.lse[row] = m + logf(l);
}

template <int kD, typename Element>
void launch(const BasicAttentionArgs<Element>& args) {
  const std::int64_t blocks = (args.B * args.H_q * args.T_q + kWarps - 1) / kWarps;
  row_per_warp<kD, Element>
      <<<static_cast<unsigned>(blocks), kWarps * kWarpSize, 0, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void attention(const BasicAttentionArgs<Element>& args) {
  ladder::validate(args);
  ladder::require_usual_D(args, "this kernel");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows T_k keys for every batch");
  ladder::require(args.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows no packed sequences");
  const std::int64_t rows = args.B * args.H_q * args.T_q;
  ladder::require(rows <= kMostRows, "T_q times B * H_q is " + std::to_string(rows) +
                                         "; this kernel allows up to " + std::to_string(kMostRows));
  if (rows == 0) return;
  switch (args.D) {
    case 32: return launch<32>(args);
    case 64: return launch<64>(args);
    case 96: return launch<96>(args);
    case 128: return launch<128>(args);
    case 256: return launch<256>(args);
  }
}

const ladder::Registration registration{{.name = "attention_row_per_warp",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .launchers = ladder::launchers<ladder::Attention>(
                                             attention<float>, attention<ladder::bfloat16>)}};

}  // namespace
}  // namespace flash_attention
