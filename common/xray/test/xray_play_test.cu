// Tests the steps of a block that the player plays.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/test/device_vector.hpp"
#include "common/xray/play.hpp"
#include "common/xray/xray.hpp"
#include "emulator/emulator.hpp"

namespace {

using namespace emulator::xray;

constexpr int kThreads = 64;

__global__ void turns_around(float* out, const float* in, bool with_barrier) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = in[threadIdx.x];
  if (with_barrier || blockIdx.x == 0) __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}
constexpr int kLineOfBarrier = __LINE__ - 3;

__global__ void long_loop(float* out, const float* in, int steps) {
  float sum = 0;
  for (int i = 0; i < steps; ++i)
    sum += in[(threadIdx.x + i) % kThreads];
  out[threadIdx.x] = sum;
}

class XrayPlay : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    take();
    keep_play();
  }
  void TearDown() override {
    take_play();
    emulator::reset();
  }

  Play play(bool with_barrier) {
    turns_around<<<2, kThreads>>>(out_.data(), in_.data(), with_barrier);
    cudaDeviceSynchronize();
    take();
    return take_play();
  }

  const DeviceVector<float> in_{std::vector<float>(kThreads, 1.0f)};
  const DeviceVector<float> out_{std::vector<float>(2 * kThreads)};
};

std::vector<std::pair<std::string, unsigned>> steps_of(const Play& play) {
  std::vector<std::pair<std::string, unsigned>> steps;
  for (const Play::Step& step : play.steps)
    steps.emplace_back(play.lines[step.line].operation, step.warp);
  return steps;
}

TEST_F(XrayPlay, WarpsTakeTurnsBetweenBarriers) {
  const Play played = play(true);
  const std::vector<std::pair<std::string, unsigned>> expected = {
      {"global load", 0},  {"global load", 1},  {"shared store", 0},
      {"shared store", 1}, {"barrier", 0},      {"shared load", 0},
      {"shared load", 1},  {"global store", 0}, {"global store", 1}};
  EXPECT_EQ(steps_of(played), expected);
  EXPECT_EQ(played.lines[played.steps[4].line].where.line, kLineOfBarrier);
  EXPECT_EQ(played.steps[6].offset[1], (kThreads - 1 - 33) * 4);
  EXPECT_EQ(played.steps[6].wavefronts, 1u);
  EXPECT_EQ(played.steps[0].sectors, 4u);
  EXPECT_EQ(played.steps_of_block, expected.size());
  ASSERT_EQ(played.variables.size(), 1u);
  EXPECT_EQ(played.variables[0].name, "tile");
  EXPECT_TRUE(played.errors.empty());
}

TEST_F(XrayPlay, PlaysTheBlockWithAnErrorAndItsStep) {
  const Play played = play(false);
  EXPECT_EQ(played.of_block.x, 1u);
  EXPECT_FALSE(played.errors.empty());
  bool seen = false;
  for (const Play::Step& step : played.steps) {
    for (const std::size_t error : step.errors)
      seen = seen || error < played.errors.size();
  }
  EXPECT_TRUE(seen);
}

TEST_F(XrayPlay, PlaysTheFirstStepsOfALongBlock) {
  long_loop<<<1, 32>>>(out_.data(), in_.data(), 2 * static_cast<int>(Play::kMostSteps));
  cudaDeviceSynchronize();
  take();
  const Play played = take_play();
  EXPECT_EQ(played.first, 0u);
  EXPECT_EQ(played.steps.size(), Play::kMostSteps);
  EXPECT_EQ(played.steps_of_block, 2 * Play::kMostSteps + 1);
}

TEST_F(XrayPlay, WritesEqualPatternsOnce) {
  std::ostringstream text;
  write_play(text, play(true));
  const nlohmann::json json = nlohmann::json::parse(text.str());
  EXPECT_EQ(json.at("schema"), "kernel-ladder/play/1");
  EXPECT_EQ(json.at("patterns").size(), 2u);  // forward and backward
  EXPECT_EQ(json.at("patterns").at(0), nlohmann::json::parse("[[0, 32, 0, 4]]"));
  EXPECT_EQ(json.at("patterns").at(1), nlohmann::json::parse("[[0, 32, 124, -4]]"));
  // line, warp, least offset, pattern, wavefronts, bank conflicts
  EXPECT_EQ(json.at("steps").at(3), nlohmann::json::parse("[1, 1, 128, 0, 1, 0]"));
  EXPECT_EQ(json.at("steps").at(4).size(), 2u);
}

TEST_F(XrayPlay, KeepsNothingUnlessAsked) {
  take_play();
  EXPECT_TRUE(play(true).steps.empty());
}

}  // namespace
