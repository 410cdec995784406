// 00.08 transpose: y = x transposed, first without and then with a tile in shared memory.
// Change: rewrite: a block reads a tile by rows, and writes it by columns of the tile, which are rows of y.
// Why:    read by rows and written by rows, each request of a warp fills whole sectors; the turn happens in shared memory.
// Needs:  any M and N up to 2,097,120 (65,535 tiles); fp32.
// Costs:  one read and one write per element, a tile of shared memory, and a barrier. See README for what was measured.
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

constexpr int kTile = 32;  // rows and columns of a tile: a warp has a row
constexpr int kRows = 8;   // that a block of 32 x 8 threads has at once: four passes a tile
constexpr int kTileThreads = kTile * kRows;

// Blocks along a side of x. The grid's second side may have no more than 65535.
unsigned tiles(const char* name, std::int64_t size, std::int64_t tile) {
  ladder::require(size <= 65535 * tile, std::string(name) + " is " + std::to_string(size) +
                                            "; allowed: up to " + std::to_string(65535 * tile));
  return static_cast<unsigned>((size + tile - 1) / tile);
}

// ---- Step 1: a warp reads a row of x, and writes a column of y ----

__global__ void __launch_bounds__(kTileThreads) transpose_at_the_write_kernel(TransposeArgs args) {
  // TODO(1): roughly 6 lines; a block of 32 x 8 threads has 32 x 32 elements, and a warp reads a row of x;
  // TODO(1): budget: one global read and one global write per element.
}

// ---- Step 2: a warp reads a column of x, and writes a row of y ----

__global__ void __launch_bounds__(kTileThreads) transpose_at_the_read_kernel(TransposeArgs args) {
  // TODO(1): roughly 6 lines; the same, but a warp writes a row of y; budget: one global read and one global write per element.
}

// ---- Step 3: both by rows, with a tile between them ----

template <int kPitch>
__global__ void __launch_bounds__(kTileThreads) transpose_tile_kernel(TransposeArgs args) {
  // TODO(2): roughly 14 lines; a tile of 32 x 32 elements with rows of kPitch floats in shared memory; by rows from x, by rows to y;
  // TODO(2): budget: per element one global read and one global write, 4 sectors a request.
}

// How many floats lie from a tile's row to its next.
constexpr int row_pitch(int columns) {
  // TODO(3): roughly 1 line; a row of a tile is longer than its columns say, so that a column lies in 32 banks;
  // TODO(3): budget: no bank conflict in transpose_tiled, for 128 bytes of shared memory more.
  return columns;
}

// ---- Step 4: 16 bytes a thread, four loads before the first store ----

constexpr int kWideTile = 64, kVec = 4;
constexpr int kVectors = kWideTile / kVec;         // of a tile's row
constexpr int kWideThreads = kVectors * kVectors;  // each has 4 x 4 elements

// Shared memory is read and written in vectors. Vector v of row n stands at place v ^ (n / 4): eight threads that write or read at once
// have eight different places modulo 8, and so all 32 banks.
__global__ void __launch_bounds__(kWideThreads) transpose_wide_kernel(TransposeArgs args) {
  // TODO(4): roughly 28 lines; a tile of 64 x 64 elements, 4 x 4 of them a thread's: four loads of 16 bytes, turned in registers, kept
  // TODO(4): in the tile at the places that the comment names, then written to y by vectors, sixteen rows at a time. The grid's
  // TODO(4): blockIdx.x counts tiles along M, blockIdx.y along N; elements behind the edges of x are left out;
  // TODO(4): budget: a quarter of a load and of a store per element, no bank conflict, one barrier.
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

// Rows that are no whole number of vectors are step 3's.
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
