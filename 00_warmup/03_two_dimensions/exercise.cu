// c = a + b for matrices that are views, by a grid with two dimensions and strides as arguments.
// Change: rewrite. A thread has a row and a column, and strides give its element's offset.
// Why:    one kernel for dense, transposed, padded and sliced matrices, without a copy.
// Needs:  any strides of at least 0, of c at least 1, up to 8 * 65,535 rows, and any CUDA GPU.
// Costs:  each element is read or written once. The strides decide how many sectors that takes.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/03_two_dimensions/matrix_add.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {

// The offset from a view's first element to the element at (row, col).
__host__ __device__ std::int64_t offset_of(std::int64_t row, std::int64_t col, Strides strides) {
  // TODO(1): roughly 1 line; return the offset of element (row, col); budget: two products
  return 0;  // until hole 1 is filled
}

namespace {

constexpr int kColumns = 32;  // a block's threads in x, so that a warp is one of its rows
constexpr int kRows = 8;      // a block's threads in y
constexpr int kMostBlocksInY = 65'535;

struct Place {
  std::int64_t row, col;
};

__device__ Place my_place() {
  // TODO(2): roughly 3 lines; return the thread's row and column: y counts rows, x counts columns;
  // TODO(2): budget: no read of global memory
  return {};  // until hole 2 is filled
}

__device__ void add_element(const MatrixAddArgs& args, std::int64_t row, std::int64_t col) {
  args.c[offset_of(row, col, args.c_strides)] =
      args.a[offset_of(row, col, args.a_strides)] + args.b[offset_of(row, col, args.b_strides)];
}

}  // namespace

__global__ void __launch_bounds__(kColumns* kRows) matrix_add_kernel(const MatrixAddArgs args) {
  const Place place = my_place();
  // TODO(3): roughly 1 line; add the mask: threads without an element return;
  // TODO(3): budget: with it one read of a, one of b, one store of c for each element
  add_element(args, place.row, place.col);
}

namespace {

// For comparison, x counts rows here, so the threads of a warp have elements of one column.
__global__ void __launch_bounds__(kColumns* kRows)
    matrix_add_x_is_row_kernel(const MatrixAddArgs args) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y;
  if (row < args.M && col < args.N) add_element(args, row, col);
}

// Blocks for `in_x` threads in x and `in_y` threads in y.
dim3 grid_for(std::int64_t in_x, std::int64_t in_y) {
  const std::int64_t x = (in_x + kColumns - 1) / kColumns, y = (in_y + kRows - 1) / kRows;
  ladder::require(x <= INT32_MAX && y <= kMostBlocksInY,
                  "M or N is too large; allowed in y: up to 8 * 65535");
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
}

void validate(const MatrixAddArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  for (const Strides& strides : {args.a_strides, args.b_strides}) {
    ladder::require_at_least("a stride of a or b", strides.row, 0);
    ladder::require_at_least("a stride of a or b", strides.col, 0);
  }
  ladder::require_at_least("c_strides.row", args.c_strides.row, 1);  // at 0, threads share elements
  ladder::require_at_least("c_strides.col", args.c_strides.col, 1);
}

void matrix_add(const MatrixAddArgs& args) {
  validate(args);
  if (args.M == 0 || args.N == 0) return;
  matrix_add_kernel<<<grid_for(args.N, args.M), dim3(kColumns, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void matrix_add_x_is_row(const MatrixAddArgs& args) {
  validate(args);
  if (args.M == 0 || args.N == 0) return;
  matrix_add_x_is_row_kernel<<<grid_for(args.M, args.N), dim3(kColumns, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration matrix_add_x_is_row_registration{
    {.name = "matrix_add_x_is_row",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<MatrixAdd>(matrix_add_x_is_row)}};

const ladder::Registration matrix_add_registration{
    {.name = "matrix_add",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<MatrixAdd>(matrix_add)}};

}  // namespace
}  // namespace warmup
