// What a Hopper GPU's tensor cores do at most: only nvcc compiles it, for sm_90a (warpgroup_ceiling_sm90.cu).
#pragma once

namespace ladder::cuda {

// Launches products of warpgroups on every multiprocessor and gives their multiply-adds; keep is one float per multiprocessor.
using WarpgroupCeiling = double (*)(int multiprocessors, float* keep);

// Null where it is not compiled in.
extern WarpgroupCeiling warpgroup_ceiling;

}  // namespace ladder::cuda
