// Chooses the fastest kernel for a shape. These are pure functions that launch nothing. README.md
// explains the table of costs that they compare.
#pragma once

#include <array>
#include <cstddef>

#include "library/best/shapes.hpp"

namespace ladder::best {

// Their registered names.
// clang-format off
#define LADDER_BEST_KERNELS(KERNEL)                              \
  KERNEL(kSharedMem, "wkv_shared_mem")                           \
  KERNEL(kFusedRecurrent, "wkv_fused_recurrent")                 \
  KERNEL(kTimeTiles, "wkv_time_tiles")                           \
  KERNEL(kChunkwise, "wkv_chunkwise")                            \
  KERNEL(kChunkwiseFused, "wkv_chunkwise_fused")                 \
  KERNEL(kStrips, "causal_dot_product")                          \
  KERNEL(kPacked, "packed_causal_product")                       \
  KERNEL(kPrefix, "prefix_causal_product")                       \
  KERNEL(kChunkStates, "linear_attention_chunk_states")          \
  KERNEL(kLinearChunkwise, "linear_attention_chunkwise")         \
  KERNEL(kScalarTiles, "attention_scalar_tiles")                 \
  KERNEL(kPipelined, "attention_pipelined")                      \
  KERNEL(kHopper, "attention_sm90")                              \
  KERNEL(kSplitKeys, "attention_split_keys")                     \
  KERNEL(kSlidingWindow, "attention_sliding_window")             \
  KERNEL(kGradientsScalar, "attention_backward_scalar")          \
  KERNEL(kGradientsTwoKernels, "attention_backward_two_kernels") \
  KERNEL(kGradients, "attention_backward")                       \
  KERNEL(kGradientsHopper, "attention_backward_sm90")
// clang-format on
#define LADDER_BEST_ID(id, name) id,
enum class Kernel { LADDER_BEST_KERNELS(LADDER_BEST_ID) };
#undef LADDER_BEST_ID

// Its registered name: "wkv_time_tiles".
const char* name_of(Kernel kernel);

// The choice and its reason.
struct Choice {
  struct Time {
    Kernel kernel = {};
    double microseconds = 0;
  };
  Kernel kernel = {};
  const char* rule = "";              // in words
  std::array<Time, 5> compared = {};  // by the table of costs; none if a rule alone decides
  std::size_t times = 0;
};
Choice explain(const RecurrenceShape& shape, int multiprocessors);
Choice explain(const LinearAttentionShape& shape, int multiprocessors);
Choice explain(const AttentionShape& shape);

template <typename Shape, typename... Multiprocessors>
Kernel choose(const Shape& shape, Multiprocessors... multiprocessors) {
  return explain(shape, multiprocessors...).kernel;
}

}  // namespace ladder::best
