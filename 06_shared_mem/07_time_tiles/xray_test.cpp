#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds =
    ladder::testing::register_bounds("wkv_time_tiles", "wkv", ladder::testing::kRaggedShape,
                                     {{"initial_state", "true"}, {"final_state", "true"}},
                                     {"fp32", "bf16", "bf16_fp32_decay", "fp16"});

// On four SMs, 2, 3 and 9 heads are few, many and a crowd.
struct WkvTimeTilesByShare : testing::Test {
  emulator::SmallerDevice device{emulator::SmallerDevice::kMultiprocessors, "4"};
};

TEST_F(WkvTimeTilesByShare, HasNoBankConflicts) {
  for (const int H : {2, 3, 9}) {
    const ladder::WkvCase s{.B = 1, .T = 9, .H = H, .K = 64, .V = 64};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_time_tiles", s);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u) << H << " heads";
    EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u) << H << " heads";
  }
}

TEST(WkvTimeTiles, StoresEachOutputOnceAndWithoutAtomics) {
  const ladder::WkvCase s{.B = 2, .T = 37, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_time_tiles", s);
  EXPECT_EQ(kernel[kAtomics], 0u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.least, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

// The chapter's first kernel needs two per step.
TEST_F(WkvTimeTilesByShare, TakesOneBarrierPerTile) {
  for (const auto& [H, column_blocks, tiles] :
       {std::tuple{2, 4u, 3u}, {3, 1u, 3u}, {9, 1u, 5u}}) {  // of 32, 32 and 16 steps
    const ladder::WkvCase s{.B = 1, .T = 70, .H = H, .K = 64, .V = 64};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_time_tiles", s);
    EXPECT_EQ(kernel[kBarriers], static_cast<unsigned>(H) * column_blocks * tiles) << H << " heads";
  }
}

TEST_F(WkvTimeTilesByShare, FetchesAnElementOncePerBlockOfColumns) {
  for (const auto& [H, column_blocks] : {std::pair{2, 4u}, {3, 1u}, {9, 1u}}) {
    const ladder::WkvCase s{.B = 1, .T = 9, .H = H, .K = 64, .V = 64};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_time_tiles", s);
    for (const char* name : {"q", "k", "log_w"})
      EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, column_blocks) << name << H;
    EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
  }
}

// K = 100 in bf16, so rows begin at multiples of 8 bytes, but not of 16.
TEST(WkvTimeTiles, CopiesFourElementsAtOnceWhereRowsConsistOfFours) {
  for (const auto& [storage, K, bytes] : {std::tuple{"fp32", 100, 16u},
                                          {"bf16", 100, 8u},
                                          {"fp16", 100, 8u},
                                          {"fp32", 99, 4u},
                                          {"bf16", 99, 2u}}) {
    const ladder::Shape shape = {{"B", 1}, {"T", 9}, {"H", 2}, {"K", K}, {"V", 36}};
    const Kernel kernel = xray_of("wkv_time_tiles", "wkv", shape, {}, storage);
    for (const char* name : {"q", "k", "log_w"}) {
      const Traffic& loads = kernel.buffer(name).loads();
      EXPECT_EQ(loads.bytes_asked, loads.accesses * bytes)
          << name << " in " << storage << ", K = " << K;
    }
  }
}

}  // namespace
