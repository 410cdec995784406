#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "05_float4/01_block_size/block_size.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

using block_size::warps_on_busiest;

namespace {

// 132 multiprocessors, as an H200 has; heads of 64 columns.
TEST(wkv_block_128, Hole1CountsTheBusiestMultiprocessor) {
  struct Launch {
    std::int64_t heads, threads, warps;
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

KERNEL_TEST(wkv_block_128, Hole2LaunchesBlocksOfItsSize) {
  for (const auto& [name, threads] :
       {std::pair("wkv_block_64", 64u), std::pair("wkv_block_128", 128u)}) {
    const ladder::Implementation implementation = ladder::find_implementation(name);
    ladder::testing::expect_right<ladder::Wkv>(
        implementation, make_problem(ladder::WkvCase{.B = 1, .T = 3, .H = 3, .K = 64, .V = 64}));
#ifdef EMULATOR_LAUNCH  // only the emulator says how the last launch was
    EXPECT_EQ(emulator::last_launch().block.x, threads) << "WRONG RESULT: the size of a block";
#endif
  }
}

const ladder::Support kPlain = {.sizes = {{"T", {0, 1, 17, 66}}, {"K", {4, 64}}},
                                .refuses = {"states", "reverse", "packed sequences", "K != V"}};
const bool registered = ladder::testing::register_suite("wkv", "wkv_block_64", kPlain) &&
                        ladder::testing::register_suite("wkv", "wkv_block_128", kPlain);

}  // namespace
