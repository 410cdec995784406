#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "07_chunkwise/decays_between.hpp"
#include "07_chunkwise/in_place.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::testing::register_hole;

const ladder::Options kBothStates{{"initial_state", "true"}, {"final_state", "true"}};

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("wkv_segments", "Stage1WalksTheUnits", "wkv",
                  {{"B", 1}, {"T", 40}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_segments", "Stage2CopiesStages", "wkv",
                  {{"B", 2}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_segments", "Stage3WalksASegmentFromItsStartToItsEnd", "wkv",
                  {{"B", 1}, {"T", 200}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("wkv_segments", "Stage4GoesFromSegmentToSegment", "wkv",
                  {{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}}, kBothStates, {},
                  "bf16") &&
    register_hole("wkv_segments", "Stage5CutsTime", "wkv",
                  {{"B", 1}, {"T", 256}, {"H", 3}, {"K", 64}, {"V", 64}}, {}, {}, "bf16");

// A segment has at least 128 tokens, so 129 tokens are two segments, and 257 are three.
constexpr std::int64_t kSegment = 128;

// q, k and the initial state are 1 in a single channel. Each of a few keys has its own value
// column, where v is 1. The initial state, which is the key of token -1, has one too. Therefore a
// column of o_l is the part of its key that the decays leave for query l.
KERNEL_TEST(wkv_segments, CarriesTheStateFromSegmentToSegment) {
  constexpr std::int64_t kT = 2 * kSegment + 44, kSize = 64;
  const std::vector<std::int64_t> keys = {-1, 5, kSegment - 1, kSegment, 250, 2 * kSegment + 1};
  ladder::WkvProblem problem = ladder::make_problem({.B = 1,
                                                     .T = kT,
                                                     .H = 1,
                                                     .K = kSize,
                                                     .V = kSize,
                                                     .initial_state = true,
                                                     .final_state = true,
                                                     .precision = ladder::Precision::kBf16});
  for (const char* array : {"q", "k", "v", "log_w", "u", "initial_state"})
    std::fill(problem[array].begin(), problem[array].end(), 0.0f);
  problem["u"][0] = problem["initial_state"][0] = 1;
  std::vector<double> sums = {0};
  for (std::int64_t t = 0; t < kT; ++t) {
    problem["q"][t * kSize] = problem["k"][t * kSize] = 1;
    const float log_w = -0.00390625f * static_cast<float>(1 + t * 5 % 7);
    problem["log_w"][t * kSize] = log_w;
    sums.push_back(sums.back() + log_w);
  }
  for (std::size_t n = 1; n < keys.size(); ++n)
    problem["v"][keys[n] * kSize + static_cast<std::int64_t>(n)] = 1;
  const auto outputs = ladder::run(ladder::find_implementation("wkv_segments"), problem);

  constexpr double kRounded = 0.015;  // five numbers are rounded to bf16, each by up to 0.002
  constexpr double kDecayed =
      1e-4;  // decays alone, in fp32, of the initial state in the final state
  // `left` is the remaining part of key s before token t, by the kernel.
  const auto is_left = [&](double left, std::int64_t s, std::int64_t t, double close) {
    const double right = s > t ? 0 : s == t ? 1 : std::exp(sums[t] - sums[s + 1]);
    if (std::abs(left - right) <= close * right) return ::testing::AssertionSuccess();
    std::string why;
    for (std::int64_t first = 0; why.empty() && first <= t && first < kT; first += kSegment) {
      const double decay = std::exp(sums[std::min(first + kSegment, kT)] - sums[first]);
      const std::string of = " the decay of segment " + std::to_string(first / kSegment);
      const bool passed = first + kSegment <= t;
      if (passed && std::abs(left * decay - right) < close * right) why = ", which is without" + of;
      if (std::abs(left / decay - right) < close * right) why = ", which is" + of + " too often";
    }
    if (left == 0) why = ": the segment starts without it";
    if (s > t) why = ", which is later";
    return ::testing::AssertionFailure()
           << (s < 0 ? "the initial state"
                     : "key " + std::to_string(s) + " of segment " + std::to_string(s / kSegment))
           << " times " << left << why << "\nthe decays between the two leave " << right;
  };
  for (std::size_t n = 0; n < keys.size(); ++n) {
    for (std::int64_t l = 0; l < kT; ++l) {
      ASSERT_TRUE(
          is_left(outputs.o[l * kSize + static_cast<std::int64_t>(n)], keys[n], l, kRounded))
          << "WRONG RESULT in o, query " << l << " of segment " << l / kSegment;
    }
    ASSERT_TRUE(is_left(outputs.final_state[n], keys[n], kT, n == 0 ? kDecayed : kRounded))
        << "WRONG RESULT in final_state";
  }
}

// Segment 0 ends with 1 + 2^-14, and the first token after it subtracts the 1. A state that was
// rounded to fewer digits between the segments loses the rest.
KERNEL_TEST(wkv_segments, HandsOnTheStateInFp32) {
  constexpr std::int64_t kT = kSegment + 32, kSize = 64;
  ladder::WkvProblem problem = ladder::make_problem(
      {.B = 1, .T = kT, .H = 1, .K = kSize, .V = kSize, .precision = ladder::Precision::kBf16});
  for (const char* array : {"q", "k", "v", "log_w", "u"})
    std::fill(problem[array].begin(), problem[array].end(), 0.0f);
  const float rest = std::ldexp(1.0f, -14);
  for (const auto& [t, v] : {std::pair{std::int64_t{0}, 1.0f}, {1, rest}, {kSegment, -1.0f}}) {
    problem["k"][t * kSize] = 1;
    problem["v"][t * kSize] = v;
  }
  problem["q"][(kT - 1) * kSize] = 1;
  const auto outputs = ladder::run(ladder::find_implementation("wkv_segments"), problem);
  EXPECT_EQ(outputs.o[(kT - 1) * kSize], rest) << "WRONG RESULT in o";
}

// Sub-chunks of 16 tokens, stages of 64.
const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_segments",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 16, 17, 65, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"reverse", "packed sequences", "K != V"},
     .most = {{"K", 64}, {"V", 64}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128, 256}, .others = {{"K", 64}, {"V", 64}}}}});

KERNEL_TEST(wkv_segments, SeesEachKeyThroughTheDecaysBetween) {
  chunkwise::expect_decays_between("wkv_segments");
}

// On the emulator with one SM. With three heads there is no room for more segments, so each head
// has one, of four stages. With a single head there is room for two, of three stages.
KERNEL_TEST(wkv_segments, WalksLongSegmentsOnASmallDevice) {
  const emulator::SmallerDevice device(emulator::SmallerDevice::kMultiprocessors, "1");
  for (const auto& [T, H] : {std::pair{200, 3}, {330, 1}}) {
    const ladder::WkvProblem problem =
        ladder::make_problem({.B = 1,
                              .T = T,
                              .H = H,
                              .K = 64,
                              .V = 64,
                              .initial_state = true,
                              .final_state = true,
                              .precision = ladder::Precision::kBf16});
    ladder::testing::expect_right(ladder::find_implementation("wkv_segments"), problem);
  }
}

KERNEL_TEST(wkv_segments, UpdatesTheStateInPlace) {
  ladder::WkvCase c{.B = 1, .H = 1, .initial_state = true, .final_state = true};
  c.precision = ladder::Precision::kBf16;
  for (const std::int64_t T : {kSegment, kSegment + 1, 2 * kSegment, 2 * kSegment + 1}) {
    c.T = T;
    chunkwise::expect_the_same_in_place<ladder::WkvBf16Args>("wkv_segments", c);
  }
}

}  // namespace
