#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "02_openmp/tile.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::WkvCase;

// Columns of a tile with AVX-512, the widest. Not openmp::kTileColumns, because tests are not
// compiled for this machine's vectors.
constexpr std::int64_t kMostTileColumns = 32;

// Without a bonus, which hole 2 computes. A row is three tiles or more, and the last one is
// partial.
TEST(wkv_openmp, Hole1AdvancesATile) {
  auto problem = ladder::make_problem(WkvCase{.B = 1,
                                              .T = 40,
                                              .H = 2,
                                              .K = 20,
                                              .V = 2 * kMostTileColumns + 5,
                                              .initial_state = true,
                                              .final_state = true});
  std::fill(problem["u"].begin(), problem["u"].end(), 0.0f);
  ladder::testing::expect_right(ladder::find_implementation("wkv_openmp"), problem);
}

// One step from a state of zeros, so that o is the bonus alone. K is no multiple of a vector, and u
// is followed by NaN.
TEST(wkv_openmp, Hole2AddsTheBonus) {
  constexpr int kH = 2, kK = 20, kV = 5;
  std::vector<float> ones(kH * kK, 1.0f), log_w(kH * kK, 0.0f), u(kH * kK + openmp::kLine, NAN);
  std::fill_n(u.begin(), kH * kK, 1.0f);
  std::vector<float> o(kH * kV);
  ladder::WkvArgs args{.B = 1, .T = 1, .H = kH, .K = kK, .V = kV};
  args.q = args.k = args.v = ones.data();
  args.log_w = log_w.data();
  args.u = u.data();
  args.o = o.data();
  ladder::launch<ladder::Wkv>(ladder::find_implementation("wkv_openmp"), args);
  for (const float x : o) {
    ASSERT_FALSE(std::isnan(x)) << "WRONG RESULT: u is read behind its end: its last vector is not "
                                   "full, and is in tile.u, where zeros follow";
  }
  ladder::testing::expect_right(
      ladder::find_implementation("wkv_openmp"),
      ladder::make_problem(WkvCase{.B = 2, .T = 1, .H = 3, .K = kK, .V = 37}));
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_openmp", {.refuses = {"packed sequences"}});

float vector_exp(float x) {
  return openmp::exp(openmp::Vec{} + x)[0];
}

TEST(Chapter02Exp, IsExactAtItsEnds) {
  EXPECT_EQ(vector_exp(0.0f), 1.0f);
  EXPECT_EQ(vector_exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(vector_exp(-1e30f), 0.0f);
}

TEST(Chapter02Exp, IsWithinOneAndAHalfUlp) {
  double worst = 0;
  for (float x = -87.0f; x <= 0.0f; x += 1.0f / 4096) {
    const double truth = std::exp(static_cast<double>(x));
    const double ulp = std::ldexp(1.0, std::ilogb(truth) - 23);
    worst = std::max(worst, std::abs(vector_exp(x) - truth) / ulp);
  }
  EXPECT_LE(worst, 1.5);
}

// One head is shared by columns, and many heads are distributed. Neither may change a bit for any
// number of threads.
TEST(Chapter02Threads, DoNotChangeTheResult) {
  const auto implementation = ladder::find_implementation("wkv_openmp");
  const int before = omp_get_max_threads();
  for (const std::int64_t H : {1, 3}) {
    const auto problem = ladder::make_problem(
        WkvCase{.B = 1, .T = 200, .H = H, .K = 64, .V = 256, .final_state = true});
    omp_set_num_threads(1);
    const auto alone = ladder::run(implementation, problem);
    for (int threads : {2, 3, 5, 8}) {
      omp_set_num_threads(threads);
      const auto shared = ladder::run(implementation, problem);
      const std::string where =
          " with " + std::to_string(threads) + " threads, H=" + std::to_string(H);
      ladder::testing::expect_same_bits("o" + where, shared.o, alone.o);
      ladder::testing::expect_same_bits("final_state" + where, shared.final_state,
                                        alone.final_state);
      if (HasFailure()) break;
    }
  }
  omp_set_num_threads(before);
}

// Two threads never write to the same cache line, because a task's columns are whole lines if V is.
TEST(Chapter02Threads, TasksOwnWholeCacheLines) {
  const int before = omp_get_max_threads();
  for (int threads : {2, 3, 8}) {
    omp_set_num_threads(threads);
    for (const std::int64_t V : {16, 64, 128, 256, 512}) {
      const openmp::Split split(/*fma_count=*/1e12, /*B=*/1, /*H=*/1, /*K=*/64, V);
      EXPECT_EQ(split.columns * sizeof(float) % 64, 0u) << "V=" << V << ", threads=" << threads;
      std::int64_t covered = 0;
      for (std::int64_t task = 0; task < split.tasks; ++task) {
        const openmp::Task part(split, task, /*H=*/1, V);
        EXPECT_EQ(part.first, covered);
        covered += part.width;
      }
      EXPECT_EQ(covered, V);
    }
  }
  omp_set_num_threads(before);
}

}  // namespace
