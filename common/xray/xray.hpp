// The kernel X-ray: what each kernel asked of memory, and what it did wrong, counted while the
// kernel runs in the emulator.
//
// A program sees its kernels through it by being built so: kernels compiled with
// `emulator_xray_flags`, `emulator_xray` linked. Then every launch is recorded from the first one
// on. Counts follow the hardware's rules: a warp's 32 lanes that execute one instruction together
// make one request; a request moves 32-byte sectors of global memory, or takes wavefronts of the 32
// four-byte banks of shared memory. Names and rules: docs/xray.md.
#pragma once

#include <cstdint>
#include <vector>

#include "model.hpp"
#include "values.hpp"

namespace emulator::xray {

// What was recorded since the last call, by kernel, in order of first launch.
std::vector<Kernel> take();

// How many bytes of device memory cudaMemset and cudaMemcpy wrote since the last call: a launch of
// its own on a GPU, which no kernel's counters have.
std::uint64_t take_host_bytes();

// From now on the values that kernels store are kept too, until they are taken.
void keep_values();
Values take_values();

// Instead of kDefaultAccessLimit.
void set_access_limit(std::uint64_t accesses);

}  // namespace emulator::xray
