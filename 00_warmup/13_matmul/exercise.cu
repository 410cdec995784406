// 13 matmul: C = act(A B + bias), a thread for each element of C.
// Change: none, this is the first product.
// Why:    the grid gives only numbers; the kernel decides which element of C a number is, and what is done with a finished sum.
// Needs:  any M, N and K; bias and ReLU as options; any CUDA GPU.
// Costs:  each thread reads a row of A and a column of B itself: 2 K loads for K multiply-adds.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

// Rows and columns of C that a block computes: a warp has 32 neighbours in a row.
constexpr int kRows = 8, kColumns = 32;

__global__ void __launch_bounds__(kRows* kColumns) matmul_naive_kernel(const MatmulArgs args) {
  const std::int64_t blocks_across = (args.N + kColumns - 1) / kColumns;
  // The element of C that is this thread's.
  std::int64_t m = 0, n = 0;  // until hole 1 is filled
  // TODO(1): roughly 3 lines; blocks lie row by row over C: which row and column are this thread's? nothing, if C ends before
  // TODO(1): budget: no global read; 32 neighbouring threads have 32 neighbours in a row

  float sum = 0.0f;
  for (std::int64_t k = 0; k < args.K; ++k) {
    // TODO(2): roughly 1 line; the product of a(m, k) and b(k, n) goes to sum; budget: one global read each of a and b
  }

  // TODO(3): roughly 2 lines; the bias, if there is one, then ReLU, if it is asked for; budget: one global read of the bias
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
