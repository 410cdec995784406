#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

// Two batches of two heads for four threads, of which two would have no work with one thread for
// each batch.
TEST(wkv_threads, Hole1GivesEachThreadAHead) {
  const auto calls =
      calls_of_exp("wkv_threads", {.B = 2, .T = 20, .H = 2, .K = 8, .V = 5}, /*threads=*/4,
                   /*at_once=*/true);
  expect_count("threads that worked", threads_that_worked(calls), 4);
}

// Ten heads for four threads, so no thread has more than three.
TEST(wkv_threads, SharesHeadsFairly) {
  constexpr long kHead = 20 * 8 * 5;  // exps of a head, one for each step and element of the state
  const auto calls =
      calls_of_exp("wkv_threads", {.B = 2, .T = 20, .H = 5, .K = 8, .V = 5}, /*threads=*/4);
  if (all(calls) == 4 * 10 * kHead)
    ADD_FAILURE() << "WRONG RESULT in how the heads are shared: each of the 4 threads computes all "
                  << "10 heads, because nothing deals out the rounds of the loop";
  if (HasFailure()) return;
  expect_count("exps", all(calls), 10 * kHead);
  const long most = *std::max_element(calls.begin(), calls.end());
  if (most > 3 * kHead)
    ADD_FAILURE() << "WRONG RESULT in how the heads are shared: with 10 heads and 4 threads one "
                  << "thread computes " << most / kHead << " heads, right at most 3";
}

// Memory that two threads change shows only when both are at work.
TEST(wkv_threads, FourThreadsAgreeWithOne) {
  const ladder::WkvCase c{.B = 2, .T = 20, .H = 2, .K = 8, .V = 5};
  calls_of_exp("wkv_threads", c, /*threads=*/1);
  if (HasFailure()) return;
  calls_of_exp("wkv_threads", c, /*threads=*/4, /*at_once=*/true);
  if (HasFailure())
    ADD_FAILURE() << "WRONG RESULT with four threads at the same time, and with one thread the "
                  << "result is right";
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_threads", {.refuses = {"packed sequences"}});

}  // namespace
