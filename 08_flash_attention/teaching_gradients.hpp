// The parts around the kernels of lessons 18b to 18d. These are a block's tile, a call's memory,
// and the allowed arguments, bf16, D = 128, whole sequences and no mask.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "08_flash_attention/hopper_gradients.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/scratch.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

using Forward = ladder::BasicAttentionArgs<ladder::bfloat16>;
using Backward = ladder::BasicAttentionGradArgs<ladder::bfloat16>;

constexpr int kD = 128;

// The tensor maps of the operands.
struct Maps {
  CUtensorMap q, k, v, d_o;
};

// The tile of a block of the kernels before and after, which have a block per tile of queries, head
// and batch.
inline __device__ QueryTile tile_of_block(const Forward& args) {
  const unsigned slot = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const std::int64_t b = blockIdx.z, first_row = std::int64_t{blockIdx.x} * kQueries;
  return {b * args.T_q, b * args.H_q * args.T_q, args.T_q, first_row, blockIdx.y, slot};
}

// A grid of tiles, heads and batches.
inline dim3 grid_of(std::int64_t T, int tile_rows, std::int64_t H, std::int64_t B) {
  return {static_cast<unsigned>((T + tile_rows - 1) / tile_rows), static_cast<unsigned>(H),
          static_cast<unsigned>(B)};
}

// A call's grids, the rows of all tiles of queries, and the memory between the kernels.
struct Call {
  const Forward& forward;
  const dim3 queries = grid_of(forward.T_q, kQueries, forward.H_q, forward.B);
  const dim3 keys = grid_of(forward.T_k, kKeys, forward.H_kv, forward.B);
  const std::int64_t rows = std::int64_t{queries.x} * kQueries * queries.y * queries.z;
  const ladder::cuda::Scratch<float> stats{rows * 2}, dq_sums{rows * kD};
  const cudaStream_t stream = ladder::cuda::stream();

  explicit Call(const Backward& args) : forward(args.forward) {
    if (rows == 0) return;
    CUDA_CHECK(cudaMemsetAsync(dq_sums.pointer(), 0,
                               static_cast<std::size_t>(rows) * kD * sizeof(float), stream));
  }

  Maps maps(const Backward& args) const {
    const auto map = [&](const ladder::bfloat16* x, std::int64_t T, std::int64_t H, int box_rows) {
      return hopper::make_tensor_map_of_batches(x, forward.B, T, H * kD, box_rows);
    };
    const std::int64_t T_q = forward.T_q, T_k = forward.T_k;
    return {map(forward.q, T_q, forward.H_q, kQueries), map(forward.k, T_k, forward.H_kv, kKeys),
            map(forward.v, T_k, forward.H_kv, kKeys), map(args.d_o, T_q, forward.H_q, kQueries)};
  }
};

// Returns false if there is nothing to compute.
inline bool require_whole_sequences(const Backward& args) {
  constexpr std::int64_t kMostBlocks = 65535, kMostRows = INT32_MAX - kKeys;
  const Forward& forward = args.forward;
  validate(args);
  ladder::require(forward.D == kD,
                  "D is " + std::to_string(forward.D) + "; this kernel allows 128");
  ladder::require(!forward.causal, "causal is true; this kernel allows no mask");
  ladder::require(forward.key_lengths == nullptr, "key_lengths is given; this kernel allows none");
  ladder::require(forward.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows none");
  require_at_most("B", forward.B, kMostBlocks);
  require_at_most("H_q", forward.H_q, kMostBlocks);
  require_at_most("T_q", forward.T_q, kMostRows);
  require_at_most("T_k", forward.T_k, kMostRows);
  if (forward.B == 0) return false;
  require_copyable(args);
  return true;
}

}  // namespace flash_attention
