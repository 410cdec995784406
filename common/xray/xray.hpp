// The kernel X-ray: counts memory requests and finds errors while kernels run in the emulator.
// Compile the kernels with `emulator_xray_flags` and link `emulator_xray`. Then every launch is
// recorded. Counts follow the hardware's rules: a warp's 32 lanes that execute one instruction
// together make one request, which moves 32-byte sectors of global memory or takes wavefronts of
// the 32 four-byte banks of shared memory. Names and rules: docs/xray.md.
#pragma once

#include <cstdint>
#include <vector>

#include "model.hpp"
#include "values.hpp"

namespace emulator::xray {

// The recording since the last call, by kernel, in order of first launch.
std::vector<Kernel> take();

// The bytes that cudaMemset and cudaMemcpy wrote to device memory since the last call. A GPU
// launches these separately, so no kernel's counters include them.
std::uint64_t take_host_bytes();

// From now on stored values are kept, too, until they are taken.
void keep_values();
Values take_values();

// Replaces kDefaultAccessLimit.
void set_access_limit(std::uint64_t accesses);

}  // namespace emulator::xray
