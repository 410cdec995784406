#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

#include "00_warmup/hole_tests.hpp"
#include "00_warmup/tile_grid.hpp"

using warmup::register_hole;

// The first one reads nothing of a, because the second one detects a wrong batch.
const bool holes_registered =
    register_hole("batched_matmul_tiles", "Hole1AddsTheBiasAndThenAppliesGelu", "batched_matmul",
                  {{"B", 1}, {"M", 5}, {"N", 45}, {"K", 0}},
                  {{"with_bias", "true"}, {"gelu", "true"}}) &&
    register_hole("batched_matmul_tiles", "Hole2FindsItsBatch", "batched_matmul",
                  {{"B", 3}, {"M", 5}, {"N", 45}, {"K", 19}});

const bool registered = ladder::testing::register_suite(
    "batched_matmul", "batched_matmul_tiles",
    {.sizes = {{"B", {3, 1, 2}}, {"M", {37, 1, 32}}, {"N", {45, 1, 64}}, {"K", {40, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"gelu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {32}}, {.size = "N", .at = {32}}, {.size = "K", .at = {32}}}});

TEST(TileGrid, CountsTilesAndRefusesMoreThanAGridHas) {
  const auto blocks = [](std::int64_t matrices, std::int64_t M, std::int64_t N) {
    return warmup::blocks_of_tiles("B * M * N", matrices, M, N, 32, 16);
  };
  EXPECT_EQ(blocks(3, 33, 48), 3u * 2 * 3);
  EXPECT_EQ(blocks(3, 33, 49), 3u * 2 * 4);
  EXPECT_EQ(blocks(0, 33, 49), 0u);
  EXPECT_EQ(blocks(3, 33, 0), 0u);
  EXPECT_EQ(blocks(INT32_MAX, 32, 16), static_cast<unsigned>(INT32_MAX));
  EXPECT_THROW(blocks(INT32_MAX, 32, 17), std::invalid_argument);
  EXPECT_THROW(blocks(std::int64_t{1} << 40, 32, 16), std::invalid_argument);
}
