// 06 shared_mem, fused recurrent tiles: the state cut into 32 x 32 tiles, one warp each.
// Change: rewrite of 06.00. Rows are split as well as columns. A second kernel sums the parts of o.
// Why:    B * H * (K/32) * (V/32) warps, not B * H blocks. Few heads with wide states fill the GPU.
// Needs:  any K and V, initial and final state, reverse, fp32 or bf16 storage, any CUDA GPU.
// Costs:  K/32 partial outputs are stored and loaded again. Every column tile loads q, k and log_w.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {
namespace {

using ladder::BasicWkvArgs;
using ladder::cuda::load;
using ladder::cuda::store;

// Rows and columns of a tile. A lane loads q, k, log_w and u of one row, and owns one value column.
constexpr int kTile = 32;

// Elements that a thread reads from shared memory at once, 16 bytes of float.
constexpr int kVec = 4;

constexpr int kSumThreads = 256;

// `parts` is (K tiles, B, T, H, V), each tile's share of o before it is scaled.
template <typename Element, typename LogW>
__global__ void __launch_bounds__(kTile)
    wkv_fused_recurrent(const BasicWkvArgs<Element, LogW> args, float* parts) {
  __shared__ alignas(sizeof(float4)) float q_smem[kTile], k_smem[kTile], w_smem[kTile];

  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t iv = static_cast<std::int64_t>(blockIdx.x) * kTile + lane;
  const std::int64_t first_ik = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t ik = first_ik + lane;
  const std::int64_t h = blockIdx.z % args.H, b = blockIdx.z / args.H;
  const bool has_row = ik < args.K, has_column = iv < args.V;
  const std::int64_t first_state = ((b * args.H + h) * args.K + first_ik) * args.V + iv;
  float* const part = parts + blockIdx.y * args.B * args.T * args.H * args.V;

  float state[kTile] = {};  // the tile's rows of column iv, which stay zero past K
  for (int row = 0; row < kTile; ++row) {
    if (args.initial_state != nullptr && has_column && first_ik + row < args.K)
      state[row] = args.initial_state[first_state + row * args.V];
  }
  const float u = has_row && args.T > 0 ? load(args.u + h * args.K + ik) : 0.0f;

  for (std::int64_t step = 0; step < args.T; ++step) {
    const std::int64_t t = args.reverse ? args.T - 1 - step : step;
    const std::int64_t token = (b * args.T + t) * args.H + h;
    const LogW* log_w = args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * args.K;
    const float q = has_row ? load(args.q + token * args.K + ik) : 0.0f;
    const float k = has_row ? load(args.k + token * args.K + ik) : 0.0f;
    const float w = has_row ? expf(load(log_w + ik)) : 0.0f;
    const float v = has_column ? load(args.v + token * args.V + iv) : 0.0f;

    float bonus = q * u * k;  // summed over the tile's rows, the same for all columns
    // TODO(1): roughly 2 lines; add up `bonus` over the 32 lanes, so that each has the sum;
    // TODO(1): budget: five shuffles.
    float sum[kVec] = {};

    // TODO(2): roughly 3 lines; store q, k and w for the other lanes, after all reads of the
    // TODO(2): previous step and before all reads of this step; budget: three shared stores, two
    // TODO(2): warp barriers.

#pragma unroll
    for (int row = 0; row < kTile; row += kVec) {
      alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec];
      *reinterpret_cast<float4*>(q4) = *reinterpret_cast<const float4*>(q_smem + row);
      *reinterpret_cast<float4*>(k4) = *reinterpret_cast<const float4*>(k_smem + row);
      *reinterpret_cast<float4*>(w4) = *reinterpret_cast<const float4*>(w_smem + row);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        sum[i] += q4[i] * state[row + i];
        state[row + i] = w4[i] * state[row + i] + k4[i] * v;
      }
    }
    if (has_column) part[token * args.V + iv] = (sum[0] + sum[1]) + (sum[2] + sum[3]) + bonus * v;
  }

  for (int row = 0; row < kTile; ++row) {
    if (args.final_state != nullptr && has_column && first_ik + row < args.K)
      args.final_state[first_state + row * args.V] = state[row];
  }
}

// Second pass: o = scale * the sum over the K tiles.
template <typename Element>
__global__ void __launch_bounds__(kSumThreads)
    sum_parts(Element* o, const float* parts, std::int64_t elements, int tiles, float scale) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumThreads + threadIdx.x;
  if (i >= elements) return;
  float sum = 0.0f;
  for (int tile = 0; tile < tiles; ++tile)
    sum += parts[tile * elements + i];
  store(o + i, scale * sum);
}

template <typename Element, typename LogW>
void wkv(const BasicWkvArgs<Element, LogW>& args) {
  ladder::validate(args);
  const std::int64_t tiles_K = (args.K + kTile - 1) / kTile, tiles_V = (args.V + kTile - 1) / kTile;
  ladder::require(tiles_K <= 65535 && args.B * args.H <= 65535,
                  "B * H or K is too large; fused_recurrent allows B * H up to 65535 and K up to "
                  "2097120");
  if (args.B == 0 || (args.T == 0 && args.final_state == nullptr)) return;
  const std::int64_t elements = args.B * args.T * args.H * args.V;
  const ladder::cuda::Scratch<float> parts(tiles_K * elements);
  const dim3 grid(static_cast<unsigned>(tiles_V), static_cast<unsigned>(tiles_K),
                  static_cast<unsigned>(args.B * args.H));
  wkv_fused_recurrent<<<grid, kTile, 0, ladder::cuda::stream()>>>(args, parts.pointer());
  CUDA_CHECK(cudaGetLastError());
  if (elements == 0) return;
  const auto blocks = static_cast<unsigned>((elements + kSumThreads - 1) / kSumThreads);
  sum_parts<Element><<<blocks, kSumThreads, 0, ladder::cuda::stream()>>>(
      args.o, parts.pointer(), elements, static_cast<int>(tiles_K), args.scale);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "wkv_fused_recurrent",
     .device = ladder::DeviceKind::kCuda,
     .launchers =
         ladder::launchers<ladder::Wkv>(wkv<float, float>, wkv<ladder::bfloat16, ladder::bfloat16>,
                                        wkv<ladder::bfloat16, float>)}};

}  // namespace
}  // namespace shared_mem
