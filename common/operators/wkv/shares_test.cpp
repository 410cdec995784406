// A wrong result that no known mistake gives is taken apart: into steps and key rows.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/diagnosis/shares.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

ShareSolver solver_of(const WkvProblem& problem) {
  const WkvCase& c = problem.drawn_case();
  return {{problem["v"].data(), c.B, c.T, c.H, c.V}, c.T, c.H, 0};
}

// The case with shares that are changed, by `change(t, s, share, element)`.
template <typename Change>
std::string said_of_shares(const WkvCase& c, const Change& change) {
  const WkvProblem problem = make_problem(c);
  const float* v = problem["v"].data();
  std::vector<double> o = true_answer<Wkv>(problem).front();
  const Shares shares = solver_of(problem).shares(o).value();
  std::fill(o.begin(), o.end(), 0.0);
  for (std::int64_t head = 0; head < c.B * c.H; ++head) {
    const std::int64_t b = head / c.H, h = head % c.H;
    for (std::int64_t t = 0; t < c.T; ++t) {
      for (std::int64_t s = 0; s < c.T; ++s) {
        const std::size_t at = (head * c.T + t) * c.T + s;
        const double share = change(t, s, shares[at], at);
        for (std::int64_t i = 0; i < c.V; ++i)
          o[((b * c.T + t) * c.H + h) * c.V + i] += share * v[((b * c.T + s) * c.H + h) * c.V + i];
      }
    }
  }
  return said_of<Wkv>(problem, stored<Wkv>(problem, {o}), Search::kOne);
}

// Three chunks of 16, and columns for all steps.
WkvCase case_of(Recurrence recurrence) {
  WkvCase c = plain_wkv_case({}, recurrence);
  c.T = 34;
  c.H = 2;
  c.K = 8;
  c.V = 40;
  return c;
}

constexpr Recurrence kBoth[] = {Recurrence::kWkv, Recurrence::kGla};

TEST(Shares, AreThoseOfTheResult) {
  EXPECT_EQ(said_of_shares(case_of(Recurrence::kWkv), [](auto, auto, double x, auto) { return x; }),
            "");
}

TEST(Shares, ThatAreMissingAreNamed) {
  const auto expect = [](const std::string& words,
                         bool (*is_missing)(std::int64_t t, std::int64_t s)) {
    for (const Recurrence recurrence : kBoth) {
      const auto change = [=](auto t, auto s, double x, auto) { return is_missing(t, s) ? 0 : x; };
      expect_words("\nA step takes nothing from " + words + "; all else is right.\n",
                   said_of_shares(case_of(recurrence), change));
    }
  };
  expect("the steps before its own block of 16", [](auto t, auto s) { return s < t / 16 * 16; });
  expect("the steps that lie two or more blocks of 16 back",
         [](auto t, auto s) { return s < t / 16 * 16 - 16; });
  expect("the step before it", [](auto t, auto s) { return s == t - 1; });
}

TEST(Shares, ThatAreWrongAreNamedWithTheirFactorOrNot) {
  const auto expect = [](const std::string& factor, double (*change)(double x, std::size_t at)) {
    expect_words(
        "\nWhat a step takes from the earlier steps of its own block of 16 is wrong; all else is "
        "right." +
            factor + "\n",
        said_of_shares(case_of(Recurrence::kGla), [=](auto t, auto s, double x, auto at) {
          return s < t && s >= t / 16 * 16 ? change(x, at) : x;
        }));
  };
  expect(" There it is 3 times what it should be.", [](double x, std::size_t) { return 3 * x; });
  expect("", [](double x, std::size_t at) { return x * (2 + std::sin(at)); });
}

TEST(Shares, WithDecaysMiscountedAtABorderAreNamed) {
  for (const Recurrence recurrence : kBoth) {
    const WkvCase c = case_of(recurrence);
    const WkvProblem problem = make_problem(c);
    std::size_t named = 0;
    for (const auto& [words, shares] : decay_shares(problem.args())) {
      if (words.find("from the key to the border of blocks of 16") == std::string::npos) continue;
      const Shares wrong = shares();
      const auto change = [&](auto t, auto s, double x, auto at) {
        return s < t / 16 * 16 ? wrong[at] : x;
      };
      expect_words(
          "\nWhat a step takes from the steps before its own block of 16 is wrong; all else is "
          "right. There it equals the result " +
              words + ".\n",
          said_of_shares(c, change));
      ++named;
    }
    EXPECT_EQ(named, 3u);
  }
}

TEST(Shares, OfAllEarlierStepsWithTheDecaysOfDecaySharesEqualTheVariants) {
  const WkvCase c = case_of(Recurrence::kGla);
  const WkvProblem problem = make_problem(c);
  const ShareSolver solver = solver_of(problem);
  WkvProblem forgotten = problem;
  for (float& x : forgotten["log_w"])
    x = 0;
  const Shares right = solver.shares(wkv_recurrence(forgotten.args()).o).value();
  const auto list = decay_shares(problem.args());
  ASSERT_EQ(list.front().first, "with the decay forgotten");
  const Shares computed = list.front().second();
  for (std::size_t at = 0; at < right.size(); ++at) {
    const auto t = static_cast<std::int64_t>(at) / c.T % c.T,
               s = static_cast<std::int64_t>(at) % c.T;
    if (s < t)
      EXPECT_NEAR(computed[at], right[at], 1e-6);
    else
      EXPECT_TRUE(std::isnan(computed[at]));
  }
}

// What is said of the right answer to another problem, in which element i of the array is multiplied.
void expect_said(const std::string& words, const char* array,
                 const std::function<double(std::size_t i)>& factor) {
  const WkvProblem problem = make_problem(plain_wkv_case({}));
  WkvProblem other = problem;
  for (std::size_t i = 0; i < other[array].size(); ++i)
    other[array][i] *= static_cast<float>(factor(i % problem.drawn_case().K));
  expect_words(words, said_of<Wkv>(problem, right_answer(other), Search::kOne));
}

// As brackets that are missing around a sum of four do it.
TEST(Shares, OfKeyRowsAreCounted) {
  const float scale = plain_wkv_case({}).scale;
  expect_said(
      "\nAll key rows but 0, 4, 8, 12, ... 28 count 1.43 times, which is 1 / scale: they are not "
      "multiplied by the scale.\n",
      "q", [=](auto j) { return j % 4 == 0 ? 1.0f : 1 / scale; });
  expect_said("\nKey row 7 is missing; all others count once.\n", "q",
              [](auto j) { return j == 7 ? 0 : 1; });
  expect_said(
      "\nKey row 1 counts 2 times; key row 2 counts 3 times; key row 3 counts 4 times; and "
      "so on; all others count once.\n",
      "q", [](auto j) { return j + 1; });
}

TEST(Shares, OfTheBonusAreNamedAsThoseOfAllAre) {
  expect_said(
      "\nIt equals the result with the bonus of the last 16 key rows alone: = for +=, or a "
      "loop that begins too late.\n",
      "u", [](auto j) { return j < 16 ? 0 : 1; });
}

}  // namespace
}  // namespace ladder::testing
