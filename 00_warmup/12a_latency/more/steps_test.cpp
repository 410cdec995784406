#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "00_warmup/12a_latency/latencies.hpp"
#include "common/core/device.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace warmup {
namespace {

const bool one_each_registered = ladder::testing::register_suite(
    "scale", "scale_one_each",
    {.sizes = {{"N", {37, 1, 256, 1000}}}, .options = {{"factor", {"3", "-0.5"}}}});

bool no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// A ring in device memory, and walks through it.
class Walk {
 public:
  Walk(unsigned places, unsigned stride) : next_(ring(places, 1)), stride_(stride) {
    std::vector<unsigned> spread(static_cast<std::size_t>(places) * stride);
    for (std::size_t i = 0; i < places; ++i)
      spread[i * stride] = next_[i] * stride;
    const std::size_t bytes = spread.size() * sizeof(unsigned);
    EXPECT_EQ(cudaMalloc(&memory_, bytes + sizeof(unsigned)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory_, spread.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    at_ = memory_ + spread.size();
    begin();
  }
  ~Walk() { cudaFree(memory_); }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  void launch(Level level, std::int64_t steps) const {
    launch_walk(level, memory_, static_cast<unsigned>(next_.size()), stride_, steps, at_);
  }
  // At element 0.
  void begin() const { EXPECT_EQ(cudaMemset(at_, 0, sizeof *at_), cudaSuccess); }
  unsigned at() const {
    unsigned at = 0;
    EXPECT_EQ(cudaMemcpy(&at, at_, sizeof at, cudaMemcpyDeviceToHost), cudaSuccess);
    return at;
  }
  unsigned right_place(std::int64_t steps) const {
    unsigned at = 0;
    while (steps-- > 0)
      at = next_[at];
    return at;
  }
  // The latency of a step after the first `before`, in nanoseconds. Each walk continues where the
  // last one ended.
  double latency(Level level, std::int64_t before, std::int64_t steps) const {
    begin();
    const auto seconds = [&](std::int64_t all) {
      double shortest = 1e9;
      for (int i = 0; i < 5; ++i) {
        shortest = std::min(
            shortest, ladder::device(ladder::DeviceKind::kCuda).time([&] { launch(level, all); }));
      }
      return shortest;
    };
    return (seconds(before + steps) - seconds(before)) / static_cast<double>(steps) * 1e9;
  }

 private:
  std::vector<unsigned> next_;
  unsigned stride_;
  unsigned *memory_ = nullptr, *at_ = nullptr;
};

TEST(Walk, EndsWhereTheRingSays) {
  if (no_gpu()) return;
  for (const unsigned stride : {1u, 32u}) {
    const Walk walk(37, stride);
    for (const std::int64_t steps : {0, 1, 5, 37, 100}) {
      walk.begin();
      walk.launch(Level::kShared, steps);
      EXPECT_EQ(walk.at(), walk.right_place(steps));
      walk.begin();
      walk.launch(Level::kGlobal, steps);
      EXPECT_EQ(walk.at(), walk.right_place(steps) * stride);
      walk.launch(Level::kGlobal, 3);
      EXPECT_EQ(walk.at(), walk.right_place(steps + 3) * stride);
    }
    walk.begin();
    walk.launch(Level::kRegisters, 3);
    EXPECT_EQ(walk.at(), (stride * 37 + stride) * 37 + stride);
  }
}

TEST(Walk, RefusesWhatItCannotDo) {
  EXPECT_THROW(launch_walk(Level::kGlobal, nullptr, 0, 1, 1, nullptr), std::invalid_argument);
  EXPECT_THROW(launch_walk(Level::kGlobal, nullptr, 1, 0, 1, nullptr), std::invalid_argument);
  EXPECT_THROW(launch_walk(Level::kGlobal, nullptr, 1, 1, -1, nullptr), std::invalid_argument);
  EXPECT_THROW(launch_walk(Level::kShared, nullptr, kSharedPlaces + 1, 1, 1, nullptr),
               std::invalid_argument);
}

// The README's table. Each element of the ring has its own line of 128 bytes. If the ring fits into
// the cache, a walk goes around once first. The walks of 2 GB together are shorter than their ring,
// so none comes to a line that another one has fetched.
TEST(Walk, TakesLongerFartherAway) {
  if (no_gpu()) return;
  if (ladder::device(ladder::DeviceKind::kCuda).back_end() != "cuda") return;
  constexpr unsigned kLine = 32;
  constexpr std::int64_t kSteps = 100'000;
  const Walk small(128, kLine), middle(1 << 16, kLine), large(1 << 24, kLine);
  const double times[] = {
      small.latency(Level::kRegisters, 1000, kSteps), small.latency(Level::kShared, 1000, kSteps),
      small.latency(Level::kGlobal, 1000, kSteps), middle.latency(Level::kGlobal, 1 << 17, kSteps),
      large.latency(Level::kGlobal, 1000, kSteps)};
  const char* const names[] = {"a result in a register", "shared memory", "L1, 16 KB", "L2, 8 MB",
                               "device memory, 2 GB"};
  for (int i = 0; i < 5; ++i)
    std::printf("%-24s %7.1f ns\n", names[i], times[i]);
  EXPECT_TRUE(std::is_sorted(std::begin(times), std::end(times)));
}

}  // namespace
}  // namespace warmup
