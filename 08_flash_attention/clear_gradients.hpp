// Gradients of a call without sequences.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"

namespace flash_attention {

// Without a sequence no block adds to the gradients, so they are set to zero here.
template <typename Args>
void clear_gradients(const Args& args) {
  const auto& forward = args.forward;
  const auto clear = [&](auto* x, std::int64_t T, std::int64_t H, std::int64_t D) {
    const std::int64_t elements = forward.B * T * H * D;
    if (elements > 0) {
      CUDA_CHECK(cudaMemsetAsync(x, 0, static_cast<std::size_t>(elements) * sizeof(*x),
                                 ladder::cuda::stream()));
    }
  };
  clear(args.dq, forward.T_q, forward.H_q, forward.D);
  clear(args.dk, forward.T_k, forward.H_kv, forward.D);
  clear(args.dv, forward.T_k, forward.H_kv, forward.channels_of_v());
}

}  // namespace flash_attention
