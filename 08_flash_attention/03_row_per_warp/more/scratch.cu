// 08 flash attention, a row per warp: the online softmax on a GPU, as simply as it can be.
// Change: rewrite of 08.02: a row belongs to a warp, which walks over the keys; a score is a sum over its lanes, m, l and o are registers.
// Why:    the three kernels of 08.01 write a matrix of scores; here a score is forgotten before the next key comes.
// Needs:  D in {32, 64, 96, 128, 256}; fp32 or bf16; no key lengths, no packed sequences; any CUDA GPU, no shared memory.
// Costs:  each query reads all its keys and values anew; five shuffles and two exponentials for each key.
//         See README for what was measured.
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

// Of a block: neighbouring queries, which read the same keys at about the same time.
constexpr int kWarps = 4;
constexpr std::int64_t kMostRows = std::int64_t{kWarps} * INT32_MAX;  // what a grid can count

template <int kD, typename Element>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    row_per_warp(const BasicAttentionArgs<Element> args) {
  constexpr int kChannels = kD / kWarpSize;  // of a lane: channels lane, lane + 32, ...
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
  // TODO(1): roughly 2 lines; this lane's channels of the query, times the scale, to q; budget: one read of each.

  float m = -INFINITY, l = 0.0f;  // of the keys so far; the same in all lanes
  const std::int64_t keys = args.causal ? query + 1 + args.T_k - args.T_q : args.T_k;
  // TODO(2): roughly 14 lines; the walk over the keys, k and v from row to row: the score, in all lanes; the larger m; then l and o, which
  // TODO(2): were relative to the m before. budget: one read of each element of a key and a value; five shuffles, two exponentials.

  const float share = l == 0.0f ? 0.0f : 1.0f / l;  // a query without a key has o = 0
  // TODO(3): roughly 3 lines; this lane's channels of o times share; one lane stores the natural logarithm of the sum of exp(score), of which
  // TODO(3): l is relative to m. budget: one store of each element.
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
