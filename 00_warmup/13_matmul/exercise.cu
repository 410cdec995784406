// 13 matmul: C = act(A B + bias), a thread for each element of C.
// Change: none, this is the first product.
// Why:    the grid gives only indices. The kernel maps them to elements of C and finishes the sums.
// Needs:  any M, N and K, with bias and ReLU as options, and any CUDA GPU.
// Costs:  each thread reads a row of A and a column of B itself, which are 2 K loads for K FMAs.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

// Rows and columns of C per block, in which a warp has 32 adjacent elements of a row.
constexpr int kRows = 8, kColumns = 32;

__global__ void __launch_bounds__(kRows* kColumns) matmul_naive_kernel(const MatmulArgs args) {
  const std::int64_t blocks_across = (args.N + kColumns - 1) / kColumns;
  // This thread's element of C.
  std::int64_t m = 0, n = 0;  // until hole 1 is filled
  // TODO(1): roughly 3 lines; compute this thread's row m and column n (blocks cover C row by row),
  // TODO(1): and return if one of them is past C's end;
  // TODO(1): budget: no global read; 32 neighbouring threads have 32 neighbours in a row

  float sum = 0.0f;
  for (std::int64_t k = 0; k < args.K; ++k) {
    // TODO(2): roughly 1 line; add the product of a(m, k) and b(k, n) to sum; budget: one global
    // TODO(2): read each of a and b
  }

  // TODO(3): roughly 2 lines; add the bias, if there is one, then apply ReLU, if args.relu is set;
  // TODO(3): NaN stays NaN; budget: one global read of the bias
  args.c[m * args.N + n] = sum;
}

void matmul_naive(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  const unsigned blocks = blocks_of_tiles(args, kRows, kColumns);
  matmul_naive_kernel<<<blocks, dim3(kColumns, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration matmul_naive_registration{
    {.name = "matmul_naive",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_naive)}};

}  // namespace
}  // namespace warmup
