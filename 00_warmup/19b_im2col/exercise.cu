// 19b im2col: lesson 19's convolution as a matrix product, with a matrix that is never stored.
// Change: rewrite of 18b for another operator. b's elements are pixels below taps. Bias per row.
// Why:    a tile in shared memory serves 32 channels of y and 32 results of each.
// Needs:  any sizes of images, window, stride and padding. Blocks of 1024 threads.
// Costs:  divisions per element of a tile. Its row gives the tap, its column the window's position.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/conv2d.hpp"
#include "00_warmup/tile_grid.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kTile = 32;  // rows and columns of each tile, with one thread per element

// Row k of im2col's matrix, in the column of (oy, ox) of image b, which is the pixel below tap k.
__device__ float unrolled(const Conv2dArgs& args, std::int64_t k, std::int64_t b, std::int64_t oy,
                          std::int64_t ox) {
  // The weights of a channel of y are in the order c, ky, kx.
  std::int64_t c = 0, ky = 0, kx = 0;  // until hole 1 is filled
  // TODO(1): roughly 3 lines; compute the channel of x, and the row and column of the window
  // TODO(1): budget: no global read
  const std::int64_t iy = oy * args.stride + ky - args.pad, ix = ox * args.stride + kx - args.pad;
  if (iy < 0 || iy >= args.H || ix < 0 || ix >= args.W) return 0.0f;
  return args.x[((b * args.C + c) * args.H + iy) * args.W + ix];
}

__global__ void __launch_bounds__(kTile* kTile)
    conv2d_im2col_kernel(const Conv2dArgs args, std::int64_t OH, std::int64_t OW) {
  __shared__ float a_smem[kTile][kTile], b_smem[kTile][kTile];
  const std::int64_t B = args.B, M = args.M, N = OH * OW, K = args.C * args.KH * args.KW;
  const std::int64_t tiles_across = (B * N + kTile - 1) / kTile;
  const int row = threadIdx.x / kTile, column = threadIdx.x % kTile;  // in a tile
  const std::int64_t m = blockIdx.x / tiles_across * kTile + row;
  const std::int64_t j = blockIdx.x % tiles_across * kTile + column;  // among all images' columns
  // Column j belongs to this image.
  std::int64_t batch = j, oy = 0, ox = 0;  // until hole 2 is filled
  // TODO(2): roughly 3 lines; compute the image of column j (`batch`), and the row and column of y
  // TODO(2): budget: no global read

  float sum = 0.0f;
  for (std::int64_t first_k = 0; first_k < K; first_k += kTile) {
    const std::int64_t a_k = first_k + column, b_k = first_k + row;
    a_smem[row][column] = m < M && a_k < K ? args.weight[m * K + a_k] : 0.0f;
    b_smem[row][column] = b_k < K && batch < B ? unrolled(args, b_k, batch, oy, ox) : 0.0f;
    __syncthreads();  // both tiles are complete, so all threads may read them
    for (int k = 0; k < kTile; ++k)
      sum += a_smem[row][k] * b_smem[k][column];
    __syncthreads();  // all threads have read the tiles, which may now be overwritten
  }
  if (m >= M || batch >= B) return;
  args.y[((batch * M + m) * OH + oy) * OW + ox] = sum + args.bias[m];
}

void conv2d_im2col(const Conv2dArgs& args) {
  ladder::validate_lists(args);
  const std::int64_t OH = args.out_height(), OW = args.out_width();
  if (args.B == 0 || args.M == 0 || OH == 0 || OW == 0) return;
  const unsigned blocks =
      blocks_of_tiles("B * M * H * W", 1, args.M, args.B * OH * OW, kTile, kTile);
  conv2d_im2col_kernel<<<blocks, kTile * kTile>>>(args, OH, OW);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration conv2d_im2col_registration{
    {.name = "conv2d_im2col",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Conv2d>(conv2d_im2col)}};

}  // namespace
}  // namespace warmup
