// The emulator's header, with the runtime calls that the course does not need.
#pragma once

#include "../../emulator/include/cuda_runtime.h"

#include "host_functions.hpp"
