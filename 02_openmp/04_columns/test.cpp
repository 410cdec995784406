#include "02_openmp/04_columns/columns.hpp"

#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

constexpr std::uintptr_t kLineBytes = 64;

// How many cache lines of a row of V floats two parts write to, where the row begins with a line.
template <typename Cut>
long shared_lines(std::int64_t parts, std::int64_t V, const Cut& cut) {
  std::map<std::uintptr_t, std::set<std::int64_t>> writers;  // of each line
  for (std::int64_t part = 0; part < parts; ++part) {
    const Columns columns = cut(part, parts, V);
    for (std::int64_t iv = columns.first; iv < columns.end; ++iv)
      writers[iv * sizeof(float) / kLineBytes].insert(part);
  }
  long shared = 0;
  for (const auto& [line, its_writers] : writers)
    shared += its_writers.size() > 1;
  return shared;
}

TEST(wkv_columns, Hole1SharesNoCacheLine) {
  for (const std::int64_t V : {1, 16, 37, 64, 100, 256}) {
    for (const std::int64_t parts : {1, 2, 3, 4, 7}) {
      const std::string where =
          std::to_string(V) + " columns in " + std::to_string(parts) + " parts";
      std::int64_t covered = 0, most = 0, least = V;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Columns columns = columns_of(part, parts, V);
        expect_count("the first column of a part, " + where, columns.first, covered);
        covered = columns.end;
        most = std::max(most, columns.end - columns.first);
        least = std::min(least, columns.end - columns.first);
      }
      expect_count("columns that have a part, " + where, covered, V);
      expect_count("cache lines that two threads write, " + where,
                   shared_lines(parts, V, columns_of), 0);
      EXPECT_LT(most - least, 2 * 16) << where;
      if (HasFailure()) return;
    }
  }
}

// Why the cut is not made where it seems natural.
TEST(Columns, InEqualPartsShareCacheLines) {
  const auto equal = [](std::int64_t part, std::int64_t parts, std::int64_t V) {
    return Columns{part * V / parts, (part + 1) * V / parts};
  };
  EXPECT_EQ(shared_lines(3, 64, equal), 2);
  EXPECT_EQ(shared_lines(4, 64, equal), 0);
}

TEST(wkv_columns, Hole2HasWorkForAllThreads) {
  expect_count("parts for 4 threads, 1 head of 64 columns", parts_of(4, 1, 64), 4);
  expect_count("parts for 4 threads, 3 heads of 64 columns", parts_of(4, 3, 64), 2);
  expect_count("parts for 8 threads, 1 head of 64 columns", parts_of(8, 1, 64), 4);
  expect_count("parts for 4 threads, 2 heads of 64 columns", parts_of(4, 2, 64), 2);
  expect_count("parts for 6 threads, 2 heads of 256 columns", parts_of(6, 2, 256), 3);
  expect_count("parts for 8 threads, 1 head of 37 columns", parts_of(8, 1, 37), 3);
  expect_count("parts for 4 threads, 4 heads of 64 columns", parts_of(4, 4, 64), 1);
  expect_count("parts for 4 threads, 9 heads of 64 columns", parts_of(4, 9, 64), 1);
  if (HasFailure()) return;
  const auto calls =
      calls_of_exp("wkv_columns", {.B = 1, .T = 20, .H = 1, .K = 8, .V = 64}, /*threads=*/4);
  expect_count("threads that worked", threads_that_worked(calls), 4);
}

// As the price, every part computes the decays of all key rows.
TEST(wkv_columns, ComputesEachExpOnceForEachPart) {
  const auto calls =
      calls_of_exp("wkv_columns", {.B = 1, .T = 20, .H = 1, .K = 8, .V = 64}, /*threads=*/4);
  expect_count("exps", all(calls), 4 * 20 * 8);
}

// However the columns are shared, each is computed in the same order.
TEST(wkv_columns, DoesNotDependOnTheNumberOfThreads) {
  const auto implementation = ladder::find_implementation("wkv_columns");
  const auto problem = ladder::make_problem(
      {.B = 1, .T = 40, .H = 1, .K = 16, .V = 100, .initial_state = true, .final_state = true});
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = ladder::run(implementation, problem);
  for (const int threads : {2, 3, 8}) {
    omp_set_num_threads(threads);
    const auto shared = ladder::run(implementation, problem);
    const std::string where = " with " + std::to_string(threads) + " threads";
    ladder::testing::expect_same_bits("o" + where, shared.o, alone.o);
    ladder::testing::expect_same_bits("final_state" + where, shared.final_state, alone.final_state);
  }
  omp_set_num_threads(before);
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_columns", {.refuses = {"packed sequences"}});

}  // namespace
