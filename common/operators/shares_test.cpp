// A wrong result that no known mistake gives is taken apart: into steps, key rows, and what lies in the wrong place.
#include "common/operators/shares.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "common/operators/compare.hpp"
#include "common/operators/planted.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/decay_shares.hpp"

namespace ladder::testing {
namespace {

using reference::Shares;

std::string said_of(const WkvProblem& problem, const WkvOutputs& outputs) {
  return reference::judge(problem, outputs, Arithmetic::kFp32).message;
}

// The plain case with shares that are changed, by `change(t, s, share)`.
template <typename Change>
std::string said_of_shares(const WkvCase& c, const Change& change) {
  const WkvProblem problem = make_problem(c);
  const reference::ShareSolver solver({problem.v.pointer(), c.B, c.T, c.H, c.V}, c.T, c.H, 0);
  auto result = reference::wkv_recurrence(problem);
  const Shares shares = solver.shares(result.o).value();
  std::fill(result.o.begin(), result.o.end(), 0.0);
  for (std::int64_t head = 0; head < c.B * c.H; ++head) {
    const std::int64_t b = head / c.H, h = head % c.H;
    for (std::int64_t t = 0; t < c.T; ++t) {
      for (std::int64_t s = 0; s < c.T; ++s) {
        const std::size_t at = (head * c.T + t) * c.T + s;
        const double share = change(t, s, shares[at], at);
        for (std::int64_t i = 0; i < c.V; ++i)
          result.o[((b * c.T + t) * c.H + h) * c.V + i] +=
              share * problem.v.data[((b * c.T + s) * c.H + h) * c.V + i];
      }
    }
  }
  return said_of(problem, stored(problem, result));
}

void expect_said(const std::string& said, const std::string& words) {
  EXPECT_NE(said.find(words), std::string::npos) << said;
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

TEST(Shares, AreThoseOfTheResult) {
  EXPECT_EQ(said_of_shares(case_of(Recurrence::kWkv), [](auto, auto, double x, auto) { return x; }),
            "");
}

TEST(Shares, ThatAreMissingAreNamed) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    expect_said(
        said_of_shares(case_of(recurrence),
                       [](auto t, auto s, double x, auto) { return s < t / 16 * 16 ? 0 : x; }),
        "\nA step takes nothing from the steps before its own block of 16; all else is right.\n");
    expect_said(
        said_of_shares(case_of(recurrence),
                       [](auto t, auto s, double x, auto) { return s < t / 16 * 16 - 16 ? 0 : x; }),
        "\nA step takes nothing from the steps that lie two or more blocks of 16 back; "
        "all else is right.\n");
    expect_said(said_of_shares(case_of(recurrence),
                               [](auto t, auto s, double x, auto) { return s == t - 1 ? 0 : x; }),
                "\nA step takes nothing from the step before it; all else is right.\n");
  }
}

TEST(Shares, ThatAreWrongAreNamedWithTheirFactorOrNot) {
  expect_said(
      said_of_shares(
          case_of(Recurrence::kGla),
          [](auto t, auto s, double x, auto) { return s < t && s >= t / 16 * 16 ? 3 * x : x; }),
      "\nWhat a step takes from the earlier steps of its own block of 16 is wrong; all else is "
      "right. There it is 3 times what it should be.\n");
  expect_said(said_of_shares(case_of(Recurrence::kGla),
                             [](auto t, auto s, double x, auto at) {
                               return s < t && s >= t / 16 * 16 ? x * (2 + std::sin(at)) : x;
                             }),
              "\nWhat a step takes from the earlier steps of its own block of 16 is wrong; all "
              "else is right.\n");
}

TEST(Shares, WithDecaysMiscountedAtABorderAreNamed) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    const WkvCase c = case_of(recurrence);
    const WkvProblem problem = make_problem(c);
    std::size_t named = 0;
    for (const auto& [words, shares] : reference::decay_shares(problem)) {
      if (words.find("from the key to the border of blocks of 16") == std::string::npos) continue;
      const Shares wrong = shares().value();
      expect_said(said_of_shares(c, [&](auto t, auto s, double x,
                                        auto at) { return s < t / 16 * 16 ? wrong[at] : x; }),
                  "\nWhat a step takes from the steps before its own block of 16 is wrong; all "
                  "else is right. There "
                  "it equals the result " +
                      words + ".\n");
      ++named;
    }
    EXPECT_EQ(named, 3u);
  }
}

TEST(Shares, OfAllEarlierStepsWithTheDecaysOfDecaySharesEqualTheVariants) {
  const WkvProblem problem = make_problem(case_of(Recurrence::kGla));
  const WkvCase& c = problem.wkv_case;
  const reference::ShareSolver solver({problem.v.pointer(), c.B, c.T, c.H, c.V}, c.T, c.H, 0);
  WkvProblem forgotten = problem;
  for (float& x : forgotten.log_w.data)
    x = 0;
  const Shares right = solver.shares(reference::wkv_recurrence(forgotten).o).value();
  const auto list = reference::decay_shares(problem);
  ASSERT_EQ(list.front().first, "with the decay forgotten");
  const Shares computed = list.front().second().value();
  for (std::size_t at = 0; at < right.size(); ++at) {
    const auto t = static_cast<std::int64_t>(at) / c.T % c.T,
               s = static_cast<std::int64_t>(at) % c.T;
    if (s < t)
      EXPECT_NEAR(computed[at], right[at], 1e-6);
    else
      EXPECT_TRUE(std::isnan(computed[at]));
  }
}

// As brackets that are missing around a sum of four do it.
TEST(Shares, OfKeyRowsAreCounted) {
  const WkvCase c = plain_wkv_case({});
  WkvProblem problem = make_problem(c), other = problem;
  for (std::size_t i = 0; i < other.q.data.size(); ++i)
    other.q.data[i] *= i % 4 == 0 ? 1.0f : 1 / c.scale;
  expect_said(
      said_of(problem, stored(problem, reference::wkv_recurrence(other))),
      "\nAll key rows but 0, 4, 8, 12, ... 28 count 1.43 times, which is 1 / scale: they are not "
      "multiplied by the scale.\n");
  for (std::size_t i = 0; i < other.q.data.size(); ++i)
    other.q.data[i] = i % c.K == 7 ? 0.0f : problem.q.data[i];
  expect_said(said_of(problem, stored(problem, reference::wkv_recurrence(other))),
              "\nKey row 7 is missing; all others count once.\n");
  for (std::size_t i = 0; i < other.q.data.size(); ++i)
    other.q.data[i] = problem.q.data[i] * static_cast<float>(i % c.K + 1);
  expect_said(said_of(problem, stored(problem, reference::wkv_recurrence(other))),
              "\nKey row 1 counts 2 times; key row 2 counts 3 times; key row 3 counts 4 times; and "
              "so on; all "
              "others count once.\n");
}

TEST(Shares, OfTheBonusAreNamedAsThoseOfAllAre) {
  const WkvCase c = plain_wkv_case({});
  WkvProblem problem = make_problem(c), other = problem;
  for (std::size_t i = 0; i < other.u.data.size(); ++i)
    other.u.data[i] *= i % c.K < 16 ? 0.0f : 1.0f;
  expect_said(said_of(problem, stored(problem, reference::wkv_recurrence(other))),
              "\nIt equals the result with the bonus of the last 16 key rows alone: = for +=, or a "
              "loop that begins too late.\n");
}

// Where each query divides by what it has added up, one key more or less changes its whole row.
TEST(Shares, OfARowThatIsDividedAreComparedInProportion) {
  const AttentionCase c = plain_attention_case({});
  const AttentionProblem problem = make_problem(c);
  const auto truth = reference::attention_closed_sum(problem);
  const reference::ShareSolver solver({problem.v.pointer(), c.B, c.T_k, c.H_kv, c.D}, c.T_q, c.H_q,
                                      0);
  // of[s] of query t is changed, then o is divided by what `divisor(sum, t)` makes of their sum.
  const auto expect = [&](const auto& change, const auto& divisor, const std::string& words) {
    Shares shares = solver.shares(truth.o).value();
    AttentionOutputs outputs{std::vector<float>(truth.o.size(), 0.0f),
                             {truth.lse.begin(), truth.lse.end()}};
    for (std::int64_t row = 0; row < c.B * c.H_q * c.T_q; ++row) {
      const std::int64_t head = row / c.T_q, t = row % c.T_q, b = head / c.H_q, h = head % c.H_q;
      double *of = &shares[row * c.T_k], sum = 0;
      for (std::int64_t s = 0; s < c.T_k; ++s)
        sum += of[s] = change(s, of[s]);
      for (std::int64_t s = 0; s < c.T_k; ++s) {
        for (std::int64_t i = 0; i < c.D; ++i) {
          const std::int64_t of_v = ((b * c.T_k + s) * c.H_kv + h / (c.H_q / c.H_kv)) * c.D + i;
          outputs.o[((b * c.T_q + t) * c.H_q + h) * c.D + i] +=
              static_cast<float>(of[s] / divisor(sum, t) * problem.v.data[of_v]);
        }
      }
    }
    expect_said(reference::judge(problem, outputs, Arithmetic::kFp32).message, words);
  };
  const auto sum_of_all = [](double sum, std::int64_t) { return sum; };
  expect([](auto s, double x) { return s == 3 ? 0 : x; }, sum_of_all,
         "\nA query takes nothing from key 3; all else is in the right proportion.\n");
  expect([](auto s, double x) { return s == 3 ? x / 4 : x; }, sum_of_all,
         "\nBeside all else, what a query takes from key 3 is 0.25 times what it should be. Either "
         "that is wrong, or all else is 4 times what it should be: o is divided by the sum of "
         "both.\n");
  expect([](auto, double x) { return x; },
         [](double, std::int64_t t) { return 1.0 + static_cast<double>(t); },
         "\nAll that a query takes is in the right proportion, but o of query 1 is 0.5 times what "
         "it should be: what o is divided or multiplied by is wrong.\n");
}

// One axis of an array, or two.
std::string said_of_part(const std::vector<std::int64_t>& sizes,
                         const std::function<float(std::int64_t, double)>& change) {
  std::vector<double> truth;
  std::vector<float> result;
  for (std::int64_t i = 0; i < (sizes.size() > 1 ? sizes[0] * sizes[1] : sizes[0]); ++i) {
    truth.push_back(static_cast<float>(std::sin(1.0 + static_cast<double>(i))));
    result.push_back(change(i, truth.back()));
  }
  const std::vector<std::string> axes = {"m", "n"};
  const reference::Part part{
      {"y", {axes.end() - sizes.size(), axes.end()}, sizes}, &result, &truth, &truth, {}};
  return judge_part(part, [] { return ""; }).message;
}

TEST(Shares, OfWhatLiesInTheWrongPlaceAreNamed) {
  const auto value = [](std::int64_t i) {
    return static_cast<float>(std::sin(1.0 + static_cast<double>(i)));
  };
  expect_said(
      said_of_part({8, 16}, [&](std::int64_t i, double) { return value(i % 16 == 2 ? i - 1 : i); }),
      "\nN=2 holds what n=1 should.\n");
  expect_said(
      said_of_part({8, 16}, [&](std::int64_t i, double) { return value((i + 16) % 128); }),
      "\nM=0 holds what m=1 should, m=1 holds what m=2 should, m=2 holds what m=3 should, ...\n");
}

// A slice of zeros is not one that another slice of zeros should hold.
TEST(Shares, OfZerosAreInNoPlace) {
  std::vector<double> truth;
  for (int i = 0; i < 64; ++i)
    truth.push_back(i < 16 ? 0.0 : static_cast<float>(std::sin(1.0 + i)));
  std::vector<float> result(truth.begin(), truth.end());
  std::fill_n(result.begin() + 32, 16, 0.0f);
  const reference::Part part{{"y", {"m", "n"}, {4, 16}}, &result, &truth, &truth, {}};
  const std::string said = judge_part(part, [] { return ""; }).message;
  EXPECT_NE(said.find("WRONG RESULT"), std::string::npos);
  EXPECT_EQ(said.find("holds what"), std::string::npos) << said;
}

TEST(Shares, OfAVariableWithoutAValueAreNamed) {
  expect_said(
      said_of_part(
          {64}, [](std::int64_t i, double x) { return i > 5 ? -1.7e37f : static_cast<float>(x); }),
      "\nSome elements are huge, such as -1.7e+37. Is a variable read before it is given a value?");
}

TEST(Shares, ThatAreWrongAgainAndAgainAreNamedByTheirRest) {
  expect_said(said_of_part({640},
                           [](std::int64_t i, double x) {
                             return static_cast<float>(i % 64 >= 32 ? 2 * x * x : x);
                           }),
              "\nwrong: n % 64 = 32 to 63\n");
}

}  // namespace
}  // namespace ladder::testing
