// The fixture of the emulator's tests, and the orders of threads that they use.
#pragma once

#include <gtest/gtest.h>

#include "emulator/emulator.hpp"

inline const emulator::Schedule kSchedules[] = {{emulator::Schedule::forward, 0},
                                                {emulator::Schedule::reverse, 0},
                                                {emulator::Schedule::shuffle, 1},
                                                {emulator::Schedule::shuffle, 2}};

class AfterReset : public testing::Test {
 protected:
  void SetUp() override { emulator::reset(); }
  void TearDown() override { emulator::reset(); }
};
