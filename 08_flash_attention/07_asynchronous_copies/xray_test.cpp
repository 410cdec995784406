#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// One block of 128 queries. A tile has 128 keys if D = 64, and 64 if D = 128.
Kernel attend(const char* implementation, std::int64_t D = 64) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 128, .T_k = 128, .D = D, .precision = ladder::Precision::kBf16});
}

// Two heads with a block each, and two tiles of keys, the second with 12, so that every buffer is
// used again.
const ladder::Shape kShape{{"B", 1},  {"T", 140},  {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_async_copies", "attention", kShape, {}, {"bf16"});

// A tile has 128 rows of eight 16-byte vectors here. Each block copies q and two tiles each of k
// and of v, including out-of-bounds rows.
constexpr std::int64_t kUnits = 2 * 5 * 128 * 8;

// A thread loads 21 rows of q and 140 of k and of v, eight elements at a time. It stores o
// likewise, and lse once per row. Only o is stored to shared memory.
const bool registered =
    ladder::testing::register_budget("attention_async_copies", "attention",
                                     {.loads = (21 + 2 * 140) / 21.0 / 8,
                                      .stores = 1.0 / 8 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kAsyncCopies, 1, "unit of a tile", kUnits},
                                                 {kSharedStoreRequests, 128, "block", 2},
                                                 {kSharedLoadBankConflicts, 0, "launch", 1},
                                                 {kBarriers, 2, "tile", 4}}},
                                     kShape, {}, {}, "bf16");

// Requests that load from global memory into registers.
std::uint64_t loads_to_registers(const Kernel& kernel) {
  std::uint64_t requests = 0;
  for (const Access& access : kernel.accesses) {
    if (access.space != Space::kGlobal || access.operation != Operation::kLoad) continue;
    if (access.code.find("__pipeline_memcpy_async") == std::string::npos)
      requests += access.requests;
  }
  return requests;
}

// A copy of 16 bytes for each vector of q, k and v replaces its load and its store.
TEST(AttentionAsyncCopies, PassesNoRegister) {
  const Kernel before = attend("attention_swizzled");
  const Kernel after = attend("attention_async_copies");
  constexpr std::uint64_t kCopies = 3 * 128 * 64 / 8;
  EXPECT_EQ(before[kAsyncCopies], 0u);
  EXPECT_EQ(after[kAsyncCopies], kCopies);
  EXPECT_EQ(loads_to_registers(before), kCopies / 32);
  EXPECT_EQ(loads_to_registers(after), 0u);
  EXPECT_EQ(before[kSharedStoreRequests], kCopies / 32 + 128);
  EXPECT_EQ(after[kSharedStoreRequests], 128u) << "the outputs on their way out";
  EXPECT_EQ(before[kSharedStoreWavefronts], 512u);
  EXPECT_EQ(after[kSharedStoreWavefronts], 128u);
}

TEST(AttentionAsyncCopies, MovesAndMultipliesAsBefore) {
  const Kernel before = attend("attention_swizzled");
  const Kernel after = attend("attention_async_copies");
  for (const Counter counter : {kGlobalLoadBytesMoved, kGlobalStoreBytesMoved, kSharedLoadRequests,
                                kSharedMatrixLoadRequests, kSharedLoadWavefronts, kSharedBytes,
                                kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

TEST(AttentionAsyncCopies, ConflictsInNoBank) {
  for (const std::int64_t D : {64, 128}) {
    for (const Access& access : attend("attention_async_copies", D).accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << "D = " << D << ": " << access.code;
  }
}

// Between a request and its wait a thread does nothing, which 08_pipelined changes.
TEST(AttentionAsyncCopies, WaitsForEveryCopyAtOnce) {
  const Kernel kernel = attend("attention_async_copies");
  EXPECT_EQ(kernel[kAsyncCopiesAtOnce], kernel[kAsyncCopies]);
}

}  // namespace
