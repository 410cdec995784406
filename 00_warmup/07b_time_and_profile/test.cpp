#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "00_warmup/07b_time_and_profile/pieces.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace warmup {
namespace {

const bool registered =
    ladder::testing::register_suite("vector_add", "vector_add_in_pieces",
                                    {.sizes = {{"N", {200, 1, 7, 8, 9, 15, 16, 17, 1000, 2049}}}});

bool no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// Memory that both the host and copies of a stream may use.
class Pinned {
 public:
  explicit Pinned(std::int64_t N) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, static_cast<std::size_t>(N) * sizeof(float)), cudaSuccess);
    data_ = static_cast<float*>(memory);
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  float* data() const { return data_; }
  float& operator[](std::int64_t i) const { return data_[i]; }

 private:
  float* data_ = nullptr;
};

// a = 0, 1, 2, ..., b = 0.5.
struct Arrays {
  explicit Arrays(std::int64_t N) : size(N), a(N), b(N), c(N) {
    for (std::int64_t i = 0; i < N; ++i)
      a[i] = static_cast<float>(i), b[i] = 0.5f, c[i] = -1.0f;
  }
  VectorAddArgs args() const {
    VectorAddArgs args;
    args.N = size, args.a = a.data(), args.b = b.data(), args.c = c.data();
    return args;
  }
  std::int64_t size;
  Pinned a, b, c;
};

// Empty if c is right.
std::string what_is_wrong(const Arrays& arrays) {
  const std::int64_t piece = (arrays.size + kPieces - 1) / kPieces;
  for (std::int64_t i = 0; i < arrays.size; ++i) {
    const float right = arrays.a[i] + arrays.b[i], yours = arrays.c[i];
    if (yours == right) continue;
    std::ostringstream text;
    text << "WRONG RESULT: c[" << i << "] in piece " << i / piece << " is " << yours << ", right "
         << right << "\n";
    if (std::isnan(yours)) {
      text << "a kernel ran before the copies of its piece had arrived: it has to wait for them\n";
    } else if (yours == -1.0f) {
      text << "c was not copied back when add_in_pieces returned\n";
    } else if (yours > right) {
      text << "a later piece was copied into a buffer before the kernel had read it: the copy has "
              "to wait for the kernel\n";
    } else {
      text << "a kernel ran before the copies of its piece had arrived, on an older piece: it has "
              "to wait for them\n";
    }
    return text.str();
  }
  return "";
}

void expect_right_sums_under(const std::string& schedule) {
  ladder::device(ladder::DeviceKind::kCuda).use_schedule(schedule);
  const Arrays arrays(1000);
  add_in_pieces(arrays.args());
  const std::string wrong = what_is_wrong(arrays);
  if (!wrong.empty()) ADD_FAILURE() << wrong;
}

// One warp's sum, again and again.
class OneWarp {
 public:
  OneWarp() {
    EXPECT_EQ(cudaMalloc(&memory_, 3 * kElements * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0, 3 * kElements * sizeof(float)), cudaSuccess);
  }
  ~OneWarp() { cudaFree(memory_); }
  OneWarp(const OneWarp&) = delete;
  OneWarp& operator=(const OneWarp&) = delete;

  // `elsewhere` counts launches into the default stream.
  float mean(int warm_up, int launches, int& elsewhere) const {
    return mean_milliseconds(
        [&, this](cudaStream_t stream) {
          elsewhere += stream == nullptr;
          launch_add_piece(memory_, memory_ + kElements, memory_ + 2 * kElements, kElements,
                           stream);
        },
        warm_up, launches);
  }

 private:
  static constexpr std::int64_t kElements = 32;
  float* memory_ = nullptr;
};

// The host sleeps in these launches, and its own clock measures the timed ones together. Other
// work of the machine can come between the two clocks, so one of several tries has to agree.
void expect_mean_of_known_launches(int warm_up) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLaunches = 3;
  float mean = 0, right = 0;
  for (int i = 0; i < 10; ++i) {
    std::vector<Clock::time_point> begun;
    mean = mean_milliseconds(
        [&](cudaStream_t) {
          begun.push_back(Clock::now());
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        warm_up, kLaunches);
    ASSERT_EQ(begun.size(), static_cast<std::size_t>(warm_up + kLaunches)) << "WRONG RESULT";
    const std::chrono::duration<float, std::milli> timed = Clock::now() - begun[warm_up];
    right = timed.count() / kLaunches;
    if (mean > 0.75f * right && mean < 1.25f * right) return;
  }
  FAIL() << "WRONG RESULT: the mean of " << kLaunches << " launches is " << mean
         << " ms, and should be about " << right << " ms: "
         << (mean < 0 ? "a time below 0: the first event and the last one are exchanged"
                      : "divide the time of all that are timed by their number");
}

TEST(vector_add_in_pieces, Hole1TimesTheLaunchesBehindTheWarmUp) {
  if (no_gpu()) return;
#ifdef EMULATOR_LAUNCH  // only the emulator records the order of operations
  const OneWarp work;
  constexpr int kWarmUp = 3, kLaunches = 5;
  emulator::reset();
  int elsewhere = 0;
  work.mean(kWarmUp, kLaunches, elsewhere);
  cudaDeviceSynchronize();
  const std::string log = emulator::stream_log();  // k is a kernel, e an event
  ASSERT_TRUE(log.find('d') == std::string::npos)
      << "WRONG RESULT: an event was recorded in the default stream, not in the one of the "
         "launches: give cudaEventRecord the stream";
  ASSERT_EQ(elsewhere, 0) << "WRONG RESULT: " << elsewhere
                          << " launches went to the default stream, not to the one of the events: "
                             "give `launch` the stream";
  const auto kernels = std::count(log.begin(), log.end(), 'k');
  EXPECT_EQ(kernels, kWarmUp + kLaunches) << "WRONG RESULT: launched " << kernels
                                          << " times; right: 3 for warming up, 5 that are timed";
  ASSERT_NE(log.find('e'), std::string::npos) << "WRONG RESULT: no event was recorded";
  EXPECT_GE(log.find('e'), std::size_t{kWarmUp})
      << "WRONG RESULT: the first event stands before the end of the warm-up, so that its time "
         "counts, too";
  EXPECT_LE(log.find('e'), std::size_t{kWarmUp})
      << "WRONG RESULT: launches that should be timed stand before the first event";
  EXPECT_EQ(log.back(), 'e') << "WRONG RESULT: launches stand behind the last event";
#endif
  for (const int warm_up : {3, 0}) {
    if (!HasFailure()) expect_mean_of_known_launches(warm_up);
  }
}

TEST(vector_add_in_pieces, Hole2CopiesWaitForTheKernelBefore) {
  if (no_gpu()) return;
  expect_right_sums_under("reverse");  // copies are done as soon as nothing holds them
}

TEST(vector_add_in_pieces, Hole3KernelsWaitForTheirCopies) {
  if (no_gpu()) return;
  expect_right_sums_under("forward");  // no copy is done before a call waits for it
}

#ifdef EMULATOR_LAUNCH
TEST(vector_add_in_pieces, CopiesAPieceWhileAnotherIsAdded) {
  std::ptrdiff_t ahead = 0;
  std::string logs;
  for (const char* schedule : {"forward", "reverse"}) {
    emulator::reset();
    expect_right_sums_under(schedule);
    const std::string log = emulator::stream_log();
    const auto first_kernel = std::find(log.begin(), log.end(), 'k');
    ahead = std::max(ahead, std::count(log.begin(), first_kernel, 'c'));
    logs += std::string(schedule) + ": " + log.substr(0, 30) + "...\n";
  }
  EXPECT_EQ(ahead, 2 * 2) << "WRONG RESULT: the sums are right, but two pieces of a and b should "
                             "have been copied before the first kernel where the order allows it: "
                             "the copies wait for a kernel that does not use their buffer\n"
                             "k kernel, c copy, e event, w a stream waited\n"
                          << logs;
}
#endif

// A copy cannot use a vector's memory directly, so it is complete when its call returns. The sums
// are right all the same.
TEST(vector_add_in_pieces, TakesAnyMemoryOfTheHost) {
  if (no_gpu()) return;
  for (const std::int64_t N : {1, 8, 100}) {
    const std::vector<float> a(N, 1.0f), b(N, 2.0f);
    std::vector<float> c(N, -1.0f);
    VectorAddArgs args;
    args.N = N, args.a = a.data(), args.b = b.data(), args.c = c.data();
    add_in_pieces(args);
    EXPECT_EQ(c, std::vector<float>(N, 3.0f)) << "WRONG RESULT";
  }
}

TEST(MeanMilliseconds, RefusesNoLaunches) {
  const auto nothing = [](cudaStream_t) {};
  EXPECT_THROW(mean_milliseconds(nothing, 1, 0), std::invalid_argument);
  EXPECT_THROW(mean_milliseconds(nothing, -1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace warmup
