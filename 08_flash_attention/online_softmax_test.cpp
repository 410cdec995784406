#include "08_flash_attention/online_softmax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace chapter08::online_softmax;

constexpr int kSplits = 200;

template <typename Number>
constexpr Number kMasked = -std::numeric_limits<Number>::infinity();

// Of sums of positive terms, so that it says what rounding does: sum is of either sign, and is compared with sum |p v|.
template <typename Number>
struct Limits;
template <>
struct Limits<double> {
  static constexpr double kRelative = 1e-15;
};
template <>
struct Limits<float> {
  static constexpr double kRelative = 4 * std::numeric_limits<float>::epsilon();
};

// The keys of `whole` in some order, cut into `parts` parts, some of them perhaps empty; each part key by key.
template <typename Number>
std::vector<Row<Number>> split(std::vector<Key<Number>> whole, std::size_t parts,
                               std::mt19937& random) {
  std::shuffle(whole.begin(), whole.end(), random);
  std::vector<Row<Number>> rows(parts);
  for (const Key<Number>& key : whole) {
    Row<Number>& row = rows[random() % parts];
    row = with_key(row, key);
  }
  return rows;
}

// Any two of the rows are merged, until one is left: every binary tree over every order can come up.
template <typename Number>
Row<Number> merged_in_a_random_tree(std::vector<Row<Number>> rows, std::mt19937& random) {
  while (rows.size() > 1) {
    std::shuffle(rows.begin(), rows.end(), random);
    const Row<Number> last = rows.back();
    rows.pop_back();
    rows.back() = merged(rows.back(), last);
  }
  return rows.front();
}

template <typename Number>
std::vector<Key<Number>> random_keys(std::size_t count, double spread, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<Key<Number>> keys(count);
  for (Key<Number>& key : keys)
    key = {static_cast<Number>(spread * normal(random)), static_cast<Number>(normal(random))};
  return keys;
}

// However `keys` are split and merged, m, l and sum are those of the whole row.
template <typename Number>
void expect_any_split_gives_the_whole(const std::vector<Key<Number>>& keys) {
  std::mt19937 random(1);
  const Row<Number> whole = of_whole(keys);
  std::vector<Key<Number>> magnitudes = keys;
  for (Key<Number>& key : magnitudes)
    key.value = std::fabs(key.value);
  const double magnitude = of_whole(magnitudes).sum;
  double worst_l = 0, worst_sum = 0;
  for (int i = 0; i < kSplits; ++i) {
    const std::size_t parts = 1 + random() % 8;
    const Row<Number> row = merged_in_a_random_tree(split(keys, parts, random), random);
    ASSERT_EQ(row.m, whole.m);
    worst_l = std::max(worst_l, std::fabs(double{row.l} - double{whole.l}) / (double)whole.l);
    worst_sum = std::max(worst_sum, std::fabs(double{row.sum} - double{whole.sum}) / magnitude);
  }
  printf("%zu keys: l %.2g sum %.2g eps\n", keys.size(), worst_l / std::numeric_limits<Number>::epsilon(), worst_sum / std::numeric_limits<Number>::epsilon());
}

template <typename Number>
class OnlineSoftmax : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(OnlineSoftmax, Numbers);

TYPED_TEST(OnlineSoftmax, AnySplitGivesTheWholeRow) {
  std::mt19937 random(2);
  for (const std::size_t count : {1, 2, 3, 17, 64, 300}) {
    for (const double spread : {0.0, 1.0, 10.0, 1e4})
      expect_any_split_gives_the_whole(random_keys<TypeParam>(count, spread, random));
  }
}

}  // namespace
