#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

// One exp per key row, step and head, whatever the number of value columns.
TEST(wkv_loop_order, Hole1ComputesEachExpOnce) {
  constexpr long kB = 2, kT = 20, kH = 3, kK = 8;
  for (const long V : {1, 5, 64}) {
    const auto calls =
        calls_of_exp("wkv_loop_order", {.B = kB, .T = kT, .H = kH, .K = kK, .V = V}, /*threads=*/2);
    expect_count("exps with " + std::to_string(V) + " columns", all(calls), kB * kT * kH * kK);
    if (HasFailure()) return;
  }
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_loop_order", {.refuses = {"packed sequences"}});

}  // namespace
