// The arguments of lessons 17 to 19, gradients of WKV in fp32 for heads of 64 channels. All others
// are rejected. Also the kernel that sums the blocks' parts of du and of d_log_w, for lessons 18,
// 19 and 20b.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

constexpr int kChannels = 64;  // K and V

// `lesson` is named in the error message.
inline void require_plain_gradients(const ladder::WkvGradArgs& args, const char* lesson) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args.forward, lesson);
  ladder::require(
      args.d_final_state == nullptr,
      "d_final_state is given; this kernel allows only a null pointer: D begins with 0");
  ladder::require(args.d_initial_state == nullptr,
                  "d_initial_state is given; this kernel allows only a null pointer");
  ladder::require(args.forward.K == kChannels, "K is " + std::to_string(args.forward.K) +
                                                   "; this kernel allows only K = V = 64");
}

// to[i] = sum over parts[m][i], always in the same order. A block has a head.
template <typename Element>
__global__ void __launch_bounds__(kChannels)
    sum_parts(Element* to, const float* parts, std::int64_t elements, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kChannels + threadIdx.x;
  float sum = 0.0f;
  for (std::int64_t m = 0; m < count; ++m)
    sum += parts[m * elements + i];
  ladder::cuda::store(to + i, sum);
}

}  // namespace chunkwise
