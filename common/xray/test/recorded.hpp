// What the X-ray's own tests begin and end with, and how they get what was recorded.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/xray/xray.hpp"
#include "emulator/emulator.hpp"

inline const emulator::Schedule kSchedules[] = {{emulator::Schedule::forward, 0},
                                                {emulator::Schedule::reverse, 0},
                                                {emulator::Schedule::shuffle, 1},
                                                {emulator::Schedule::shuffle, 2}};

class RecordedTest : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    emulator::xray::take();
  }
  void TearDown() override { emulator::reset(); }

  // The one kernel that was recorded, whatever became of its launch.
  static emulator::xray::Kernel only() {
    cudaGetLastError();
    const std::vector<emulator::xray::Kernel> kernels = emulator::xray::take();
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? emulator::xray::Kernel{} : kernels.front();
  }
};
