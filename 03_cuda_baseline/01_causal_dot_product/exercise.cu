// 03 cuda_baseline: the causal dot product of linear attention, in strips of 8 key rows.
// Change: rewrite. A block per (strip, batch, head), a thread per column, strips in shared memory.
// Why:    a strip is small enough for a block, and there are enough strips to fill the GPU.
// Needs:  causal, identity feature map, no normaliser, T_q = T_k, V up to 1024, and any CUDA GPU.
// Costs:  the K/8 blocks of a head add their parts of each output with atomics, in any order.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace {

using ladder::LinearAttentionArgs;

// Key rows per block. They use 8 x V floats of shared memory, and K/8 atomics per output element.
constexpr int kRows = 8;

__global__ void causal_dot_product(const LinearAttentionArgs args) {
  extern __shared__ float kv_smem[];  // (kRows, V)
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const std::int64_t b = blockIdx.y;
  const std::int64_t h = blockIdx.z;
  const int iv = threadIdx.x;
  const int V = blockDim.x;
  const int rows = args.K - first_row < kRows ? static_cast<int>(args.K - first_row) : kRows;

  // No barrier is needed, because a thread accesses only its own column of the strip.
  for (int row = 0; row < rows; ++row)
    kv_smem[row * V + iv] = 0.0f;

  for (std::int64_t t = 0; t < args.T_q; ++t) {
    const std::int64_t token = (b * args.T_q + t) * args.H + h;
    const float* q = args.q + token * args.K + first_row;
    const float* k = args.k + token * args.K + first_row;
    const float v = args.v[token * V + iv];

    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) {
      // TODO(1): roughly 3 lines; update this thread's element of the row, then add the row's term
      // TODO(1): to `sum`; budget: one global read each of k and q; one read and one write of
      // TODO(1): kv_smem.
    }
    atomicAdd(args.o + token * V + iv, sum);
  }
}

void linear_attention(const LinearAttentionArgs& args) {
  ladder::validate(args);
  ladder::require(args.causal, "causal is false; this kernel allows the causal form only");
  ladder::require(args.feature_map == ladder::FeatureMap::kIdentity,
                  "feature_map is elu + 1; this kernel allows the identity only");
  ladder::require(!args.normalize, "normalize is true; this kernel allows false only");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows a null pointer only");
  ladder::require(args.T_q == args.T_k, "T_q is " + std::to_string(args.T_q) + " and T_k is " +
                                            std::to_string(args.T_k) +
                                            "; this kernel allows T_q = T_k only");
  ladder::require(args.V <= 1024,
                  "V is " + std::to_string(args.V) + "; this kernel allows up to 1024");
  ladder::require(args.B <= 65535 && args.H <= 65535,
                  "B or H is too large; this kernel allows up to 65535");
  if (args.B == 0 || args.T_q == 0) return;

  // The kernel accumulates into o, so o must start at 0.
  CUDA_CHECK(cudaMemsetAsync(args.o, 0, args.B * args.T_q * args.H * args.V * sizeof(float),
                             ladder::cuda::stream()));
  const dim3 grid(static_cast<unsigned>((args.K + kRows - 1) / kRows),
                  static_cast<unsigned>(args.B), static_cast<unsigned>(args.H));
  const unsigned threads = static_cast<unsigned>(args.V);
  causal_dot_product<<<grid, threads, kRows * threads * sizeof(float), ladder::cuda::stream()>>>(
      args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration causal_dot_product_registration{
    {.name = "causal_dot_product",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
