#include <gtest/gtest.h>

#include "00_warmup/12_latency/occupancy.hpp"
#include "common/testing/suite.hpp"

namespace {

const bool one_each_registered = ladder::testing::register_suite(
    "scale", "scale_one_each",
    {.sizes = {{"N", {37, 1, 256, 1000}}}, .options = {{"factor", {"3", "-0.5"}}}});

TEST(BlocksPerMultiprocessor, AreThoseThatCudaCountsOnThisDevice) {
  const warmup::OccupancyByCuda cuda = warmup::occupancy_by_cuda();
  if (!cuda.compute_capability_9) return;
  EXPECT_EQ(
      warmup::blocks_per_multiprocessor(cuda.threads, cuda.registers_per_thread, cuda.shared_bytes),
      cuda.blocks);
}

}  // namespace
