#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "00_warmup/12a_latency/latencies.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace warmup {
namespace {

const bool hole_registered =
    register_hole("scale_in_flight", "Hole2MultipliesEveryElement", "scale", {{"N", 8199}});

const bool registered =
    ladder::testing::register_suite("scale", "scale_in_flight",
                                    {.sizes = {{"N", {37, 1, 4, 4096, 4097, 8199}}},
                                     .options = {{"factor", {"3", "-0.1"}}},
                                     .borders = {{.size = "N", .at = {8192, 16384}}}});

TEST(scale_in_flight, Hole1MakesOneRingOfAllPlaces) {
  for (const unsigned places : {1u, 2u, 3u, 10u, 1000u}) {
    for (const unsigned seed : {1u, 2u, 3u}) {
      const std::vector<unsigned> next = ring(places, seed);
      ASSERT_EQ(next.size(), places) << "WRONG RESULT";
      ASSERT_TRUE(std::all_of(next.begin(), next.end(), [=](unsigned i) { return i < places; }))
          << "WRONG RESULT: a place that there is not";
      unsigned at = 0, steps = 0;
      do
        at = next[at], ++steps;
      while (at != 0 && steps < places);
      ASSERT_TRUE(at == 0 && steps == places)
          << "WRONG RESULT: " << places << " places; the walk from place 0 is "
          << (at == 0 ? "back" : "not back") << " after " << steps
          << " steps: the places are not one ring";
    }
  }
}

TEST(scale_in_flight, Hole1MixesThePlaces) {
  constexpr unsigned kPlaces = 1000;
  const std::vector<unsigned> next = ring(kPlaces, 1);
  unsigned near = 0;  // steps that a fetch of the neighbourhood would help
  for (unsigned i = 0; i < kPlaces; ++i)
    near += (next[i] + kPlaces - i + 16) % kPlaces <= 32;
  EXPECT_LT(near, kPlaces / 10) << "WRONG RESULT: " << near
                                << " of 1000 steps go to a place near by: a cache fetches those "
                                   "together";
  EXPECT_EQ(next, ring(kPlaces, 1)) << "WRONG RESULT: another ring for the same seed";
  EXPECT_NE(next, ring(kPlaces, 2)) << "WRONG RESULT: the same ring for another seed";
}

}  // namespace
}  // namespace warmup
