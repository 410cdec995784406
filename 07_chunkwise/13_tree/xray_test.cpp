#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

constexpr std::uint64_t kT = 128, kH = 2, kUnits = kH * kT / 16, kStages = kH * kT / 64, kWarps = 4;

Kernel kernel_of(const std::string& name) {
  return xray_of(name, "wkv", {{"B", 1}, {"T", kT}, {"H", kH}, {"K", 64}, {"V", 64}}, {}, "bf16");
}

// Three stages, the last with two tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_tree", "wkv", kRagged, {}, {"bf16"});

// 16-byte vectors of q, k, v, log_w and o, and u once per head. All four sub-chunks of a stage are
// prepared, and 130 rows of o are stored by 33 requests.
const bool registered = ladder::testing::register_budget(
    "wkv_tree", "wkv",
    {.loads = 4.0 / 8 + 1.0 / 130,
     .stores = 1.0 / 8,
     .atomics = 0,
     .counts = {{kTensorOperations, kWarps * 18 + 40, "unit of 16 tokens", 2 * 3 * 4},
                {kSharedLoadRequests, 81 + 33.0 / 12, "unit of 16 tokens", 2 * 3 * 4}}},
    kRagged, {}, {}, "bf16");

// The table of the page.
TEST(WkvTree, MultipliesOnTensorCoresWhatPairsMultiplyOneByOne) {
  const Kernel pairs = kernel_of("wkv_pairs"), tree = kernel_of("wkv_tree");
  // A product of 16 queries and 16 keys of 64 channels for the bonus and for each of four levels.
  EXPECT_EQ(tree[kTensorOperations], pairs[kTensorOperations] + kUnits * 5 * 8);
  EXPECT_EQ(tree[kTensorOperations], 1792u);
  EXPECT_EQ(tree[kSharedMatrixLoadRequests], pairs[kSharedMatrixLoadRequests] + kUnits * 5 * 8);
  EXPECT_EQ(tree[kSharedMatrixLoadRequests], 1280u);
  // The warp that prepares a sub-chunk reads 16 rows of q, k and log_w, and the bonus.
  EXPECT_EQ(tree[kSharedLoadRequests], kUnits * (3 * 16 + 1 + kWarps * 8) + kStages * 16);
  EXPECT_EQ(tree[kSharedLoadRequests], 1360u);
  EXPECT_EQ(pairs[kSharedLoadRequests], 8528u);
  EXPECT_EQ(pairs[kSharedLoadWavefronts], 14368u);
  EXPECT_EQ(tree[kSharedLoadWavefronts], 7200u);
  EXPECT_EQ(pairs[kSharedStoreRequests], 1124u);
  EXPECT_EQ(tree[kSharedStoreRequests], 2644u);
  EXPECT_EQ(pairs.dynamic_shared_bytes, 95616u);
  EXPECT_EQ(tree.dynamic_shared_bytes, 77056u);
  for (const Counter counter : {kBarriers, kShuffles, kGlobalLoadSectors, kGlobalStoreSectors})
    EXPECT_EQ(tree[counter], pairs[counter]) << info(counter).name;
}

TEST(WkvTree, FetchesEachElementOnceAndConflictsInNoBank) {
  const Kernel kernel = kernel_of("wkv_tree");
  for (const char* name : {"q", "k", "v", "log_w", "u"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  for (const Access& access : kernel.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

}  // namespace
