// 00.08 transpose: y = x transposed, first without and then with a tile in shared memory.
// Change: rewrite. A block reads rows of a tile and writes its columns, which are rows of y.
// Why:    reads and writes by rows fill whole sectors. Shared memory swaps rows and columns.
// Needs:  any M and N up to 2,097,120 (65,535 tiles), in fp32.
// Costs:  one read and one write per element, a tile of shared memory, a barrier. See README.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "00_warmup/08_transpose/transpose.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of a tile, with a row per warp
constexpr int kRows = 8;   // rows of a block of 32 x 8 threads, which needs four passes per tile
constexpr int kTileThreads = kTile * kRows;

// Blocks along a side of x. The grid's y dimension is at most 65535.
unsigned tiles(const char* name, std::int64_t size, std::int64_t tile) {
  ladder::require(size <= 65535 * tile, std::string(name) + " is " + std::to_string(size) +
                                            "; allowed: up to " + std::to_string(65535 * tile));
  return static_cast<unsigned>((size + tile - 1) / tile);
}

// ---- Step 1: a warp reads a row of x, and writes a column of y ----

__global__ void __launch_bounds__(kTileThreads) transpose_at_the_write_kernel(TransposeArgs args) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int64_t first_m = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows) {
    // TODO(1): roughly 2 lines; copy x(m, n), with m = first_m + i, to y(n, m), if x has this row
    // TODO(1): and column; budget: one global read and one global write.
  }
}

// ---- Step 2: a warp reads a column of x, and writes a row of y ----

__global__ void __launch_bounds__(kTileThreads) transpose_at_the_read_kernel(TransposeArgs args) {
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const std::int64_t first_n = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows) {
    const std::int64_t n = first_n + i;
    if (m < args.M && n < args.N) args.y[n * args.M + m] = args.x[m * args.N + n];
  }
}

// ---- Step 3: both by rows, with a tile between them ----

template <int kPitch>
__global__ void __launch_bounds__(kTileThreads) transpose_tile_kernel(TransposeArgs args) {
  __shared__ float tile_smem[kTile][kPitch];
  const std::int64_t tile_m = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t tile_n = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int lane = threadIdx.x;

  // TODO(2): roughly 9 lines; load the tile's rows from x into tile_smem, kRows at a time, a lane
  // TODO(2): per column, and store its columns to rows of y; a barrier between the two; skip
  // TODO(2): elements past the edges of x; budget: per element one global read and one global
  // TODO(2): write, 4 sectors a request.
}

// Floats from one row of a tile to the next.
constexpr int row_pitch(int columns) {
  // TODO(3): roughly 1 line; make a row of a tile longer than its columns need, so that a column is
  // TODO(3): in 32 banks; budget: no bank conflict in transpose_tiled, for 128 bytes of shared
  // TODO(3): memory more.
  return columns;
}

// ---- Step 4: 16 bytes per thread, four loads before the first store ----

constexpr int kWideTile = 64, kVec = 4;
constexpr int kVectors = kWideTile / kVec;         // per row of a tile
constexpr int kWideThreads = kVectors * kVectors;  // each computes 4 x 4 elements

// Shared memory is accessed in vectors. Vector v of row n has index v ^ (n / 4), so that eight
// threads that store or load at once use eight different indices modulo 8, which are all 32 banks.
__global__ void __launch_bounds__(kWideThreads) transpose_wide_kernel(TransposeArgs args) {
  __shared__ float4 tile_smem[kWideTile][kVectors];
  // Blocks that start together write to the same rows of y.
  const std::int64_t tile_m = static_cast<std::int64_t>(blockIdx.x) * kWideTile;
  const std::int64_t tile_n = static_cast<std::int64_t>(blockIdx.y) * kWideTile;
  const int column = threadIdx.x % kVectors, row = threadIdx.x / kVectors;  // of 4 x 4 elements

  const std::int64_t first_m = tile_m + row * kVec, first_n = tile_n + column * kVec;
  if (first_m < args.M && first_n < args.N) {
    const float* from = args.x + first_m * args.N + first_n;
    // TODO(4): roughly 8 lines; load 16 bytes of each of four rows of x; transpose the 4 x 4
    // TODO(4): elements in registers, and store them in four rows of tile_smem, at the indices that
    // TODO(4): the comment above names; budget: a quarter of a load per element, no bank conflict.
  }
  __syncthreads();
  const std::int64_t m = tile_m + column * kVec;
  if (m >= args.M) return;
  for (int i = 0; i < kWideTile; i += kVectors) {
    const std::int64_t n = tile_n + i + row;
    if (n < args.N) {
      // TODO(4): roughly 2 lines; store the vector of row n of y that begins at m; budget: a
      // TODO(4): quarter of a store per element, no bank conflict.
    }
  }
}

// ---- Launchers ----

void transpose_at_the_write(const TransposeArgs& args) {
  ladder::validate_lists(args);
  const dim3 grid(tiles("N", args.N, kTile), tiles("M", args.M, kTile));
  if (grid.x == 0 || grid.y == 0) return;
  transpose_at_the_write_kernel<<<grid, dim3(kTile, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void transpose_at_the_read(const TransposeArgs& args) {
  ladder::validate_lists(args);
  const dim3 grid(tiles("M", args.M, kTile), tiles("N", args.N, kTile));
  if (grid.x == 0 || grid.y == 0) return;
  transpose_at_the_read_kernel<<<grid, dim3(kTile, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <int kPitch>
void transpose_by_tiles(const TransposeArgs& args) {
  ladder::validate_lists(args);
  const dim3 grid(tiles("N", args.N, kTile), tiles("M", args.M, kTile));
  if (grid.x == 0 || grid.y == 0) return;
  transpose_tile_kernel<kPitch><<<grid, dim3(kTile, kRows)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

// Rows that are not whole vectors use step 3.
void transpose_wide(const TransposeArgs& args) {
  const auto places =
      reinterpret_cast<std::uintptr_t>(args.x) | reinterpret_cast<std::uintptr_t>(args.y);
  if (args.M % kVec != 0 || args.N % kVec != 0 || places % sizeof(float4) != 0)
    return transpose_by_tiles<row_pitch(kTile)>(args);
  ladder::validate_lists(args);
  const dim3 grid(tiles("M", args.M, kWideTile), tiles("N", args.N, kWideTile));
  if (grid.x == 0 || grid.y == 0) return;
  transpose_wide_kernel<<<grid, kWideThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration transpose_at_the_write_registration{
    {.name = "transpose_at_the_write",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Transpose>(transpose_at_the_write)}};

const ladder::Registration transpose_at_the_read_registration{
    {.name = "transpose_at_the_read",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Transpose>(transpose_at_the_read)}};

// The tile without padding, for comparison.
const ladder::Registration transpose_unpadded_registration{
    {.name = "transpose_unpadded",
     .step = 3,
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<Transpose>(transpose_by_tiles<kTile>)}};

const ladder::Registration transpose_tiled_registration{
    {.name = "transpose_tiled",
     .step = 4,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Transpose>(transpose_by_tiles<row_pitch(kTile)>)}};

const ladder::Registration transpose_wide_registration{
    {.name = "transpose_wide",
     .step = 5,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Transpose>(transpose_wide)}};

}  // namespace
}  // namespace warmup
