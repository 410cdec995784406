#include <gtest/gtest.h>

#include <cstdint>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;
using ladder::testing::xrays_of;

const ladder::Shape kRagged{{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_two_walks", "wkv_backward", kRagged);

// Each walk loads q, k, v, log_w and d_o. The first one stores 64 elements of S for each of dq, and
// the second one loads them. u and du are one for each row of a head.
const bool registered =
    ladder::testing::register_budget("wkv_two_walks", "wkv_backward",
                                     {.loads = 2 * 5 + 64 + 1.0 / (2 * 5),
                                      .stores = 64 + 4 + 1.0 / (2 * 5),
                                      .atomics = 0,
                                      .counts = {{kBarriers, 4, "step of a head", 2 * 5 * 3},
                                                 {kSharedLoadBankConflicts, 0, "launch", 1}}},
                                     kRagged);

constexpr std::uint64_t kSteps = 64;  // one head

// The table of the page.
TEST(WkvTwoWalks, MovesSevenTimesTheBytesOfTheTree) {
  const ladder::WkvCase c{.B = 1, .T = kSteps, .H = 1, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::WkvBackward>("wkv_two_walks", c);
  for (const char* name : {"q", "k", "v", "log_w", "d_o"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 2u) << name;
  for (const Buffer& buffer : kernel.buffers)
    EXPECT_LE(buffer.stores().accesses_per_element.most, 1u) << buffer.name;
  EXPECT_EQ(kernel[kAtomics] + kernel[kShuffles] + kernel[kTensorOperations], 0u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kBarriers], kSteps * 4);
  // 64 x 64 elements of a state. Two walks load five vectors, and four gradients are stored, then a
  // head's u and du.
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 4 * (kSteps * (64 * 64 + 2 * 5 * 64) + 64));
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], 4 * (kSteps * (64 * 64 + 4 * 64) + 64));
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 1212672u);
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], 1114368u);

  std::uint64_t loaded = 0, stored = 0, barriers = 0, products = 0, conflicts = 0;
  for (const Kernel& each : xrays_of<ladder::WkvBackward>("wkv_chunkwise_backward", c)) {
    loaded += each[kGlobalLoadBytesMoved];
    stored += each[kGlobalStoreBytesMoved];
    barriers += each[kBarriers];
    products += each[kTensorOperations];
    conflicts += each[kSharedLoadBankConflicts] + each[kSharedStoreBankConflicts];
  }
  EXPECT_EQ(loaded, 213760u);
  EXPECT_EQ(stored, 98816u);
  EXPECT_EQ(barriers, 13u);
  EXPECT_EQ(products, 8160u);
  EXPECT_EQ(conflicts, 30264u);
}

}  // namespace
