// Constants of a warp.
#pragma once

namespace ladder::cuda {

constexpr int kWarpSize = 32;
constexpr unsigned kAllLanes = 0xffffffffu;  // the mask of a shuffle or a vote

}  // namespace ladder::cuda
