// Replaces the CUDA Toolkit's header: language, device functions and runtime calls.
#pragma once

#include "emulator/atomics.hpp"
#include "emulator/launch.hpp"
#include "emulator/math.hpp"
#include "emulator/runtime.hpp"
#include "emulator/threads.hpp"
#include "emulator/vector_types.hpp"
#include "emulator/warp.hpp"
