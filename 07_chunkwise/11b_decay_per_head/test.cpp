#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

// Sub-chunks of 16 tokens, stages of 64.
const bool registered = ladder::testing::register_suite(
    "decay_per_head", "decay_per_head_chunkwise",
    {.storages = {"bf16"},
     .sizes = {{"B", {2, 1}},
               {"T", {37, 0, 1, 16, 65, 130}},
               {"H", {3, 1, 4}},
               {"K", {64}},
               {"V", {64}}},
     .options = {{"scale", {"1", "0.125"}}},
     .most = {{"K", 64}, {"V", 64}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});

// All outputs after a NaN decay are NaN, and earlier outputs are unchanged.
KERNEL_TEST(decay_per_head, HandsANanOn) {
  constexpr std::int64_t kSteps = 130, kWhere = 69, kWidth = 64;
  const ladder::Implementation i = ladder::find_implementation("decay_per_head_chunkwise");
  const auto problem =
      ladder::testing::case_of("decay_per_head",
                               {{"B", 1}, {"T", kSteps}, {"H", 1}, {"K", 64}, {"V", 64}}, {},
                               "bf16", {})
          ->make()
          ->with("log_w", kWhere, std::numeric_limits<float>::quiet_NaN());
  const std::vector<unsigned char> bytes = ladder::testing::computed(i, *problem);
  std::vector<ladder::bfloat16> o(static_cast<std::size_t>(kSteps * kWidth));
  ASSERT_EQ(bytes.size(), o.size() * sizeof(ladder::bfloat16));
  std::memcpy(o.data(), bytes.data(), bytes.size());
  for (std::int64_t t = 0; t < kSteps; ++t) {
    if (t >= kWhere / 16 * 16 && t < kWhere) continue;  // NaN may reach its own sub-chunk
    EXPECT_EQ(std::isnan(to_float(o[t * kWidth])), t >= kWhere)
        << "WRONG RESULT in o: a NaN decay, token " << t;
  }
}

// The page's example of the factor between two neighbours, after 14 tokens of the same decay.
TEST(decay_per_head, SubtractsSumsBecauseAQuotientIsNoNumber) {
  const float log_w = -8, earlier = 14 * log_w, later = 15 * log_w;
  EXPECT_EQ(std::exp(earlier), 0.0f);
  EXPECT_TRUE(std::isnan(std::exp(later) / std::exp(earlier)));
  EXPECT_FLOAT_EQ(std::exp(later - earlier), 3.3546263e-4f);
}

// Decays stronger than -104 count as -104. After 14 of them a sum has a resolution of 1.2e-4.
TEST(decay_per_head, KeepsDigitsBehindTokensThatForgetEverything) {
  EXPECT_TRUE(std::isnan(-INFINITY - -INFINITY));
  EXPECT_EQ(std::exp(-104.0f), 0.0f);
  double worst = 0;
  for (float log_w = -0.3f; log_w < 0; log_w += 0.001f) {
    const float earlier = -104.0f * 14, later = earlier + log_w;
    worst = std::fmax(worst, std::abs(std::exp(later - earlier) / std::exp(log_w) - 1));
  }
  EXPECT_LT(worst, 6.2e-5);
  EXPECT_GT(worst, 5.5e-5);
}

}  // namespace
