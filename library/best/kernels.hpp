// The kernels to choose from, and their registered names.
#pragma once

namespace ladder::best {

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
inline const char* name_of(Kernel kernel) {
#define LADDER_BEST_NAME(id, name) name,
  constexpr const char* kNames[] = {LADDER_BEST_KERNELS(LADDER_BEST_NAME)};
#undef LADDER_BEST_NAME
  return kNames[static_cast<int>(kernel)];
}

}  // namespace ladder::best
