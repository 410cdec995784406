#include <gtest/gtest.h>

#include <cstdint>

#include "05_float4/01_block_size/block_size.hpp"
#include "common/testing/suite.hpp"

using block_size::warps_on_busiest;

namespace {

// 132 SMs, as on an H200, and heads of 64 columns.
TEST(wkv_block_128, Hole1CountsTheBusiestMultiprocessor) {
  struct Launch {
    std::int64_t heads;
    int threads;
    std::int64_t warps;
  };
  for (const auto& [heads, threads, warps] :
       {Launch{32, 32, 1}, Launch{32, 64, 2}, Launch{32, 128, 4}, Launch{256, 32, 4},
        Launch{256, 64, 4}, Launch{256, 128, 4}, Launch{264, 128, 4}, Launch{265, 128, 8}}) {
    EXPECT_EQ(warps_on_busiest(heads * 64, threads, 132), warps)
        << "WRONG RESULT: " << heads * 64 << " channels in blocks of " << threads;
  }
  EXPECT_EQ(warps_on_busiest(33, 32, 1), 2)
      << "WRONG RESULT: 33 channels in blocks of 32 are two blocks, here on one multiprocessor";
}

const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_block_128",
    {.sizes = {{"T", {0, 1, 17, 66}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"}});

}  // namespace
