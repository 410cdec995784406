// What the X-ray's own tests begin and end with, and how they get what was recorded.
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

  // The one kernel that was recorded, whatever became of its launch.
  static emulator::xray::Kernel only() {
    cudaGetLastError();
    const std::vector<emulator::xray::Kernel> kernels = emulator::xray::take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? emulator::xray::Kernel{} : kernels.front();
  }
};
