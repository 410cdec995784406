// Stands in for the CUDA Toolkit's header: the types of the driver's functions that are asked for by name.
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = decltype(&cuTensorMapEncodeTiled);
