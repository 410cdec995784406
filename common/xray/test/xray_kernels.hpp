// Kernels with known counts, for the X-ray's tests and for comparisons with Nsight Compute.
#pragma once

#include <string>
#include <vector>

namespace xray_kernels {

// Each runs on kBlocks blocks of kThreads threads. `in` has kIn floats, `out` one per thread.
constexpr int kBlocks = 2;
constexpr int kThreads = 64;
constexpr int kWarps = kBlocks * kThreads / 32;
constexpr int kIn = 8192;

std::vector<std::string> names();
void run(const std::string& name, float* out, const float* in);

}  // namespace xray_kernels
