// Included at the beginning of each .cu file that ./ladder check compiles, as nvcc includes
// cuda_runtime.h.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_runtime.h"
#include "device_functions.hpp"

#define __CUDACC__ 1
#define __NVCC__ 1
