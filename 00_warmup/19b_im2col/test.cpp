#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

// The first shape gives one result for each image and channel of y.
const bool holes_registered =
    register_hole("conv2d_im2col", "Hole1FindsTheTapOfARow", "conv2d",
                  {{"B", 3},
                   {"M", 4},
                   {"C", 5},
                   {"H", 3},
                   {"W", 4},
                   {"KH", 3},
                   {"KW", 4},
                   {"stride", 1},
                   {"pad", 0}}) &&
    register_hole("conv2d_im2col", "Hole2FindsThePlaceOfAColumn", "conv2d",
                  {{"B", 3},
                   {"M", 4},
                   {"C", 5},
                   {"H", 9},
                   {"W", 11},
                   {"KH", 3},
                   {"KW", 4},
                   {"stride", 2},
                   {"pad", 1}});

const bool registered = ladder::testing::register_suite("conv2d", "conv2d_im2col",
                                                        {.sizes = {{"B", {2, 1, 5}},
                                                                   {"M", {35, 1, 32}},
                                                                   {"C", {5, 1, 2}},
                                                                   {"H", {9, 1, 16}},
                                                                   {"W", {11, 1, 33}},
                                                                   {"KH", {3, 1, 2, 5}},
                                                                   {"KW", {3, 1, 4, 7}},
                                                                   {"stride", {2, 1, 3}},
                                                                   {"pad", {1, 0, 2}}},
                                                         .borders = {{.size = "M", .at = {32}}}});
