// 06 shared_mem, decode: a single step, as in text generation.
// Change: rewrite. No tile, no pipeline. A block has 64 columns, and issues all loads before a use.
// Why:    the state is loaded and stored once, so the number of loads in flight decides the time.
// Needs:  T = 1, states, fp32, bf16, fp16. wkv_time_tiles (K up to 256) checks arguments, calls it.
// Costs:  a block's eight warps add up their outputs in shared memory, after one barrier.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "06_shared_mem/decode_kernel.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {
namespace {

using ladder::BasicWkvArgs;
using ladder::bfloat16;
using ladder::float16;
using ladder::Recurrence;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::copy;
using ladder::cuda::tiles::kVec;
using ladder::cuda::tiles::load;
using ladder::cuda::tiles::store;

// 16 lanes load 64 columns of a row, 256 bytes. The block's 16 groups of lanes have 4 rows each.
constexpr int kStepColumns = 64;
constexpr int kStepThreads = 256;
constexpr int kStepRows = 4;
constexpr int kStepRowLanes = kStepThreads / (kStepColumns / kVec);
// Blocks per SM, few enough that a thread has registers for all its loads at once.
constexpr int kStepBlocks = 4;

template <Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    wkv_single_step(const BasicWkvArgs<Element, LogW> args) {
  __shared__ float sum_smem[kStepThreads / kWarpSize][kStepColumns];
  const int tid = threadIdx.x, lane = tid % kWarpSize, warp = tid / kWarpSize;
  const int row_lane = tid / (kStepColumns / kVec), my_iv = tid % (kStepColumns / kVec) * kVec;
  const int K = args.K, V = args.V;
  const unsigned heads = static_cast<unsigned>(args.H);
  const std::int64_t h = blockIdx.x % heads, b = blockIdx.x / heads;
  const int first_iv = blockIdx.y * kStepColumns, columns = V - first_iv - my_iv;
  const std::int64_t token = blockIdx.x;
  const std::int64_t first_state = token * K * V + first_iv + my_iv;
  const Element* q = args.q + token * K;
  const Element* k = args.k + token * K;
  const LogW* log_w = args.log_w + b * args.log_w_stride_B + h * K;
  [[maybe_unused]] const Element* u = args.u + h * K;

  alignas(sizeof(float4)) float v_reg[kVec] = {}, sums[kVec] = {};
  load<kVec, kAligned>(v_reg, args.v + token * V + first_iv + my_iv, columns);

  for (int first_ik = 0; first_ik < K; first_ik += kStepRowLanes * kStepRows) {
    // All loads before the first use, so that the most are in flight.
    alignas(sizeof(float4)) float state[kStepRows][kVec] = {};
    alignas(sizeof(float4)) float q_reg[kStepRows] = {}, k_reg[kStepRows] = {};
    alignas(sizeof(float4)) float log_w_reg[kStepRows] = {};
    [[maybe_unused]] alignas(sizeof(float4)) float u_reg[kStepRows] = {};
    const auto row = [&](int r) {
      return first_ik + (r / kVec * kStepRowLanes + row_lane) * kVec + r % kVec;
    };
#pragma unroll
    for (int r = 0; r < kStepRows; ++r) {
      if (args.initial_state != nullptr && row(r) < K) {
        load<kVec, kAligned>(
            state[r], args.initial_state + first_state + static_cast<std::int64_t>(row(r)) * V,
            columns);
      }
    }
#pragma unroll
    for (int r = 0; r < kStepRows; r += kVec) {
      load<kVec, kAligned>(q_reg + r, q + row(r), K - row(r));
      load<kVec, kAligned>(k_reg + r, k + row(r), K - row(r));
      load<kVec, kAligned>(log_w_reg + r, log_w + row(r), K - row(r));
      if constexpr (kRecurrence == Recurrence::kWkv)
        load<kVec, kAligned>(u_reg + r, u + row(r), K - row(r));
    }
#pragma unroll
    for (int r = 0; r < kStepRows; ++r) {
      const float w = expf(log_w_reg[r]), quk = q_reg[r] * u_reg[r] * k_reg[r];
#pragma unroll
      for (int c = 0; c < kVec; ++c) {
        if constexpr (kRecurrence == Recurrence::kWkv)
          sums[c] += q_reg[r] * state[r][c] + quk * v_reg[c];
        state[r][c] = w * state[r][c] + k_reg[r] * v_reg[c];
        if constexpr (kRecurrence == Recurrence::kGla) sums[c] += q_reg[r] * state[r][c];
      }
      if (args.final_state != nullptr && row(r) < K) {
        store<kVec, kAligned>(
            args.final_state + first_state + static_cast<std::int64_t>(row(r)) * V, state[r],
            columns);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kVec; ++c) {
    for (int other = kWarpSize / 2; other >= kStepColumns / kVec; other /= 2)
      sums[c] += __shfl_xor_sync(kAllLanes, sums[c], other);
  }
  if (lane < kStepColumns / kVec) copy<kVec>(&sum_smem[warp][my_iv], sums);
  __syncthreads();
  if (tid < kStepColumns && first_iv + tid < V) {
    float sum = 0.0f;
    for (int other = 0; other < kStepThreads / kWarpSize; ++other)
      sum += sum_smem[other][tid];
    ladder::cuda::store(args.o + token * V + first_iv + tid, args.scale * sum);
  }
}

}  // namespace

template <Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void single_step(const BasicWkvArgs<Element, LogW>& args) {
  const dim3 grid(static_cast<unsigned>(args.B * args.H),
                  static_cast<unsigned>((args.V + kStepColumns - 1) / kStepColumns));
  wkv_single_step<kRecurrence, kAligned><<<grid, kStepThreads, 0, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template void single_step<Recurrence::kWkv, true>(const BasicWkvArgs<float>&);
template void single_step<Recurrence::kWkv, true>(const BasicWkvArgs<bfloat16>&);
template void single_step<Recurrence::kWkv, true>(const BasicWkvArgs<bfloat16, float>&);
template void single_step<Recurrence::kWkv, true>(const BasicWkvArgs<float16>&);
template void single_step<Recurrence::kWkv, false>(const BasicWkvArgs<float>&);
template void single_step<Recurrence::kWkv, false>(const BasicWkvArgs<bfloat16>&);
template void single_step<Recurrence::kWkv, false>(const BasicWkvArgs<bfloat16, float>&);
template void single_step<Recurrence::kWkv, false>(const BasicWkvArgs<float16>&);
template void single_step<Recurrence::kGla, true>(const BasicWkvArgs<float>&);
template void single_step<Recurrence::kGla, true>(const BasicWkvArgs<bfloat16>&);
template void single_step<Recurrence::kGla, true>(const BasicWkvArgs<bfloat16, float>&);
template void single_step<Recurrence::kGla, true>(const BasicWkvArgs<float16>&);
template void single_step<Recurrence::kGla, false>(const BasicWkvArgs<float>&);
template void single_step<Recurrence::kGla, false>(const BasicWkvArgs<bfloat16>&);
template void single_step<Recurrence::kGla, false>(const BasicWkvArgs<bfloat16, float>&);
template void single_step<Recurrence::kGla, false>(const BasicWkvArgs<float16>&);

}  // namespace shared_mem
