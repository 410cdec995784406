// The parts of the judge, without any operator.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <limits>
#include <set>

#include "common/core/bfloat16.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/float16.hpp"
#include "common/core/registry.hpp"
#include "common/judge/design.hpp"
#include "common/judge/limits.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/named_arrays.hpp"
#include "common/judge/pairwise.hpp"

namespace ladder {
namespace {

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  const auto round_trip = [](float x) { return to_float(to_bfloat16(x)); };
  EXPECT_EQ(round_trip(1.0f), 1.0f);
  EXPECT_EQ(round_trip(1.0f + 1.0f / 256), 1.0f);              // a tie, to the even 1
  EXPECT_EQ(round_trip(1.0f + 3.0f / 256), 1.0f + 1.0f / 64);  // a tie, to the even neighbour above
  EXPECT_EQ(round_trip(1.0f + 1.1f / 256), 1.0f + 1.0f / 128);
  EXPECT_TRUE(std::isnan(round_trip(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(round_trip(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(round_trip(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

TEST(Float16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE((bits & 0x7c00u) == 0x7c00u && (bits & 0x3ffu) != 0);
      EXPECT_TRUE(std::isnan(to_float(to_float16(wide))));
      continue;
    }
    ASSERT_EQ(to_float16(wide).bits, bits) << wide;
    // The value by the format's definition.
    const int exponent = static_cast<int>(bits >> 10 & 31),
              mantissa = static_cast<int>(bits & 1023);
    const double size = exponent == 31 ? static_cast<double>(std::numeric_limits<float>::infinity())
                        : exponent == 0 ? std::ldexp(mantissa, -24)
                                        : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(wide, bits < 0x8000u ? size : -size) << bits;
  }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const float low = to_float(float16{static_cast<std::uint16_t>(bits)});
    const float high =
        bits == 0x7bffu ? 65536.0f : to_float(float16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const auto rounded_bits = [&](float x) { return to_float16(sign ? -x : x).bits - sign; };
      ASSERT_EQ(rounded_bits(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
      ASSERT_EQ(rounded_bits(std::nextafter(middle, 0.0f)), bits) << middle;
      ASSERT_EQ(rounded_bits(std::nextafter(middle, std::numeric_limits<float>::infinity())),
                bits + 1)
          << middle;
    }
  }
  EXPECT_EQ(to_float16(std::numeric_limits<float>::max()).bits, 0x7c00u);
}

// A gradient of one query and many keys may be so small that fp16 stores it in steps of 2^-24.
TEST(Judge, KnowsTheSmallestNumbersOfFp16) {
  const std::vector<double> truth(64, 19.5 * 0x1p-24), terms = truth;
  const auto share_of = [&](double result) {
    return judge_errors(std::vector<float>(64, static_cast<float>(result)), truth, terms, {64},
                        stored_as<float16>(), rounding_of(Precision::kFp16))
        .whole_share;
  };
  EXPECT_LE(share_of(19 * 0x1p-24), 1);
  EXPECT_LE(share_of(20 * 0x1p-24), 1);
  EXPECT_GT(share_of(21 * 0x1p-24), 1);
}

// Different values.
std::vector<double> spread_values(int count) {
  std::vector<double> values(count);
  for (int i = 0; i < count; ++i)
    values[i] = std::sin(1.0 + i) + 0.1 * std::cos(7.0 * i);
  return values;
}

// The verdict on a result that is stored in bf16 and wrong by a factor.
Judged judged_times(double factor, const std::vector<double>& truth) {
  std::vector<float> result;
  for (const double x : truth)
    result.push_back(rounding_of(Precision::kBf16)(factor * x));
  Roundings roundings = stored_as<bfloat16>();
  roundings.sums = 4 * kFp32Roundoff;
  return judge_errors(result, truth, truth, {static_cast<std::int64_t>(truth.size())}, roundings,
                      rounding_of(Precision::kBf16));
}

TEST(Slope, OfABiasIsBeyondItsLimitFromTwoHundredElementsOn) {
  for (const int count : {200, 400, 3000, 100000}) {
    const std::vector<double> truth = spread_values(count);
    EXPECT_LE(judged_times(1, truth).slope_share, 0.7) << count;
    for (const double factor : {0.996, 0.998, 1.002, 1.004})
      EXPECT_GT(judged_times(factor, truth).slope_share, 1) << count << " times " << factor;
    for (const double factor : {0.999, 1.001})
      EXPECT_GT(judged_times(factor, truth).slope_share, count < 400 ? 0.7 : 1)
          << count << " times " << factor;
  }
}

// If a thousand elements have the same value, their rounding errors are one error, not a thousand.
TEST(Slope, OfEqualValuesMayBeOffAsOneIs) {
  for (const double value : {1.0, 1.0 + 0x1p-8, 1.0 + 0.9 * 0x1p-8, 1.3, -1.7}) {
    std::vector<double> truth(5000, value);
    EXPECT_LE(judged_times(1, truth).slope_share, 1) << value;
    // A tie that fp32 accumulation has made slightly smaller or larger.
    EXPECT_LE(judged_times(1 - 0x1p-23, truth).slope_share, 1) << value;
    EXPECT_LE(judged_times(1 + 0x1p-23, truth).slope_share, 1) << value;
  }
  EXPECT_LE(judged_times(1, {0.7}).slope_share, 1);
  EXPECT_EQ(judged_times(1, {0, 0}).slope_share, 0);
}

// Under ulimit -s 256 a thread has 256 KB. Eigen alone puts up to two blocks of 128 KB there.
TEST(Product, NeedsLittleOfTheStack) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  static Matrix result;
  const auto work = [](void*) -> void* {
    const Matrix ones = Matrix::Constant(128, 128, 1.0);
    result = product(ones, ones);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, work, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_TRUE((result.array() == 128.0).all());
}

TEST(Pairwise, CoversEveryPair) {
  const std::vector<std::size_t> levels = {10, 6, 6, 5, 2, 2, 1, 3};
  const auto rows = pairwise_rows(levels);
  EXPECT_LT(rows.size(), 90u);
  EXPECT_GE(rows.size(), 60u);
  for (std::size_t f = 0; f < levels.size(); ++f) {
    for (std::size_t g = f + 1; g < levels.size(); ++g) {
      std::set<std::pair<std::size_t, std::size_t>> pairs;
      for (const auto& row : rows)
        pairs.insert({row[f], row[g]});
      EXPECT_EQ(pairs.size(), levels[f] * levels[g]) << f << " with " << g;
    }
  }
}

TEST(Pairwise, LeavesOutWhatIsExcluded) {
  const std::vector<std::size_t> levels = {5, 2, 3};
  const std::vector<LevelPair> excluded = {{0, 4, 1, 1}, {1, 1, 2, 2}};
  for (const auto& rows :
       {pairwise_rows(levels, excluded), drawn_rows(levels, {100, 1}, excluded)}) {
    std::set<std::pair<std::size_t, std::size_t>> first, second;
    for (const LevelRow& row : rows) {
      first.insert({row[0], row[1]});
      second.insert({row[1], row[2]});
    }
    EXPECT_EQ(first.size(), 5u * 2u - 1);
    EXPECT_EQ(first.count({4, 1}), 0u);
    EXPECT_EQ(second.size(), 2u * 3u - 1);
    EXPECT_EQ(second.count({1, 2}), 0u);
  }
  EXPECT_THROW(pairwise_rows({1, 1, 2}, {{0, 0, 2, 0}, {1, 0, 2, 1}}), std::invalid_argument);
}

TEST(Pairwise, EveryLevelMeetsEverySchedule) {
  const std::vector<LevelRow> rows = pairwise_rows({10, 6, 6, 5, 2, 2, 1, 3});
  std::vector<std::vector<std::string>> levels;
  for (const LevelRow& row : rows) {
    levels.emplace_back();
    for (std::size_t f = 0; f < row.size(); ++f)
      levels.back().push_back(std::to_string(f) + "=" + std::to_string(row[f]));
  }
  std::vector<std::size_t> schedules = schedules_of(levels);
  EXPECT_EQ(missing_schedules(levels, schedules), std::vector<std::string>{});
  std::fill(schedules.begin(), schedules.end(), 1);
  EXPECT_EQ(missing_schedules(levels, schedules).size(), 2u * (10 + 6 + 6 + 5 + 2 + 2 + 1 + 3));
  levels = {{"rare"}, {"rare", "usual"}, {"usual"}, {"usual"}};
  EXPECT_EQ(missing_schedules(levels, {0, 0, 0, 1}),
            std::vector<std::string>{"usual under schedule 2"});
}

TEST(Draw, IsTheSameOnEveryPlatform) {
  const std::vector<LevelRow> expected = {{5, 0, 0, 0}, {1, 0, 1, 1}, {1, 2, 0, 0}, {3, 0, 0, 2}};
  EXPECT_EQ(drawn_rows({10, 6, 2, 3}, {4, 7}), expected);
}

TEST(Draw, BeginsWithAShorterOneAndRepeatsNothing) {
  const std::vector<std::size_t> levels = {4, 5, 6};
  const auto all = drawn_rows(levels, {1000, 3});
  EXPECT_EQ(all.size(), 120u);  // there are no more
  EXPECT_EQ(std::set<LevelRow>(all.begin(), all.end()).size(), 120u);
  const auto some = drawn_rows(levels, {20, 3});
  EXPECT_EQ(some, std::vector<LevelRow>(all.begin(), all.begin() + 20));
  EXPECT_NE(drawn_rows(levels, {20, 4}), some);
}

TEST(Draw, IsReadFromText) {
  const Draw draw = parse_draw("200:18446744073709551615");
  EXPECT_EQ(draw.count, 200u);
  EXPECT_EQ(draw.seed, 18446744073709551615u);
  for (const char* bad : {"", "200", "200:", ":1", "x:1", "200:x", "0:1", "-1:1", "1:-1", "1:2:3",
                          " 1:2", "1:2 ", "1000001:1", "1:18446744073709551616"}) {
    try {
      parse_draw(bad);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("allowed: N:SEED"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Error, MatchesNoNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(relative_error({1.0f, 2.0f}, {1.0, nan}, 2).whole,
            std::numeric_limits<double>::infinity());
}

TEST(Error, AppliesAFloorToRows) {
  // The second row's truth is nearly 0, so its error of 1e-6 is small for the tensor only.
  const RelativeError error = relative_error({1, 1, 1e-6f, 0}, {1, 1, 0, 0}, 2);
  EXPECT_NEAR(error.worst_row, 1e-6 / (kRowFloor * 1.0), 1e-8);
  EXPECT_EQ(error.worst_row_index, 1);
}

TEST(Input, UnknownNamesAreListed) {
  try {
    find_implementation("nonsense");
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("nonsense"), std::string::npos);
  }
}

struct SomeCase {
  std::int64_t T = 1;
  float scale = 1;
  bool reverse = false;
  std::uint32_t seed = 1;
};
std::string name_of(const SomeCase& c) {
  return std::to_string(c.T) + (c.scale != 1 ? "_scaled" : "") + (c.reverse ? "_reverse" : "");
}

// If a suite changes its cases after they were combined, it may lose a pair.
TEST(Design, MissesPairsThatAChangeTakesBack) {
  Design<SomeCase> design;
  design.factor("T", std::vector<std::int64_t>{1, 17, 130}, &SomeCase::T);
  design.factor("scale", std::vector<float>{1.0f, 0.125f}, &SomeCase::scale);
  design.factor("reverse", std::vector<bool>{false, true}, &SomeCase::reverse);
  const auto nothing = [](SomeCase&) {};
  EXPECT_EQ(design.missing_pairs(design.cases({}, nothing, std::nullopt)),
            std::vector<std::string>{});
  const auto unscaled_where_long = [](SomeCase& c) {
    if (c.T > 100) c.scale = 1.0f;
  };
  EXPECT_EQ(design.missing_pairs(design.cases({}, unscaled_where_long, std::nullopt)),
            std::vector<std::string>{"T=130 with scale=0.125"});
  design.exclude("T", std::int64_t{130}, "scale", 0.125f, "for this test");
  EXPECT_EQ(design.missing_pairs(design.cases({}, unscaled_where_long, std::nullopt)),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace ladder
