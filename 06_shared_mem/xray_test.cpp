#include <gtest/gtest.h>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// A head's block fetches each element of q, k and log_w once, and u once for all steps.
TEST(WkvSharedMem, FetchesEachElementOncePerHead) {
  for (const int K : {4, 64, 100}) {
    const ladder::bench::Shape s{.B = 2, .T = 5, .H = 3, .K = K, .V = 36};
    const Kernel kernel = xray_of("wkv_shared_mem", {.shape = s});
    for (const char* name : {"q", "k", "log_w", "v"}) {
      EXPECT_EQ(kernel.buffer(name).loads().threads_per_element.least, 1u) << name;
      EXPECT_EQ(kernel.buffer(name).loads().threads_per_element.most, 1u) << name;
    }
    EXPECT_EQ(kernel.buffer("u").loads().threads_per_element.most, 2u) << "once per batch";
    EXPECT_EQ(kernel.buffer("o").stores().threads_per_element.most, 1u);
    EXPECT_EQ(kernel[kAtomics], 0u);
  }
}

TEST(WkvSharedMem, HasNoBankConflicts) {
  const ladder::bench::Shape s{.B = 1, .T = 5, .H = 2, .K = 64, .V = 64};
  const Kernel kernel = xray_of("wkv_shared_mem", {.shape = s});
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

}  // namespace
