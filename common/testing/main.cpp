#include <gtest/gtest.h>

#include "common/testing/suite.hpp"

// Suites of operators are registered here, not before main: by now all operators are known.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ladder::testing::register_pending_suites();
  return RUN_ALL_TESTS();
}
