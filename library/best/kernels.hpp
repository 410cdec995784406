// The kernels to choose from.
#pragma once

namespace ladder::best {

enum class Kernel {
  kSharedMem,
  kFusedRecurrent,
  kTimeTiles,
  kChunkwise,
  kChunkwiseFused,
  kStrips,
  kPacked,
  kPrefix,
  kChunkStates,
  kLinearChunkwise,
  kScalarTiles,
  kPipelined,
  kHopper,
  kSplitKeys,
  kSlidingWindow,
  kGradientsScalar,
  kGradientsTwoKernels,
  kGradients,
  kGradientsHopper,
};

// Its registered name: "wkv_time_tiles".
const char* name_of(Kernel kernel);

}  // namespace ladder::best
