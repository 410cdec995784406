// Runs all kernels of xray_kernels.cu for Nsight Compute or, instrumented, prints their counts.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "xray_kernels.hpp"
#ifdef EMULATOR_XRAY
#include "common/xray/report.hpp"
#include "common/xray/xray.hpp"
#endif

int main() {
  float* in = nullptr;
  float* out = nullptr;
  cudaMalloc(&in, xray_kernels::kIn * sizeof(float));
  cudaMalloc(&out, xray_kernels::kBlocks * xray_kernels::kThreads * sizeof(float));
  cudaMemset(in, 0, xray_kernels::kIn * sizeof(float));
  cudaMemset(out, 0, xray_kernels::kBlocks * xray_kernels::kThreads * sizeof(float));
#ifdef EMULATOR_XRAY
  std::vector<emulator::xray::Subject> subjects;
#endif
  for (const std::string& name : xray_kernels::names()) {
    xray_kernels::run(name, out, in);
    if (cudaDeviceSynchronize() != cudaSuccess) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), cudaGetErrorString(cudaPeekAtLastError()));
      return EXIT_FAILURE;
    }
#ifdef EMULATOR_XRAY
    subjects.push_back({"", name, emulator::xray::take().at(0)});
#endif
  }
#ifdef EMULATOR_XRAY
  std::puts(emulator::xray::to_json(subjects).dump().c_str());
#endif
  return EXIT_SUCCESS;
}
