// Shared by the chapter's kernels of linear attention. Contains the division of time, and the
// features of a key or a query.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/clamped.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace chunkwise {

// Key rows that fit into a block's registers or shared memory.
constexpr int kMaxRows = 256;
constexpr std::int64_t kMaxColumns = 1 << 20;  // so that a grid can count its blocks

// Step t adds key t if there is one, then computes query t - first_query if there is one. In the
// causal form both begin at 0. In the full form the queries come after all keys, from the next
// chunk on.
struct Steps {
  std::int64_t first_query;
  std::int64_t count;
};

template <typename Element>
Steps steps_of(const ladder::BasicLinearAttentionArgs<Element>& args, int chunk) {
  const std::int64_t first_query = args.causal ? 0 : (args.T_k + chunk - 1) / chunk * chunk;
  return {first_query, first_query + args.T_q};
}

// The keys of sequence b that exist and are not masked.
template <typename Element>
__device__ std::int64_t keys_of(const ladder::BasicLinearAttentionArgs<Element>& args,
                                std::int64_t b) {
  const std::int64_t keys = args.causal && args.T_q < args.T_k ? args.T_q : args.T_k;
  return args.key_lengths != nullptr ? ladder::cuda::clamped(args.key_lengths[b], 0, keys) : keys;
}

// The number of rows in bounds among the `most` rows from `from` on.
inline __device__ int rows_from(std::int64_t from, std::int64_t count, int most) {
  if (from < 0 || from >= count) return 0;
  return count - from < most ? static_cast<int>(count - from) : most;
}

// phi unless it is the identity. The exponential is outside the condition, so that there is no
// branch.
inline __device__ float elu_plus_one(float x) {
  const float exponential = expf(x);
  return x > 0.0f ? x + 1.0f : exponential;
}

// Requirements of these kernels beyond ladder::validate.
template <typename Element>
void require_shape(const ladder::BasicLinearAttentionArgs<Element>& args) {
  ladder::validate(args);
  ladder::require(args.K <= kMaxRows, "K is " + std::to_string(args.K) +
                                          "; this kernel allows up to " + std::to_string(kMaxRows));
  ladder::require(args.B <= 65535 && args.H <= 65535,
                  "B is " + std::to_string(args.B) + " and H is " + std::to_string(args.H) +
                      "; this kernel allows up to 65535 of each");
  ladder::require(args.V <= kMaxColumns, "V is " + std::to_string(args.V) +
                                             "; this kernel allows up to " +
                                             std::to_string(kMaxColumns));
}

}  // namespace chunkwise
