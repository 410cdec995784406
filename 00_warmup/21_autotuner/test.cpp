#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "00_warmup/21_autotuner/autotuner.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

using warmup::Autotuner;
using warmup::Candidate;
using warmup::key_of;

namespace {

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_tuned",
    {.sizes = {{"M", {37, 1, 64}}, {"N", {45, 1, 64}}, {"K", {20, 1, 32}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});

// All candidates are tested, because only one of them is the best by count.
void every_candidate_is_right(const ladder::Implementation& tuned) {
  const auto problem =
      ladder::testing::case_of("matmul", {{"M", 131}, {"N", 70}, {"K", 37}},
                               {{"with_bias", "true"}, {"relu", "true"}}, "fp32", {})
          ->make();
  for (const auto& [choice, launch] : warmup::tile_kernels()) {
    ladder::Implementation one = tuned;
    one.launchers = ladder::launchers<warmup::Matmul>(launch);
    const auto placed = problem->place(ladder::device(one.device), one);
    placed->call();
    ladder::device(one.device).synchronize();
    EXPECT_TRUE(placed->judge(ladder::Arithmetic::kFp32, false).right)
        << "tile " << choice.tile << ", side " << choice.side << ", depth " << choice.depth;
  }
}
const bool candidates_registered =
    (ladder::testing::add("matmul_tuned", "EveryCandidateIsRight", every_candidate_is_right), true);

// ---- The key ----

void expect_other_keys(const std::vector<std::string>& keys) {
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size())
      << "WRONG RESULT\nequals the key of other sizes: " << keys.front();
}

TEST(matmul_tuned, Hole1KeyTellsSizesApart) {
  expect_other_keys({key_of("x", 8, 64, 32, "gpu"), key_of("x", 8, 32, 64, "gpu"),
                     key_of("x", 64, 8, 32, "gpu"), key_of("x", 8, 65, 32, "gpu"),
                     key_of("x", 8, 64, 33, "gpu"), key_of("x", 8, 6, 432, "gpu"),
                     key_of("y", 8, 64, 32, "gpu"), key_of("x", 8, 64, 32, "other gpu")});
}

TEST(matmul_tuned, Hole1KeyRoundsRowsUpToAPowerOf2) {
  const auto of_rows = [](std::int64_t M) { return key_of("x", M, 64, 32, "gpu"); };
  for (const auto& [M, rows] : {std::pair(0, "1"), std::pair(1, "1"), std::pair(2, "2"),
                                std::pair(3, "4"), std::pair(5, "8"), std::pair(8, "8"),
                                std::pair(64, "64"), std::pair(65, "128"), std::pair(100, "128")}) {
    ASSERT_EQ(of_rows(M), std::string("x M<=") + rows + " N=64 K=32 on gpu")
        << "WRONG RESULT\nthe key of M = " << M;
  }
}

// ---- The tuner ----

// Candidates with given costs, and the number of times that each one's cost was requested.
struct Costs {
  std::vector<double> costs;
  std::vector<int> asked = std::vector<int>(costs.size());
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < costs.size(); ++i)
      all.push_back({"candidate " + std::to_string(i), [] {}});
    return all;
  }
  std::size_t best(Autotuner& tuner, const std::string& key) {
    return tuner.best(key, candidates(), [&](std::size_t i) {
      if (i < costs.size()) return ++asked[i], costs[i];
      ADD_FAILURE() << "WRONG RESULT\nasked for the cost of candidate " << i << "; there are "
                    << costs.size() << ", and the first is candidate 0";
      return std::numeric_limits<double>::infinity();
    });
  }
};

TEST(matmul_tuned, Hole2TakesTheCheapest) {
  Autotuner tuner("");
  Costs last{{2, 3, 1}}, middle{{3, 1, 2}}, first{{0.1, 0.2, 0.1}};  // no float is 0.1
  const std::size_t of_last = last.best(tuner, "a");
  ASSERT_EQ(of_last, 2u) << "WRONG RESULT\nequals "
                         << (of_last == 1 ? "the largest cost, not the least"
                                          : "the first candidate; the last costs least");
  EXPECT_EQ(middle.best(tuner, "b"), 1u);
  EXPECT_EQ(first.best(tuner, "c"), 0u) << "WRONG RESULT\nthe costs are 0.1, 0.2 and 0.1: of equal "
                                           "costs the first candidate's is taken";
}

// Whether the first of the candidates is the best, one in the middle, or the last.
TEST(matmul_tuned, Hole2MeasuresOnceForEachKey) {
  for (std::size_t cheapest = 0; cheapest < 3; ++cheapest) {
    Autotuner tuner("");
    Costs costs{{3, 3, 3}};
    costs.costs[cheapest] = 1;
    EXPECT_EQ(costs.best(tuner, "a"), cheapest);
    const std::vector<int> asked = costs.asked;
    EXPECT_EQ(asked, (std::vector<int>{1, 1, 1}))
        << "WRONG RESULT\nfor a new key each candidate is to be measured once";
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(costs.best(tuner, "a"), cheapest)
          << "WRONG RESULT\nanother candidate than before for a key that is known";
    }
    EXPECT_EQ(costs.asked, asked) << "WRONG RESULT\nmeasured again for a key that is known";
    EXPECT_EQ(costs.best(tuner, "b"), cheapest);
    EXPECT_EQ(costs.asked, (std::vector<int>{2, 2, 2}))
        << "WRONG RESULT\nfor a new key each candidate is to be measured once";
  }
}

TEST(matmul_tuned, RefusesNoCandidates) {
  Autotuner tuner("");
  ladder::testing::expect_refused("candidates",
                                  [&] { tuner.best("a", {}, [](std::size_t) { return 0.0; }); });
}

// ---- The file ----

std::string path(const std::string& name) {
  const std::string file = ::testing::TempDir() + "autotuner_" + name + ".txt";
  std::filesystem::remove(file);
  return file;
}
void write(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
}
std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
constexpr const char* kFirstLine = "kernel-ladder autotuner 1\n";

TEST(matmul_tuned, Hole2KeepsItInAFile) {
  const std::string file = path("kept");
  Costs costs{{3, 1, 2}};
  {
    Autotuner tuner(file);
    costs.best(tuner, "a");
    costs.best(tuner, "b");
  }
  EXPECT_EQ(content(file), kFirstLine + std::string("a\tcandidate 1\nb\tcandidate 1\n"));
  Autotuner another(file);
  EXPECT_EQ(costs.best(another, "a"), 1u);
  EXPECT_EQ(costs.asked, (std::vector<int>{2, 2, 2}));
}

TEST(matmul_tuned, MeasuresAgainWhatTheFileDoesNotTell) {
  const std::string file = path("stale");
  for (const char* line :
       {"a\tcandidate 7\n", "a\t\n", "a candidate 1\n", "a\tcandi", "\n\t\t\n"}) {
    write(file, kFirstLine + std::string(line));
    Autotuner tuner(file);
    Costs costs{{3, 1, 2}};
    EXPECT_EQ(costs.best(tuner, "a"), 1u) << line;
    EXPECT_EQ(costs.asked, (std::vector<int>{1, 1, 1})) << line;
    Autotuner another(file);
    EXPECT_EQ(costs.best(another, "a"), 1u);
    EXPECT_EQ(costs.asked, (std::vector<int>{1, 1, 1})) << line;
  }
}

TEST(matmul_tuned, RefusesAFileOfSomethingElseAndLeavesIt) {
  const std::string file = path("foreign");
  for (const char* text : {"my diary\n", "", "kernel-ladder autotuner 2\n", "\xff\xfe\n"}) {
    write(file, text);
    ladder::testing::expect_refused(file, [&] { Autotuner tuner(file); });
    EXPECT_EQ(content(file), text);
  }
}

TEST(matmul_tuned, SaysThatItsFileCannotBeWritten) {
  Autotuner tuner(path("folder") + "/is/not/there");
  Costs costs{{1}};
  ladder::testing::expect_refused("is/not/there", [&] { costs.best(tuner, "a"); });
}

// ---- Costs ----

// Threads of the host share the tuner and the GPU, so a measurement must not run beside another.
KERNEL_TEST(matmul_tuned, MeasuresForOneThreadAtATime) {
  std::atomic<int> measuring = 0;
  std::atomic<bool> alone = true;
  const auto measured = [&] {
    if (++measuring > 1) alone = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --measuring;
  };
  const auto tune = [&](const std::string& what) {
    for (const std::int64_t M : {1, 2, 4, 8}) {
      warmup::tuned(what, M, 1, 1, {{"a", measured}, {"b", measured}}, [&](std::size_t) {
        measured();
        return 1.0;
      });
    }
  };
  std::thread other(tune, "another thread's");
  tune("this thread's");
  other.join();
  EXPECT_TRUE(alone) << "WRONG RESULT\ntwo threads measured at the same time";
}

KERNEL_TEST(matmul_tuned, SecondsAreOfSixCalls) {
  int calls = 0;
  EXPECT_GE(warmup::seconds_of([&] { ++calls; }), 0.0);
  EXPECT_EQ(calls, 6);
}

// By count, small tiles are best for one row because they give work to more SMs, and large tiles
// are best for a large product.
TEST(matmul_tuned, CountsFavourSmallTilesForFewElements) {
  const auto best = [](std::int64_t M, std::int64_t N, std::int64_t K) {
    int tile = 0;
    double least = 1e300;
    for (const auto& [choice, launch] : warmup::tile_kernels()) {
      const double cycles = warmup::cycles_by_count(choice, M, N, K);
      if (cycles < least) least = cycles, tile = choice.tile;
    }
    return tile;
  };
  EXPECT_EQ(best(1, 1024, 1024), 16);
  EXPECT_EQ(best(4096, 4096, 4096), 64);
}

}  // namespace
