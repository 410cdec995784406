// 14 tiles: C = act(A B + bias), a block computes a tile of C from tiles of A and B in shared memory.
// Change: rewrite of 00.13: the block's threads fetch a tile of A and one of B together, multiply them, and walk on along K.
// Why:    an element of A is fetched once for each tile of columns, not for each column; an element of B alike.
// Needs:  any M, N and K: what lies beyond an edge is 0 in shared memory. Blocks of 1024 threads.
// Costs:  two barriers for each tile, and two reads of shared memory for each multiply-add.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul_epilogue.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of each of the three tiles; a thread for each element

__global__ void __launch_bounds__(kTile* kTile) matmul_tiles_kernel(const MatmulArgs args) {
  // TODO(1): roughly 20 lines; a tile of A and one of B in shared memory; blocks lie row by row over C, and threads row by row over its
  // TODO(1): tile; along K all fetch both tiles, 0 beyond an edge, and add up their share of the sum. finished(args, sum, n) is what
  // TODO(1): belongs in c(m, n); budget: for each tile of K one global read each of a and b, 32 times two reads of shared memory, no
  // TODO(1): bank conflict, two barriers.
}

void matmul_tiles(const MatmulArgs& args) {
  ladder::validate_lists(args);
  if (args.M == 0 || args.N == 0) return;
  // TODO(1): roughly 1 line; the launch: a tile of C for each block, blocks_of_tiles(args, kTile, kTile) of them; budget: one launch.
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration matmul_tiles_registration{
    {.name = "matmul_tiles",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Matmul>(matmul_tiles)}};

}  // namespace
}  // namespace warmup
