#include <gtest/gtest.h>

#include <array>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

constexpr std::uint64_t kT = 128, kH = 2, kWarps = 4;
constexpr std::uint64_t kCopies = 64 * 64 / 8;  // of 64 tokens of an input

Kernel kernel_of(const std::string& name) {
  return xray_of(name, "wkv", {{"B", 1}, {"T", kT}, {"H", kH}, {"K", 64}, {"V", 64}}, {}, "bf16");
}

// Three stages, the last with two tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};
constexpr std::int64_t kHeads = 2, kUnits = kHeads * 3 * 4;

const bool bounds =
    ladder::testing::register_bounds("wkv_places_used_again", "wkv", kRagged, {}, {"bf16"});

// 16-byte vectors of q, k, v, log_w and o, and u once per head. All four sub-chunks of a stage are
// prepared, and 130 rows of o are stored by 33 requests. Half of the threads load u between the
// copies of the first stage and the wait for them. There is no barrier between the copies and the
// wait for q and k of the first stage, and for v and log_w of each stage.
const bool registered = ladder::testing::register_budget(
    "wkv_places_used_again", "wkv",
    {.loads = 4.0 / 8 + 1.0 / 130,
     .stores = 1.0 / 8,
     .atomics = 0,
     .counts = {{kTensorOperations, kWarps * 18 + 40, "unit of 16 tokens", kUnits},
                {kSharedLoadRequests, 81 + 33.0 / 12, "unit of 16 tokens", kUnits},
                {kBarriers, 3 * 2 + 1, "head", kHeads},
                {kAsyncCopiesAtOnce, 3 * kCopies / 2, "head", kHeads},
                {kAsyncCopiesBeforeBarrier, (2 + 3 + 3) * kCopies, "head", kHeads}}},
    kRagged, {}, {}, "bf16");

// The table of the page.
TEST(WkvPlacesUsedAgain, TakesLessSharedMemoryAndDoesTheSame) {
  const Kernel tree = kernel_of("wkv_tree"), ours = kernel_of("wkv_places_used_again");
  EXPECT_EQ(tree.dynamic_shared_bytes, 77056u);
  EXPECT_EQ(ours.dynamic_shared_bytes, 52480u);
  // A head's first stage, now q, k and log_w, and v as well before this lesson. Half of the threads
  // load u meanwhile.
  EXPECT_EQ(tree[kAsyncCopiesAtOnce], kH * 4 * kCopies / 2);
  EXPECT_EQ(tree[kAsyncCopiesAtOnce], 2048u);
  EXPECT_EQ(ours[kAsyncCopiesAtOnce], kH * 3 * kCopies / 2);
  EXPECT_EQ(ours[kAsyncCopiesAtOnce], 1536u);
  // Before this lesson all inputs of a head's first stage, now its q and k, and v and log_w of both
  // stages.
  EXPECT_EQ(tree[kAsyncCopiesBeforeBarrier], kH * 4 * kCopies);
  EXPECT_EQ(tree[kAsyncCopiesBeforeBarrier], 4096u);
  EXPECT_EQ(ours[kAsyncCopiesBeforeBarrier], kH * (2 + 2 + 2) * kCopies);
  EXPECT_EQ(ours[kAsyncCopiesBeforeBarrier], 6144u);
  EXPECT_EQ(ours[kAsyncCopies], 8192u);
  EXPECT_EQ(ours[kBarriers], 10u);
  EXPECT_EQ(ours[kSharedLoadRequests], 1360u);
  EXPECT_EQ(ours[kSharedStoreRequests], 2644u);
  EXPECT_EQ(ours[kTensorOperations], 1792u);
  for (unsigned counter = 0; counter < kCounters; ++counter)
    if (counter != kSharedBytes && counter != kAsyncCopiesAtOnce &&
        counter != kAsyncCopiesBeforeBarrier)
      EXPECT_EQ(ours[Counter(counter)], tree[Counter(counter)]) << info(Counter(counter)).name;
}

// Other buffers, but the same sums in the same order. There are four stages, the last one partial,
// so that each buffer is reused.
TEST(WkvPlacesUsedAgain, GivesTheBitsOfTheTree) {
  const ladder::WkvProblem problem = ladder::make_problem(
      {.B = 1, .T = 200, .H = 1, .K = 64, .V = 64, .precision = ladder::Precision::kBf16});
  const auto o_of = [&](const char* name) {
    return ladder::run(ladder::find_implementation(name), problem).o;
  };
  const auto tree = o_of("wkv_tree"), ours = o_of("wkv_places_used_again");
  ASSERT_EQ(ours.size(), tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i)
    ASSERT_EQ(ours[i], tree[i]) << "element " << i;
}

// The page's table of blocks per SM. The system reserves 1 KB for each block.
TEST(WkvPlacesUsedAgain, LeavesRoomForMoreBlocks) {
  constexpr std::uint64_t kKilobyte = 1024;
  const std::uint64_t tree = kernel_of("wkv_tree").dynamic_shared_bytes + kKilobyte;
  const std::uint64_t ours = kernel_of("wkv_places_used_again").dynamic_shared_bytes + kKilobyte;
  for (const auto& [kilobytes, before, after] :
       {std::array<std::uint64_t, 3>{228, 2, 4}, {164, 2, 3}, {100, 1, 1}}) {
    EXPECT_EQ(kilobytes * kKilobyte / tree, before) << kilobytes;
    EXPECT_EQ(kilobytes * kKilobyte / ours, after) << kilobytes;
  }
}

TEST(WkvPlacesUsedAgain, FetchesEachElementOnceAndConflictsInNoBank) {
  const Kernel kernel = kernel_of("wkv_places_used_again");
  for (const char* name : {"q", "k", "v", "log_w", "u"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  for (const Access& access : kernel.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

}  // namespace
