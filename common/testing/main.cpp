#include <gtest/gtest.h>

#include "common/diagnosis/second_start.hpp"
#include "common/testing/first_nan.hpp"
#include "common/testing/suite.hpp"

// Suites of operators are registered here, not before main: by now all operators are known.
int main(int argc, char** argv) {
  ladder::second_start(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  ladder::testing::trace_nans();
  ladder::testing::register_pending_suites();
  return RUN_ALL_TESTS();
}
