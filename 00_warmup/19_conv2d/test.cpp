#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const bool holes_registered =
    register_hole("conv2d_direct", "Hole1FindsThePixelBelow", "conv2d",
                  {{"B", 2},
                   {"M", 3},
                   {"C", 2},
                   {"H", 9},
                   {"W", 11},
                   {"KH", 3},
                   {"KW", 3},
                   {"stride", 2},
                   {"pad", 1}}) &&
    register_hole("conv2d_window", "Hole2MasksTheTileOfTheWindow", "conv2d",
                  {{"B", 2},
                   {"M", 3},
                   {"C", 2},
                   {"H", 9},
                   {"W", 11},
                   {"KH", 5},
                   {"KW", 7},
                   {"stride", 2},
                   {"pad", 1}});

// A window of 5 x 7 needs a tile of 8 x 8 taps, two for each lane. One of 9 x 5 needs 16 x 8, four
// for each lane.
const ladder::Support kSupport{
    .sizes = {{"B", {2, 1}},
              {"M", {3, 1, 8}},
              {"C", {2, 1, 4}},
              {"H", {9, 1, 16}},
              {"W", {11, 1, 33}},
              {"KH", {3, 1, 2, 5}},
              {"KW", {3, 1, 4, 7}},
              {"stride", {2, 1, 3}},
              {"pad", {1, 0, 2}}},
    .borders = {{.size = "KH", .at = {8}, .others = {{"H", 9}, {"KW", 5}, {"pad", 1}}}}};
const bool registered = ladder::testing::register_suite("conv2d", "conv2d_window", kSupport) &&
                        ladder::testing::register_suite("conv2d", "conv2d_direct", kSupport);
