#include "library/best/kernels.hpp"

namespace ladder::best {

const char* name_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::kSharedMem: return "wkv_shared_mem";
    case Kernel::kFusedRecurrent: return "wkv_fused_recurrent";
    case Kernel::kTimeTiles: return "wkv_time_tiles";
    case Kernel::kChunkwise: return "wkv_chunkwise";
    case Kernel::kChunkwiseFused: return "wkv_chunkwise_fused";
    case Kernel::kStrips: return "causal_dot_product";
    case Kernel::kPacked: return "packed_causal_product";
    case Kernel::kPrefix: return "prefix_causal_product";
    case Kernel::kChunkStates: return "linear_attention_chunk_states";
    case Kernel::kLinearChunkwise: return "linear_attention_chunkwise";
    case Kernel::kScalarTiles: return "attention_scalar_tiles";
    case Kernel::kPipelined: return "attention_pipelined";
    case Kernel::kHopper: return "attention_sm90";
    case Kernel::kSplitKeys: return "attention_split_keys";
    case Kernel::kSlidingWindow: return "attention_sliding_window";
    case Kernel::kGradientsScalar: return "attention_backward_scalar";
    case Kernel::kGradientsTwoKernels: return "attention_backward_two_kernels";
    case Kernel::kGradients: return "attention_backward";
    case Kernel::kGradientsHopper: return "attention_backward_sm90";
  }
  return "";
}

}  // namespace ladder::best
