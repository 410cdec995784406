// 16a fragments: C = act(A B + bias) in bf16, where an instruction multiplies 16 x 16 by 16 x 8.
// Change: rewrite. The three matrices of an instruction are spread over the registers of a warp.
// Why:    per warp, a tensor core instruction does 2,048 FMAs and an FMA instruction does 32.
// Needs:  any M, N and K, and sm_80. A block is one warp and computes 16 x 8 elements of C.
// Costs:  lanes load their elements from global memory, two bytes at a time. 16b adds tiles again.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/warp.hpp"

namespace warmup {
namespace {

using ladder::bfloat16;
using ladder::cuda::kWarpSize;

constexpr int kRows = 16;    // rows of A and C per instruction
constexpr int kColumns = 8;  // columns of B and C
constexpr int kDepth = 16;   // columns of A, rows of B

struct Place {
  int row, column;
};

// A (16 x 16). Register i of a lane, 0 to 3, holds the element here and its right neighbour.
__device__ Place place_in_a(int lane, int i) {
  // TODO(1): roughly 3 lines; return the row and the column of this element; budget: no access to
  // TODO(1): memory
  return {};  // until hole 1 is filled
}

// B (16 x 8). Register i of a lane, 0 or 1, holds the element here and the one below it.
__device__ Place place_in_b(int lane, int i) {
  // TODO(2): roughly 3 lines; do the same for B; budget: no access to memory
  return {};  // until hole 2 is filled
}

// C (16 x 8). Register i of a lane, 0 to 3, holds the element here.
__device__ Place place_in_c(int lane, int i) {
  // TODO(3): roughly 3 lines; do the same for C, of which a register has one element; budget: no
  // TODO(3): access to memory
  return {};  // until hole 3 is filled
}

// The element of x (rows, columns), 0 past an edge.
__device__ bfloat16 element(const bfloat16* x, std::int64_t rows, std::int64_t columns,
                            std::int64_t row, std::int64_t column) {
  return row < rows && column < columns ? x[row * columns + column] : bfloat16{0};
}

// Two elements in one register, the first in its lower half.
__device__ std::uint32_t two(bfloat16 first, bfloat16 second) {
  return first.bits | static_cast<std::uint32_t>(second.bits) << 16;
}

__global__ void __launch_bounds__(kWarpSize) matmul_fragments_kernel(const MatmulBf16Args args) {
  const std::int64_t M = args.M, N = args.N, K = args.K;
  const std::int64_t tiles_across = (N + kColumns - 1) / kColumns;
  const std::int64_t first_m = blockIdx.x / tiles_across * kRows;
  const std::int64_t first_n = blockIdx.x % tiles_across * kColumns;
  const int lane = threadIdx.x;

  float c[4] = {};
  for (std::int64_t first_k = 0; first_k < K; first_k += kDepth) {
    std::uint32_t a[4], b[2];
    for (int i = 0; i < 4; ++i) {
      const Place place = place_in_a(lane, i);
      const std::int64_t m = first_m + place.row, k = first_k + place.column;
      a[i] = two(element(args.a, M, K, m, k), element(args.a, M, K, m, k + 1));
    }
    for (int i = 0; i < 2; ++i) {
      const Place place = place_in_b(lane, i);
      const std::int64_t k = first_k + place.row, n = first_n + place.column;
      b[i] = two(element(args.b, K, N, k, n), element(args.b, K, N, k + 1, n));
    }
    ladder::cuda::mma_bf16(c, a, b);  // all 32 lanes of the warp execute it together
  }

  for (int i = 0; i < 4; ++i) {
    const Place place = place_in_c(lane, i);
    const std::int64_t m = first_m + place.row, n = first_n + place.column;
    if (m < M && n < N) ladder::cuda::store(args.c + m * N + n, finished(args, c[i], n));
  }
}

void matmul_fragments(const MatmulBf16Args& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  matmul_fragments_kernel<<<blocks_of_tiles(args, kRows, kColumns), kWarpSize>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "matmul_fragments",
                                         .device = ladder::DeviceKind::kCuda,
                                         .rung = true,
                                         .units = ladder::Units::kTensorCores,
                                         .launchers = ladder::launchers<Matmul>(matmul_fragments)}};

}  // namespace
}  // namespace warmup
