// The maximum rate of a Hopper GPU's tensor cores. Only nvcc compiles it, for sm_90a
// (warpgroup_ceiling_sm90.cu).
#pragma once

namespace ladder::cuda {

// Launches warpgroup MMAs on every SM and returns their FMAs. `keep` has one float per SM.
using WarpgroupCeiling = double (*)(int multiprocessors, float* keep);

// Null if it is not compiled in.
extern WarpgroupCeiling warpgroup_ceiling;

}  // namespace ladder::cuda
