#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "02_openmp/tile.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::WkvCase;

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

// One head is shared by columns, many heads are dealt out: neither may change a bit, whatever the number of threads.
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
      EXPECT_EQ(shared.o, alone.o) << threads << " threads, H=" << H;
      EXPECT_EQ(shared.final_state, alone.final_state) << threads << " threads, H=" << H;
    }
  }
  omp_set_num_threads(before);
}

// Two threads never write to the same cache line: a task's columns are whole lines wherever V is.
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
