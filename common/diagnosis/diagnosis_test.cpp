// Patterns in the numbers of a wrong result, for any operator.
#include "common/diagnosis/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "common/diagnosis/regions.hpp"
#include "common/judge/random.hpp"

namespace ladder::testing {
namespace {

void expect_said(const std::string& said, const std::string& words) {
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

std::string said_of_part(const Part& part) {
  return explained(judge_part(part), [&](const auto& use) { use({{part}, 0, {}}); });
}

float wave(std::int64_t i) {
  return static_cast<float>(std::sin(1.0 + static_cast<double>(i)));
}

// An array with one axis or two.
std::string said_of_part(const std::vector<std::int64_t>& sizes,
                         const std::function<float(std::int64_t, double)>& change) {
  std::vector<double> truth;
  std::vector<float> result;
  for (std::int64_t i = 0; i < (sizes.size() > 1 ? sizes[0] * sizes[1] : sizes[0]); ++i) {
    truth.push_back(wave(i));
    result.push_back(change(i, truth.back()));
  }
  const std::vector<std::string> axes = {"m", "n"};
  return said_of_part(
      {{"y", {axes.end() - sizes.size(), axes.end()}, sizes}, &result, &truth, &truth, {}});
}

TEST(Shares, OfWhatLiesInTheWrongPlaceAreNamed) {
  expect_said(
      said_of_part({8, 16}, [](std::int64_t i, double) { return wave(i % 16 == 2 ? i - 1 : i); }),
      "\nn=2 holds what n=1 should.\n");
  expect_said(
      said_of_part({8, 16}, [](std::int64_t i, double) { return wave((i + 16) % 128); }),
      "\nm=0 holds what m=1 should, m=1 holds what m=2 should, m=2 holds what m=3 should, ...\n");
}

// A slice of zeros is not another slice's contents.
TEST(Shares, OfZerosAreInNoPlace) {
  std::vector<double> truth;
  for (int i = 0; i < 64; ++i)
    truth.push_back(i < 16 ? 0.0 : wave(i));
  std::vector<float> result(truth.begin(), truth.end());
  std::fill_n(result.begin() + 32, 16, 0.0f);
  const std::string said = said_of_part({{"y", {"m", "n"}, {4, 16}}, &result, &truth, &truth, {}});
  EXPECT_NE(said.find("WRONG RESULT"), std::string::npos);
  EXPECT_EQ(said.find("holds what"), std::string::npos) << said;
}

TEST(Shares, OfAVariableWithoutAValueAreNamed) {
  expect_said(said_of_part({64}, [](std::int64_t i,
                                    double x) { return i > 5 ? -1.7e37f : static_cast<float>(x); }),
              "\nSome elements are huge, such as -1.7e+37. Is a variable read before it is given a "
              "value (");
}

TEST(Shares, OfWholeNumbersThatAreOffByOneAreNamedByTheirSide) {
  const auto said = [](std::int64_t every, float off) {
    std::vector<double> truth;
    for (int i = 0; i < 37; ++i)
      truth.push_back(i % 7);
    std::vector<float> result(truth.begin(), truth.end());
    for (std::size_t i = 0; i < result.size(); i += static_cast<std::size_t>(every))
      result[i] += off;
    return said_of_part({{"y", {"n"}, {37}}, &result, &truth, &truth, {}});
  };
  expect_said(said(4, -1),
              "Each of the 10 wrong elements is 1 too small: is a number rounded down");
  expect_said(said(4, 1), "Each of the 10 wrong elements is 1 too large: is a number rounded up");
  EXPECT_EQ(said(4, 2).find("too large"), std::string::npos);
  EXPECT_EQ(said(30, 1).find("too large"), std::string::npos) << "two may be anything";
}

// bf16, two rows of 21 with a few wrong columns. The nearest factor is within rounding.
TEST(Shares, OfAFewWrongElementsAreNoFactor) {
  const auto said = [](const std::function<float(std::int64_t, double)>& change) {
    std::vector<double> truth;
    std::vector<float> result;
    for (std::int64_t i = 0; i < 21 * 64; ++i) {
      truth.push_back(wave(i));
      result.push_back(change(i, truth.back()));
    }
    Roundings roundings = stored_as<bfloat16>();
    roundings.operands = 0x1p-8;
    const Part part = {{"o", {"t", "i"}, {21, 64}}, &result, &truth, &truth, roundings};
    Mistakes mistakes;  // of an operator with one known mistake
    mistakes.known.push_back(
        {"equals ones", [] { return Answer{std::vector<double>(21 * 64, 1.0)}; }});
    return explained(judge_part(part), [&](const auto& use) { use({{part}, 0, mistakes}); });
  };
  EXPECT_EQ(said([](std::int64_t i, double x) {
              return static_cast<float>(i / 64 % 8 == 3 && i % 5 == 0 ? 0.975 * x : x);
            }).find("times what"),
            std::string::npos);
  expect_said(said([](std::int64_t, double x) { return static_cast<float>(0.97 * x); }),
              "Each element is 0.97 times what it should be");
}

TEST(Shares, ThatAreWrongAgainAndAgainAreNamedByTheirRest) {
  expect_said(said_of_part({640},
                           [](std::int64_t i, double x) {
                             return static_cast<float>(i % 64 >= 32 ? 2 * x * x : x);
                           }),
              "\nwrong: n % 64 = 32 to 63\n");
}

// The pages call four steps a unit and sixteen a block, and so do the words.
TEST(Shares, OfItsOwnBlockAreNamedAsThePagesNameIt) {
  constexpr std::int64_t kSteps = 40;
  for (const auto& [size, words] :
       {std::pair(4, "of its own unit of 4; all else of k is right"),
        std::pair(16, "of its own block of 16; all else of k is right")}) {
    SharesOfHead shares{Shares(kSteps * kSteps), {}, kSteps, kSteps};
    for (std::int64_t t = 0; t < kSteps; ++t) {
      for (std::int64_t s = 0; s <= t; ++s)
        shares.yours[t * kSteps + s] = 1.0;
    }
    shares.right = shares.yours;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      for (std::int64_t s = t / size * size; s < t; ++s)
        shares.yours[t * kSteps + s] = 0.0;
    }
    expect_said(explain_shares(shares, "k", "step", "step").words, words);
  }
}

// If all shares of a row are wrong, one is right up to a factor, which proves nothing.
TEST(Shares, OfWhichOneIsRightByAFactorAreNotInProportion) {
  SharesOfHead shares{{}, {0.1, 0.2, 0.1, 0.3, 0.05, 0.05, 0.2}, 1, 7};
  for (const double share : shares.right)
    shares.yours.push_back(share * share / 0.19);
  EXPECT_EQ(explain_shares(shares, "v", "query", "key").words, "");
  // But if several are right, the others are wrong.
  shares.yours = shares.right;
  for (double& share : shares.yours)
    share *= 2;
  shares.yours[3] = 0;
  expect_said(explain_shares(shares, "v", "query", "key").words,
              "A query takes nothing from v of key 3; all else of v is in the right proportion");
}

// One query and seven keys, none earlier or later. Three of them are right, two by chance.
TEST(Shares, HaveNoEarlierAndLaterKeysWhereQueriesAreOthers) {
  SharesOfHead shares{{}, {0.1, 0.2, 0.1, 0.3, 0.05, 0.05, 0.2}, 1, 7};
  shares.yours = {0.1, 0.25, 0.05, 0.3, 0.08, 0.05, 0.17};
  EXPECT_EQ(explain_shares(shares, "v", "query", "key").words, "");
}

// A row's first block of keys is 0.9 times the right one. Its second is too small to show.
TEST(Shares, AreInProportionOnlyWhereEachBlockOfKeysShowsIt) {
  SharesOfHead shares{{}, std::vector<double>(20, 0.06), 1, 20, 0.002};
  std::fill(shares.right.begin() + 16, shares.right.end(), 0.01);
  shares.yours = shares.right;
  std::for_each(shares.yours.begin(), shares.yours.begin() + 16,
                [](double& share) { share *= 0.9; });
  EXPECT_EQ(explain_shares(shares, "v", "query", "key").words, "");
  shares.noise = 1e-5;
  std::for_each(shares.yours.begin() + 16, shares.yours.end(), [](double& share) { share *= 0.9; });
  expect_said(explain_shares(shares, "v", "query", "key").words,
              "All that a query takes from v is in the right proportion, but what query 0 takes is "
              "0.9 times what it should be: what it is divided or multiplied by is wrong");
}

TEST(Lists, TellOneSetFromAnother) {
  const auto those = [](std::int64_t count, const std::function<bool(std::int64_t)>& are_in) {
    std::vector<std::int64_t> rows;
    for (std::int64_t n = 0; n < count; ++n) {
      if (are_in(n)) rows.push_back(n);
    }
    return list_of(rows);
  };
  EXPECT_EQ(list_of(std::vector<std::int64_t>{7}), "7");
  EXPECT_EQ(list_of(std::vector<std::int64_t>{7, 8}), "7 and 8");
  EXPECT_EQ(list_of(std::vector<std::int64_t>{0, 7, 9}), "0, 7 and 9");
  EXPECT_EQ(list_of(std::vector<std::int64_t>{1, 3}), "1 and 3");
  EXPECT_EQ(list_of(std::vector<std::int64_t>{0, 4, 8, 12, 16, 20}), "0, 4, 8, 12, ... 20");
  EXPECT_EQ(list_of(std::vector<std::int64_t>{0, 4, 8, 12, 16, 30}),
            "0, 4, 8, 12 and others up to 30");
  EXPECT_EQ(those(131, [](auto) { return true; }), "0 to 130");
  EXPECT_EQ(those(131, [](auto n) { return n / 8 != 1; }), "0 to 130 without 8 to 15");
  EXPECT_EQ(those(16, [](auto n) { return n % 4 != 1; }), "0 to 15 without 1, 5, 9 and 13");
  EXPECT_EQ(those(32, [](auto n) { return n % 2 == 1; }), "1, 3, 5, 7, ... 31");
  EXPECT_EQ(those(131, [](auto n) { return n % 32 < 4; }),
            "0 to 3, 32 to 35, 64 to 67, 96 to 99, ... 128 to 130");
}

std::string written(const Problem& problem) {
  std::ostringstream out;
  problem.write(out);
  return out.str();
}

// The verdict on zeros depends on everything in a problem.
std::string said_of_zeros(const Problem& problem, std::size_t bytes) {
  return problem.holding(std::vector<unsigned char>(bytes), "")->judge({}, false).message;
}

TEST(Problems, AreReadAsTheyWereWritten) {
  constexpr std::uint64_t kProblems = 40;
  int operators_tried = 0;
  for (const auto& op : operators()) {
    if (op->fuzz == nullptr) continue;
    ++operators_tried;
    for (std::uint64_t n = 0; n < kProblems; ++n) {
      Random random(1, n);
      const auto problem = op->fuzz(random);
      std::istringstream in(written(*problem));
      const auto read = read_problem(in);
      EXPECT_TRUE(written(*read) == written(*problem)) << op->name << " " << problem->name();
      EXPECT_EQ(read->name(), problem->name());
    }
  }
  EXPECT_GT(operators_tried, 5);
}

TEST(Problems, AreJudgedAsBefore) {
  int cases = 0;
  for (const auto& op : operators()) {
    for (const auto& c : op->random_cases(3)) {
      const auto problem = c->make();
      std::istringstream in(written(*problem));
      const auto read = read_problem(in);
      std::size_t bytes = 0;
      for (const ListedArray& array : c->stored_arrays())
        bytes += array.is_input ? 0 : static_cast<std::size_t>(array.bytes());
      EXPECT_EQ(said_of_zeros(*read, bytes), said_of_zeros(*problem, bytes)) << c->text();
      ++cases;
    }
  }
  EXPECT_GT(cases, 7);
}

}  // namespace
}  // namespace ladder::testing
