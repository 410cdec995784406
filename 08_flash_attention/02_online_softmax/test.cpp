#include "08_flash_attention/02_online_softmax/wrong_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace flash_attention::online_softmax;

// The number of times that a row is split and merged.
constexpr int kSplits = 200;

template <typename Number>
using Keys = std::vector<Key<Number>>;

template <typename Number>
constexpr Number kMasked = -std::numeric_limits<Number>::infinity();

// Relative to sums of positive terms, for up to 64 keys, which allows a few roundings.
template <typename Number>
constexpr double kLimit =
    std::is_same_v<Number, double> ? 1e-15 : 4 * double{std::numeric_limits<float>::epsilon()};

// The definition, in two passes over the whole row, with more digits.
struct Truth {
  long double m = kMasked<double>, l = 0, sum = 0;
  long double magnitude = 0;  // the sum with |v|, the scale for roundings of sum

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
  const bool m_is_right = row.m == truth.m;
  const auto shown = [](long double x) {
    std::ostringstream number;
    number.precision(4);
    number << x;
    return std::isnan(x) ? "NaN" : number.str();
  };
  const char* const wrong = !m_is_right                                ? "m"
                            : off(row.l, truth.l, truth.l)             ? "l"
                            : off(row.sum, truth.sum, truth.magnitude) ? "sum"
                                                                       : nullptr;
  if (wrong == nullptr) return testing::AssertionSuccess();
  std::ostringstream text;
  text << "WRONG RESULT in " << wrong << "\nyours: m " << shown(row.m) << ", l " << shown(row.l)
       << ", sum " << shown(row.sum) << "; right: m " << shown(truth.m) << ", l " << shown(truth.l)
       << ", sum " << shown(truth.sum) << "\n";
  return testing::AssertionFailure() << text.str();
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

// Any two rows are merged until one is left, so every tree can occur.
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
  const bool masked = std::any_of(keys.begin(), keys.end(), [](const Key<Number>& key) {
    return key.score == kMasked<Number>;
  });
  std::mt19937 random(1);
  for (int i = 0; i < kSplits; ++i) {
    const std::size_t parts = 1 + random() % 8;
    ASSERT_TRUE(is_right(merged_in_any_tree(split(keys, parts, random), random), truth, limit))
        << keys.size() << " keys, " << parts << " parts"
        << (masked ? "; masked keys, whose score is -inf, must count for nothing, and -inf - -inf "
                     "is NaN"
                   : "");
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

// The maximum grows, stays, grows again and stays.
const Keys<double> kPlainKeys = {{0.5, 2}, {-0.25, 3}, {1.5, -1}, {0.75, 5}, {2.25, 1.5}, {1, -2}};

// The row of the first keys, which begins correctly with `begun` of them. A step from the row of no
// key may be wrong on its own.
template <typename Next>
Row<double> after(std::size_t keys, std::size_t begun, const Next& next) {
  Row<double> row;
  if (begun == 1) row = {kPlainKeys[0].score, 1, kPlainKeys[0].value};
  for (std::size_t n = begun; n < keys; ++n)
    row = next(row, kPlainKeys[n]);
  return row;
}

bool same(const Row<double>& a, const Row<double>& b) {
  const auto close = [](double x, double y) {
    return x == y || (std::isfinite(y) && std::fabs(x - y) <= 1e-9 * std::fabs(y));
  };
  return close(a.m, b.m) && close(a.l, b.l) && close(a.sum, b.sum);
}

// The text "It equals the row with ..." for the learner's with_key, after all keys.
std::string words_for_yours() {
  const std::size_t all = kPlainKeys.size();
  for (const std::size_t begun : {0, 1}) {
    const Row<double> yours = after(all, begun, with_key<double>);
    for (const WrongStep& wrong : kWrongSteps) {
      if (same(yours, after(all, begun, wrong.next))) {
        return std::string("It equals the row ") + wrong.words +
               (begun ? "; and the first key, which finds m = -inf, is wrong too.\n" : ".\n");
      }
    }
  }
  if (is_right(after(all, 1, with_key<double>), Truth(kPlainKeys), 1e-14))
    return "Of the keys tried here only the first is wrong: it finds m = -inf.\n";
  return "";
}

// The first test of a learner's function, so it reports in words how the function is wrong.
TEST(WithKey, PlainCase) {
  for (std::size_t keys = 1; keys <= kPlainKeys.size(); ++keys) {
    const Truth truth(Keys<double>(kPlainKeys.begin(), kPlainKeys.begin() + keys));
    const testing::AssertionResult result =
        is_right(after(keys, 0, with_key<double>), truth, 1e-14);
    if (result) continue;
    std::ostringstream text;
    text << result.message() << "after " << keys << (keys == 1 ? " key" : " keys")
         << " with score and value";
    for (std::size_t n = 0; n < keys; ++n)
      text << (n ? ", " : " ") << "(" << kPlainKeys[n].score << ", " << kPlainKeys[n].value << ")";
    std::string message = text.str();
    message.insert(message.find('\n') + 1, words_for_yours());  // after "WRONG RESULT in l"
    FAIL() << message << "\n";
  }
}

// Otherwise the words would confuse one mistake with another, or with a right row.
TEST(WithKey, WordsAreOfOneMistakeEach) {
  const Truth truth(kPlainKeys);
  const std::size_t all = kPlainKeys.size();
  for (const std::size_t begun : {0, 1}) {
    for (const WrongStep& one : kWrongSteps) {
      EXPECT_FALSE(is_right(after(all, begun, one.next), truth, 1e-14)) << one.words;
      for (const WrongStep& other : kWrongSteps)
        EXPECT_EQ(&one == &other, same(after(all, begun, one.next), after(all, begun, other.next)))
            << one.words << "\n"
            << other.words;
    }
  }
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

// Weights are 1 or 0 here, so nothing is rounded, and any split gives the same without a tolerance.
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
  // exp(10000) is infinity in both types.
  row = with_key(with_key(row, {10000, 1}), {10000, 3});
  EXPECT_EQ(row.mean(), 2);
  EXPECT_EQ(row.log_sum_exp(), 10000 + std::log(TypeParam{2}));
}

}  // namespace
