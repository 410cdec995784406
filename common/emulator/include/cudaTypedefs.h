// Replaces the CUDA Toolkit's header, for the one driver function that can be looked up.
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = decltype(&cuTensorMapEncodeTiled);
