// The fixture of the X-ray's tests, and their access to recordings.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "common/emulator/test/after_reset.hpp"
#include "common/xray/xray.hpp"

class RecordedTest : public AfterReset {
 protected:
  void SetUp() override {
    AfterReset::SetUp();
    emulator::xray::take();
  }

  // The only recorded kernel, even if its launch failed.
  static emulator::xray::Kernel only() {
    cudaGetLastError();
    const std::vector<emulator::xray::Kernel> kernels = emulator::xray::take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? emulator::xray::Kernel{} : kernels.front();
  }
};
