#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

// Two batches of two heads for four threads: with one thread for each batch two would have no work.
TEST(wkv_threads, Hole1GivesEachThreadAHead) {
  const auto calls =
      calls_of_exp("wkv_threads", {.B = 2, .T = 20, .H = 2, .K = 8, .V = 5}, /*threads=*/4);
  expect_count("threads that worked", threads_that_worked(calls), 4);
}

// Ten heads for four threads: nobody has more than three.
TEST(wkv_threads, SharesHeadsFairly) {
  constexpr long kHead = 20 * 8 * 5;  // exps of a head: one for each step and element of the state
  const auto calls =
      calls_of_exp("wkv_threads", {.B = 2, .T = 20, .H = 5, .K = 8, .V = 5}, /*threads=*/4);
  expect_count("exps", all(calls), 10 * kHead);
  for (const long count : calls)
    EXPECT_LE(count, 3 * kHead);
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_threads", {.refuses = {"packed sequences"}});

}  // namespace
