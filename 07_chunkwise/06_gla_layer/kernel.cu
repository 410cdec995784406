// 07 chunkwise, the GLA layer: the parts of a model around the operator.
// Change: rewrite. Projections come before the operator, and a gate, a norm and a projection after
//         it. The operator is any of this chapter's GLA kernels.
// Why:    to show the operator's share of a layer, and that its inputs and outputs fit its
//         neighbours.
// Needs:  any sizes, fp32.
// Costs:  a plain matrix product, with 16 x 16 tiles and no tensor cores. A library's is many times
//         faster.
//         See README for the layer's picture.
#include "07_chunkwise/06_gla_layer/gla_layer.hpp"

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

using ladder::GlaLayerArgs;
using ladder::cuda::kWarpSize;
using ladder::cuda::Scratch;

constexpr int kTile = 16;
constexpr int kThreads = 256;
static_assert(kTile * kTile == kThreads);

// The gate is a root of the sigmoid, so most decays are close to 1.
constexpr float kGateRoot = 16.0f;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// ---- The projections: product = left * right ----

// A block computes a tile of the product. Its threads load pairs of tiles of left and right, one
// pair at a time.
__global__ void __launch_bounds__(kThreads)
    matmul_kernel(const float* left,   // (rows, depth)
                  const float* right,  // (depth, columns)
                  float* product,      // (rows, columns)
                  std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  __shared__ float left_smem[kTile][kTile], right_smem[kTile][kTile];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile + y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTile + x;
  float sum = 0.0f;
  for (std::int64_t first = 0; first < depth; first += kTile) {
    const bool has_left = row < rows && first + x < depth;
    const bool has_right = first + y < depth && column < columns;
    left_smem[y][x] = has_left ? left[row * depth + first + x] : 0.0f;
    right_smem[y][x] = has_right ? right[(first + y) * columns + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i)
      sum += left_smem[y][i] * right_smem[i][x];
    __syncthreads();  // the tiles have been read
  }
  if (row < rows && column < columns) product[row * columns + column] = sum;
}

// ---- The decay ----

// log of the gate, in place, in a form whose exp never overflows.
__global__ void __launch_bounds__(kThreads)
    log_gate_kernel(float* logits, const float* bias, std::int64_t count, std::int64_t channels) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const float z = logits[i] + bias[i % channels];
  logits[i] = (fminf(z, 0.0f) - log1pf(expf(-fabsf(z)))) / kGateRoot;
}

// ---- Norm and output gate ----

// One warp per token and head computes o / rms(o) * norm * silu(z), in place.
__global__ void __launch_bounds__(kThreads)
    norm_and_gate_kernel(float* o,           // (B, T, H, V)
                         const float* z,     // (B, T, H, V)
                         const float* norm,  // (V)
                         std::int64_t rows, int V, float eps) {
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kWarpSize) + warp;
  if (row >= rows) return;
  float squares = 0.0f;
  for (int iv = lane; iv < V; iv += kWarpSize)
    squares += o[row * V + iv] * o[row * V + iv];
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2)
    squares += __shfl_xor_sync(0xffffffffu, squares, distance);
  const float factor = 1.0f / sqrtf(squares / static_cast<float>(V) + eps);
  for (int iv = lane; iv < V; iv += kWarpSize) {
    const float gate = z[row * V + iv];
    o[row * V + iv] *= factor * norm[iv] * (gate / (1.0f + expf(-gate)));
  }
}

void matmul(const float* left, const float* right, float* product, std::int64_t rows,
            std::int64_t depth, std::int64_t columns) {
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, kTile)),
                  static_cast<unsigned>(ceil_div(columns, kTile)));
  matmul_kernel<<<grid, kThreads, 0, ladder::cuda::stream()>>>(left, right, product, rows, depth,
                                                               columns);
  CUDA_CHECK(cudaGetLastError());
}

void validate(const GlaLayerArgs& args) {
  ladder::validate_lists(args);
  if (args.B == 0 || args.T == 0) return;
  constexpr std::int64_t kMost = 65535 * kTile;
  ladder::require(args.H <= kMost / args.K && args.H <= kMost / args.V && args.d_model <= kMost &&
                      args.rank <= kMost,
                  "H * K, H * V, d_model or rank is too large; allowed: up to 1048560");
  ladder::require(args.B <= INT32_MAX / args.H / args.T,
                  "B * T * H is too large; allowed: up to 2^31 - 1");
  ladder::require(args.B * args.T * args.H <= std::int64_t{INT32_MAX} * kThreads / args.K,
                  "B * T * H * K is too large; allowed: up to 2^39 - 2^8");
}

}  // namespace

void gla_layer(const GlaLayerArgs& args, const GlaLauncher& gla) {
  validate(args);
  ladder::require(gla != nullptr, "gla is no function; allowed: a launcher of GLA");
  const std::int64_t tokens = args.B * args.T, D = args.d_model;
  const std::int64_t keys = args.H * args.K, values = args.H * args.V;
  if (tokens == 0) return;

  const Scratch<float> q(tokens * keys), k(tokens * keys), g(tokens * keys);
  const Scratch<float> v(tokens * values), z(tokens * values), o(tokens * values);
  const Scratch<float> low(tokens * args.rank);
  matmul(args.x, args.w_q, q.pointer(), tokens, D, keys);
  matmul(args.x, args.w_k, k.pointer(), tokens, D, keys);
  matmul(args.x, args.w_v, v.pointer(), tokens, D, values);
  matmul(args.x, args.w_1, low.pointer(), tokens, D, args.rank);
  matmul(low.pointer(), args.w_2, g.pointer(), tokens, args.rank, keys);
  const std::int64_t gates = tokens * keys;
  log_gate_kernel<<<static_cast<unsigned>(ceil_div(gates, kThreads)), kThreads, 0,
                    ladder::cuda::stream()>>>(g.pointer(), args.b, gates, keys);
  CUDA_CHECK(cudaGetLastError());

  ladder::WkvArgs gla_args;
  gla_args.B = args.B;
  gla_args.T = args.T;
  gla_args.H = args.H;
  gla_args.K = args.K;
  gla_args.V = args.V;
  gla_args.q = q.pointer();
  gla_args.k = k.pointer();
  gla_args.v = v.pointer();
  gla_args.log_w = g.pointer();
  gla_args.log_w_stride_B = args.T * keys;
  gla_args.log_w_stride_T = keys;
  gla_args.o = o.pointer();
  gla_args.scale = args.scale;
  gla(gla_args);

  matmul(args.x, args.w_g, z.pointer(), tokens, D, values);
  const std::int64_t rows = tokens * args.H;
  norm_and_gate_kernel<<<static_cast<unsigned>(ceil_div(rows, kThreads / kWarpSize)), kThreads, 0,
                         ladder::cuda::stream()>>>(o.pointer(), z.pointer(), args.norm, rows,
                                                   static_cast<int>(args.V), args.eps);
  CUDA_CHECK(cudaGetLastError());
  matmul(o.pointer(), args.w_o, args.y, tokens, values, D);
}

// With the chapter's fastest kernel. Any other kernel of GLA can be passed to gla_layer.
const ladder::Registration gla_layer_registration{
    {.name = "gla_layer_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::GlaLayer>([](const GlaLayerArgs& args) {
       gla_layer(args, ladder::launcher<ladder::Gla, ladder::WkvArgs>(
                           ladder::find_implementation("wkv_chunkwise")));
     })}};

}  // namespace chunkwise
