// C = A B with B in 4 bits, a thread for each element of C.
// Change: codes are taken from words; scale and zero point change every 32 rows.
// Why:    stored arrays may differ from drawn and judged ones.
// Needs:  K a multiple of 32; any CUDA GPU.
// Costs:  a word of B is read by every row of C.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "tests/90_open_operators/matmul_int4.hpp"

namespace {

using ladder::kInt4Group;
using ladder::MatmulInt4Args;

constexpr int kInt4Threads = 32;

__global__ void __launch_bounds__(kInt4Threads) matmul_int4_kernel(const MatmulInt4Args args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kInt4Threads + threadIdx.x;
  if (i >= args.M * args.N) return;
  const std::int64_t m = i / args.N, n = i % args.N;
  float sum = 0;
  for (std::int64_t word = 0; word < args.K / 8; ++word) {
    const std::uint32_t codes = args.b_packed[word * args.N + n];
    const std::int64_t group = word * 8 / kInt4Group * args.N + n;
    const float scale = args.scale[group];
    const int zero = args.zero[group];
    for (int j = 0; j < 8; ++j) {
      const int code = static_cast<int>(codes >> (4 * j) & 15u);
      sum += args.a[m * args.K + word * 8 + j] * (scale * static_cast<float>(code - zero));
    }
  }
  args.c[i] = sum;
}

void matmul_int4(const MatmulInt4Args& args) {
  ladder::validate_lists(args);
  ladder::require(args.K % kInt4Group == 0,
                  "K is " + std::to_string(args.K) + "; allowed: multiples of 32");
  if (args.M == 0 || args.N == 0) return;
  const std::int64_t blocks = (args.M * args.N + kInt4Threads - 1) / kInt4Threads;
  ladder::require(blocks <= INT32_MAX, "M * N is too large; allowed: up to 2^36 - 32");
  matmul_int4_kernel<<<static_cast<unsigned>(blocks), kInt4Threads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration int4_registration{
    {.name = "matmul_int4_threads",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::MatmulInt4>(matmul_int4)}};

}  // namespace
