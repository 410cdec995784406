// 19 conv2d: a window of weights moves over images. A warp's lanes are taps, then results.
// Change: rewrite for a new operator. Step 1 has a warp per result, step 2 a thread, as lesson 13.
// Why:    a window of 3 x 3 fills 9 lanes of a warp, but a row of results fills all 32.
// Needs:  any sizes of images, window, stride and padding.
// Costs:  each pixel is read per tap of the window and channel of y. 19b fetches it less often.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/conv2d.hpp"
#include "00_warmup/tile_grid.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kWarpSize = 32, kThreads = 256;

// Image, channel, row and column of an element of y.
struct Place {
  std::int64_t b, m, oy, ox;
};

// Element i of y, which has OH rows and OW columns.
__device__ Place place_of(const Conv2dArgs& args, std::int64_t i, std::int64_t OH,
                          std::int64_t OW) {
  const std::int64_t row = i / OW, plane = row / OH;
  return {plane / args.M, plane % args.M, row % OH, i % OW};
}

// The term of tap (c, ky, kx) of the window, which is a weight times the pixel below it.
__device__ float term(const Conv2dArgs& args, const Place& at, std::int64_t c, std::int64_t ky,
                      std::int64_t kx) {
  const float weight = args.weight[((at.m * args.C + c) * args.KH + ky) * args.KW + kx];
  float pixel = 0.0f;  // out of bounds
  // The pixel below the tap.
  // TODO(1): roughly 4 lines; compute the pixel's row and column, and read it if it is in the image
  // TODO(1): budget: one global read of x
  return pixel * weight;
}

// ---- Step 1: a warp per result. Its lanes are KH x KW taps, rounded up to powers of two ----

__global__ void __launch_bounds__(kThreads)
    conv2d_window_kernel(const Conv2dArgs args, std::int64_t OH, std::int64_t OW,
                         std::int64_t tile_height, std::int64_t tile_width) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t i = thread / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (i >= args.B * args.M * OH * OW) return;  // the whole warp returns
  const Place at = place_of(args, i, OH, OW);

  float sum = 0.0f;
  for (std::int64_t c = 0; c < args.C; ++c) {
    // The tile contains taps outside the window.
    // TODO(2): roughly 4 lines; go through this lane's positions in the tile, and add the terms of
    // TODO(2): those that are in the window
    // TODO(2): budget: one term for each tap of the window
  }
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) args.y[i] = sum + args.bias[at.m];
}

// ---- Step 2: a thread per result. The window is a loop ----

__global__ void __launch_bounds__(kThreads)
    conv2d_direct_kernel(const Conv2dArgs args, std::int64_t OH, std::int64_t OW) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.B * args.M * OH * OW) return;
  const Place at = place_of(args, i, OH, OW);

  float sum = 0.0f;
  for (std::int64_t c = 0; c < args.C; ++c) {
    for (std::int64_t ky = 0; ky < args.KH; ++ky) {
      for (std::int64_t kx = 0; kx < args.KW; ++kx)
        sum += term(args, at, c, ky, kx);
    }
  }
  args.y[i] = sum + args.bias[at.m];
}

// ---- Launchers ----

// Checks the arguments. Returns the number of blocks if a result needs `threads_each` threads.
unsigned conv2d_blocks(const Conv2dArgs& args, std::int64_t threads_each) {
  ladder::validate_lists(args);
  return blocks_of_tiles("B * M * H * W", 1, 1,
                         args.B * args.M * args.out_height() * args.out_width(), 1,
                         kThreads / threads_each);
}

std::int64_t next_power_of_two(std::int64_t least) {
  std::int64_t power = 1;
  while (power < least)
    power *= 2;
  return power;
}

void conv2d_window(const Conv2dArgs& args) {
  const unsigned blocks = conv2d_blocks(args, kWarpSize);
  if (blocks == 0) return;
  conv2d_window_kernel<<<blocks, kThreads>>>(args, args.out_height(), args.out_width(),
                                             next_power_of_two(args.KH),
                                             next_power_of_two(args.KW));
  CUDA_CHECK(cudaGetLastError());
}

void conv2d_direct(const Conv2dArgs& args) {
  const unsigned blocks = conv2d_blocks(args, 1);
  if (blocks == 0) return;
  conv2d_direct_kernel<<<blocks, kThreads>>>(args, args.out_height(), args.out_width());
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration conv2d_window_registration{
    {.name = "conv2d_window",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Conv2d>(conv2d_window)}};
const ladder::Registration conv2d_direct_registration{
    {.name = "conv2d_direct",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Conv2d>(conv2d_direct)}};

}  // namespace
}  // namespace warmup
