#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

TEST(WkvDecode, ReadsTheStateOnceAndWritesItOnce) {
  ladder::WkvCase s{.B = 2, .T = 1, .H = 3, .K = 64, .V = 64};
  s.initial_state = s.final_state = true;
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_time_tiles", s);
  EXPECT_EQ(kernel.buffer("initial_state").loads().accesses_per_element.least, 1u);
  EXPECT_EQ(kernel.buffer("initial_state").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("final_state").stores().accesses_per_element.least, 1u);
  EXPECT_EQ(kernel.buffer("final_state").stores().accesses_per_element.most, 1u);
  // v, four rows of the state, q, k, log_w and u, loaded by the eight warps of a block
  EXPECT_EQ(kernel[kGlobalLoadRequests], 9u * 8 * 2 * 3);
  EXPECT_EQ(kernel[kBarriers], 2u * 3u);  // one per block, and one block per head
}

}  // namespace
