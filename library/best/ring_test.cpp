#include "library/best/ring.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using ladder::best::Ring;

TEST(BestRing, GivesOneArrayAfterAnotherAndBeginsAgain) {
  Ring ring(4 * Ring::kAlignment);
  EXPECT_EQ(ring.take(1), 0u);
  EXPECT_EQ(ring.take(Ring::kAlignment + 1), Ring::kAlignment);
  EXPECT_EQ(ring.take(Ring::kAlignment), 3 * Ring::kAlignment);
  EXPECT_EQ(ring.take(1), 0u);
  EXPECT_THROW(ring.take(4 * Ring::kAlignment + 1), std::runtime_error);
}

// A small output and a large state, as in decode. The state does not fit after the output, so both
// begin again.
TEST(BestRing, KeepsTheArraysOfACallApart) {
  Ring ring(6 * Ring::kAlignment);
  ring.take(3 * Ring::kAlignment);
  constexpr std::size_t kOutput = 10, kState = 4 * Ring::kAlignment;
  ring.reserve(Ring::aligned(kOutput) + Ring::aligned(kState));
  const std::size_t output = ring.take(kOutput), state = ring.take(kState);
  EXPECT_EQ(output, 0u);
  EXPECT_EQ(state, Ring::kAlignment);
  EXPECT_THROW(ring.reserve(7 * Ring::kAlignment), std::runtime_error);
}

}  // namespace
