#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::LinearAttentionCase;
using ladder::Precision;

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunkwise",
    {.storages = {"fp32", "bf16", "fp16"},
     .sizes = {{"T", {0, 1, 17, 18, 20, 64, 130, 200}},
               {"K", {4, 64, 100}},
               {"V", {4, 1, 3, 64, 100}}},
     .nan_tile = 64,
     .also = {{{{"B", 1}, {"T_q", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 4}},
               {{"normalize", "false"}, {"key_lengths", "true"}, {"seed", "70"}},
               "bf16"},
              {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 64}, {"V", 4}},
               {{"eps", "8"}, {"key_lengths", "true"}, {"seed", "56"}},
               "bf16"},
              {{{"B", 2}, {"T_q", 1}, {"T", 64}, {"H", 3}, {"K", 64}, {"V", 100}},
               {{"normalize", "false"}, {"magnitude", "1e8"}, {"seed", "2"}},
               "bf16"},
              {{{"B", 2}, {"T_q", 64}, {"T", 1}, {"H", 3}, {"K", 4}, {"V", 100}},
               {{"feature_map", "identity"}, {"normalize", "false"}, {"seed", "43"}}},
              {{{"B", 2}, {"T_q", 64}, {"T", 1}, {"H", 3}, {"K", 4}, {"V", 64}},
               {{"causal", "false"},
                {"feature_map", "identity"},
                {"normalize", "false"},
                {"key_lengths", "true"},
                {"magnitude", "1e-8"},
                {"seed", "576"}}}},
     // Chunks of 16 to 64 steps, and segments of four chunks or more.
     .borders = {{.size = "K", .at = {64, 128}},
                 {.size = "V", .at = {64, 128}},
                 {.size = "T", .at = {32, 64, 128}},
                 {.size = "T", .at = {255, 512}, .others = {{"H", 1}}}}});

void expect_right(const LinearAttentionCase& c) {
  const auto implementation = ladder::find_implementation("linear_attention_chunkwise");
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Few heads and a long sequence, so time is cut into segments. Each begins with the sum of all
// earlier segments, in each of two column tiles.
KERNEL_TEST(linear_attention_chunkwise, MatchesReferenceWhereTimeIsCut) {
  for (const bool causal : {true, false}) {
    LinearAttentionCase c{.B = 2, .T_q = 530, .T_k = 600, .H = 1, .K = 20, .V = 100};
    c.precision = Precision::kBf16;
    c.causal = causal;
    c.key_lengths = true;
    expect_right(c);
    c = {.B = 1, .T_q = 300, .T_k = 270, .H = 1, .K = 32, .V = 100};
    c.causal = causal;
    c.feature_map = ladder::FeatureMap::kIdentity;
    c.normalize = false;
    expect_right(c);
  }
}

// The suite's cases have at most 100 rows.
KERNEL_TEST(linear_attention_chunkwise, MatchesReferenceWithWideStates) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    LinearAttentionCase c{.B = 1, .T_q = 40, .T_k = 40, .H = 2, .K = 256, .V = 72};
    c.precision = precision;
    expect_right(c);
    c.feature_map = ladder::FeatureMap::kIdentity;
    c.normalize = false;
    expect_right(c);
  }
}

// ---- The largest number of fp16 is 65504 ----

// One channel. v has two columns, the given values and 1/64. Without a normaliser there is no
// feature map, so o_t is the sum over s of q_t k_s v_s.
std::vector<float> run_in_fp16(const std::vector<float>& q, const std::vector<float>& k,
                               const std::vector<float>& v, bool normalize = false) {
  LinearAttentionCase c{.B = 1, .T_q = std::ssize(q), .T_k = std::ssize(q), .H = 1, .K = 1, .V = 2};
  if (!normalize) c.feature_map = ladder::FeatureMap::kIdentity;
  c.normalize = normalize;
  c.eps = 1e-12f;
  c.precision = Precision::kFp16;
  auto problem = ladder::make_problem(c);
  problem["q"] = q, problem["k"] = k;
  for (std::size_t t = 0; t < v.size(); ++t)
    problem["v"][2 * t] = v[t], problem["v"][2 * t + 1] = 0x1p-6f;
  return ladder::run(ladder::find_implementation("linear_attention_chunkwise"), problem);
}

// An output from 65520 on becomes infinite when it is stored. The sums are fp32, so a later output
// is right again.
KERNEL_TEST(linear_attention_chunkwise, StoresInfinityBeyondFp16) {
  const std::vector<float> o = run_in_fp16({1, 1, 1, 1}, {1, 1, 1, 1}, {65504, 15, 1, -60000}),
                           expected = {65504, 65504, INFINITY, 5520};
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_EQ(o[2 * t], expected[t]) << "token " << t;
    EXPECT_EQ(o[2 * t + 1], static_cast<float>(t + 1) * 0x1p-6f) << "token " << t;
  }
}

// A state is rounded to fp16 as a factor of the next product, and so is a score. Above 65504 they
// are scaled by a power of two.
KERNEL_TEST(linear_attention_chunkwise, TakesAStateBeyondFp16) {
  const std::size_t T = 48;
  std::vector<float> q(T, 0x1p-6f), k(T, 1.0f), v(T, 0.0f);
  std::fill_n(v.begin(), 16, 5000.0f);
  std::fill_n(v.begin() + 16, 16, -5000.0f);
  const std::vector<float> o = run_in_fp16(q, k, v);
  for (std::size_t t = 0; t < T; ++t) {
    const float sum = 5000.0f * static_cast<float>(t < 16 ? t + 1 : t < 32 ? 31 - t : 0);
    EXPECT_NEAR(o[2 * t], sum / 64, 80000.0f * 0x1p-16f) << "token " << t;
    EXPECT_EQ(o[2 * t + 1], static_cast<float>(t + 1) * 0x1p-12f) << "token " << t;
  }
}
// 65535 is below 2^16, but from 65520 on fp16 rounds to infinity.
KERNEL_TEST(linear_attention_chunkwise, TakesAStateBetweenTheLastNumberAndTheNextPower) {
  std::vector<float> q(17, 0.0f), k(17, 0.0f), v(17, 0.0f);
  q[16] = 0.5f, k[0] = 257.0f, v[0] = 255.0f;
  EXPECT_EQ(run_in_fp16(q, k, v)[2 * 16], 32768);  // 65535 / 2, rounded to fp16
}

// Head h has that number in row h of its state, each in another column, and zeros elsewhere, which
// shows that the search for the largest element skips none.
KERNEL_TEST(linear_attention_chunkwise, TakesAStateBeyondFp16InAnyElement) {
  constexpr std::int64_t kHeads = 64, kChannels = 64, kLast = 16;
  LinearAttentionCase c{
      .B = 1, .T_q = kLast + 1, .T_k = kLast + 1, .H = kHeads, .K = kChannels, .V = kChannels};
  c.feature_map = ladder::FeatureMap::kIdentity;
  c.normalize = false;
  c.precision = Precision::kFp16;
  auto problem = ladder::make_problem(c);
  for (const char* const name : {"q", "k", "v"})
    std::fill(problem[name].begin(), problem[name].end(), 0.0f);
  const auto at = [](std::int64_t t, std::int64_t h, std::int64_t channel) {
    return static_cast<std::size_t>((t * kHeads + h) * kChannels + channel);
  };
  const auto column = [](std::int64_t h) { return (37 * h + 5) % kChannels; };
  for (std::int64_t h = 0; h < kHeads; ++h) {
    problem["k"][at(0, h, h)] = 257.0f;
    problem["v"][at(0, h, column(h))] = 255.0f;
    problem["q"][at(kLast, h, h)] = 0.5f;
  }
  const std::vector<float> o =
      ladder::run(ladder::find_implementation("linear_attention_chunkwise"), problem);
  for (std::int64_t h = 0; h < kHeads; ++h)
    EXPECT_EQ(o[at(kLast, h, column(h))], 32768) << "row " << h << ", column " << column(h);
}
KERNEL_TEST(linear_attention_chunkwise, TakesAScoreBeyondFp16) {
  const std::vector<float> o = run_in_fp16({256, 255}, {256, 1}, {0, 0});
  EXPECT_EQ(o[1], 1024);  // 256 * 256 / 64
  EXPECT_EQ(o[3], 1024);  // (255 * 256 + 255) / 64, rounded to fp16
}

// With a state as well, from the previous sub-chunk of 16 tokens. Both parts of an output have the
// same factor when they are added.
KERNEL_TEST(linear_attention_chunkwise, TakesAScoreBeyondFp16AfterAState) {
  std::vector<float> k(17, 1.0f);
  k.back() = 256.0f;
  const std::vector<float> o =
      run_in_fp16(std::vector<float>(17, 256.0f), k, std::vector<float>(17, 0.0f));
  EXPECT_EQ(o.back(), 1088);  // (16 * 256 + 256 * 256) / 64
}

// The sum of the keys, the divisor of an output, is scaled too. elu(2000) + 1 is 2001, and 33 such
// keys exceed 65504.
KERNEL_TEST(linear_attention_chunkwise, TakesANormaliserBeyondFp16) {
  const std::size_t T = 64;
  const std::vector<float> o =
      run_in_fp16(std::vector<float>(T, 0.0f), std::vector<float>(T, 2000.0f),
                  std::vector<float>(T, 1.0f), true);
  for (std::size_t t = 0; t < T; ++t)
    EXPECT_NEAR(o[2 * t + 1], 0x1p-6f, 0x1p-16f) << "token " << t;
}

// elu(-20) + 1 = exp(-20) is less than half of the smallest number of fp16, so the key is lost. The
// right result is 1.
KERNEL_TEST(linear_attention_chunkwise, AFeatureBelowFp16IsZero) {
  EXPECT_EQ(run_in_fp16({0, 0}, {-20, 0}, {1, 1}, true), (std::vector<float>{0, 0, 1, 0x1p-6f}));
}

}  // namespace
