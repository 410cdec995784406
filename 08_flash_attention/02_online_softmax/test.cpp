#include "08_flash_attention/02_online_softmax/online_softmax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using namespace chapter08::online_softmax;

// How often a row is split and merged anew.
constexpr int kSplits = 200;

template <typename Number>
using Keys = std::vector<Key<Number>>;

template <typename Number>
constexpr Number kMasked = -std::numeric_limits<Number>::infinity();

// Relative to sums of positive terms, for up to 64 keys: a few roundings.
template <typename Number>
constexpr double kLimit =
    std::is_same_v<Number, double> ? 1e-15 : 4 * double{std::numeric_limits<float>::epsilon()};

// By the definition, in two passes over the whole row, with more digits.
struct Truth {
  long double m = kMasked<double>, l = 0, sum = 0;
  long double magnitude = 0;  // the sum with |v|: what a rounding of sum is measured by

  template <typename Number>
  explicit Truth(const Keys<Number>& keys) {
    for (const Key<Number>& key : keys)
      m = std::max<long double>(m, key.score);
    for (const Key<Number>& key : keys) {
      if (key.score == kMasked<Number>) continue;
      const long double weight = std::exp(static_cast<long double>(key.score) - m);
      l += weight;
      sum += weight * key.value;
      magnitude += weight * std::fabs(key.value);
    }
  }
};

template <typename Number>
testing::AssertionResult is_right(const Row<Number>& row, const Truth& truth, double limit) {
  const auto off = [&](Number got, long double expected, long double of) {
    return !(std::fabs(got - expected) <= limit * of);
  };
  const char* const wrong = off(row.l, truth.l, truth.l)               ? "l"
                            : off(row.sum, truth.sum, truth.magnitude) ? "sum"
                                                                       : nullptr;
  if (row.m == truth.m && wrong == nullptr) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "WRONG RESULT: " << (row.m == truth.m ? wrong : "m") << " is not that of the whole row"
         << ": m " << row.m << ", l " << row.l << ", sum " << row.sum << "; expected m " << truth.m
         << ", l " << truth.l << ", sum " << truth.sum;
}

// Each key goes to one of `parts` parts, some of which may stay empty, in any order.
template <typename Number>
std::vector<Row<Number>> split(Keys<Number> keys, std::size_t parts, std::mt19937& random) {
  std::shuffle(keys.begin(), keys.end(), random);
  std::vector<Row<Number>> rows(parts);
  for (const Key<Number>& key : keys) {
    Row<Number>& row = rows[random() % parts];
    row = with_key(row, key);
  }
  return rows;
}

// Any two are merged until one is left: every tree can come up.
template <typename Number>
Row<Number> merged_in_any_tree(std::vector<Row<Number>> rows, std::mt19937& random) {
  while (rows.size() > 1) {
    std::shuffle(rows.begin(), rows.end(), random);
    const Row<Number> last = rows.back();
    rows.pop_back();
    rows.back() = merged(rows.back(), last);
  }
  return rows.front();
}

template <typename Number>
void expect_any_split_gives_the_whole_row(const Keys<Number>& keys, double limit) {
  const Truth truth(keys);
  std::mt19937 random(1);
  for (int i = 0; i < kSplits; ++i) {
    const std::size_t parts = 1 + random() % 8;
    ASSERT_TRUE(is_right(merged_in_any_tree(split(keys, parts, random), random), truth, limit))
        << keys.size() << " keys, " << parts << " parts";
  }
}

template <typename Number>
Keys<Number> random_keys(std::size_t count, double spread, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Keys<Number> keys(count);
  for (Key<Number>& key : keys) {
    key.score = static_cast<Number>(spread * normal(random));
    key.value = static_cast<Number>(normal(random));
  }
  return keys;
}

template <typename Number>
class OnlineSoftmax : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(OnlineSoftmax, Numbers);

// Equal scores, usual ones, and logits of 1e4.
TYPED_TEST(OnlineSoftmax, AnySplitGivesTheWholeRow) {
  std::mt19937 random(2);
  for (const std::size_t count : {1, 2, 3, 17, 64}) {
    for (const double spread : {0.0, 1.0, 10.0, 1e4})
      ASSERT_NO_FATAL_FAILURE(expect_any_split_gives_the_whole_row(
          random_keys<TypeParam>(count, spread, random), kLimit<TypeParam>));
  }
}

TYPED_TEST(OnlineSoftmax, MaskedKeysCountForNothing) {
  std::mt19937 random(3);
  Keys<TypeParam> keys = random_keys<TypeParam>(20, 1.0, random);
  for (std::size_t i = 0; i < keys.size(); i += 2)
    keys[i].score = kMasked<TypeParam>;
  ASSERT_NO_FATAL_FAILURE(expect_any_split_gives_the_whole_row(keys, kLimit<TypeParam>));
  for (Key<TypeParam>& key : keys)
    key.score = kMasked<TypeParam>;
  ASSERT_NO_FATAL_FAILURE(expect_any_split_gives_the_whole_row(keys, 0.0));
  ASSERT_NO_FATAL_FAILURE(expect_any_split_gives_the_whole_row(Keys<TypeParam>{}, 0.0));
}

// Weights are 1 or 0 here, so nothing is rounded: that any split gives the same is no matter of tolerance.
TYPED_TEST(OnlineSoftmax, IsExactWhereNothingIsRounded) {
  constexpr TypeParam kFarBelow = -1e5;
  Keys<TypeParam> keys;
  for (int i = 0; i < 40; ++i) {
    const TypeParam scores[] = {TypeParam{3}, kFarBelow, kMasked<TypeParam>};
    keys.push_back({scores[i % 3], static_cast<TypeParam>(i - 7)});
  }
  ASSERT_NO_FATAL_FAILURE(expect_any_split_gives_the_whole_row(keys, 0.0));
}

TYPED_TEST(OnlineSoftmax, APartWithoutKeysChangesNothing) {
  std::mt19937 random(4);
  const Row<TypeParam> row = split(random_keys<TypeParam>(9, 1.0, random), 1, random).front();
  for (const Row<TypeParam>& both :
       {merged(row, Row<TypeParam>{}), merged(Row<TypeParam>{}, row)}) {
    EXPECT_EQ(both.m, row.m);
    EXPECT_EQ(both.l, row.l);
    EXPECT_EQ(both.sum, row.sum);
  }
}

TYPED_TEST(OnlineSoftmax, GivesMeanAndLogSumExp) {
  Row<TypeParam> row;
  EXPECT_EQ(row.mean(), 0);
  EXPECT_EQ(row.log_sum_exp(), kMasked<TypeParam>);
  // exp(10000) is no number of either type.
  row = with_key(with_key(row, {10000, 1}), {10000, 3});
  EXPECT_EQ(row.mean(), 2);
  EXPECT_EQ(row.log_sum_exp(), 10000 + std::log(TypeParam{2}));
}

}  // namespace
