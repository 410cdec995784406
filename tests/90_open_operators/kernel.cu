// C = A B, a thread for each element of C.
// Change: none, it is the first of its operator.
// Why:    it shows what an operator and its kernel need.
// Needs:  any M, N and K; any CUDA GPU.
// Costs:  every thread reads a row of A and a column of B itself.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "tests/90_open_operators/matmul.hpp"

namespace {

using ladder::bfloat16;
using ladder::MatmulArgs;

constexpr int kThreads = 32;

template <typename Element>
__global__ void __launch_bounds__(kThreads) matmul_kernel(const MatmulArgs<Element> args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.M * args.N) return;
  const std::int64_t m = i / args.N, n = i % args.N;
  float sum = 0;
  for (std::int64_t k = 0; k < args.K; ++k) {
    sum +=
        ladder::cuda::load(args.a + m * args.K + k) * ladder::cuda::load(args.b + k * args.N + n);
  }
  ladder::cuda::store(args.c + i, sum);
}

template <typename Element>
void matmul(const MatmulArgs<Element>& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  const std::int64_t blocks = (args.M * args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "M * N is too large; allowed: up to 2^36 - 32");
  matmul_kernel<Element><<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "matmul_threads",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Matmul>(matmul<float>, matmul<bfloat16>)}};

}  // namespace
