#include <gtest/gtest.h>

#include <vector>

#include "08_flash_attention/20b_paged_cache/paged_attention.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/tests.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

// One batch of 77 keys, which are five pages, of which the last holds 13.
ladder::Shape shape(std::int64_t D, std::int64_t T_q = 1) {
  return {{"B", 1}, {"T_q", T_q}, {"H_q", 8},        {"H_kv", 2},
          {"D", D}, {"pages", 9}, {"page_keys", 16}, {"max_pages", 5}};
}

const bool bounds = ladder::testing::register_bounds("attention_paged", "paged_attention",
                                                     {{"B", 3},
                                                      {"T_q", 2},
                                                      {"H_q", 6},
                                                      {"H_kv", 2},
                                                      {"D", 40},
                                                      {"pages", 7},
                                                      {"page_keys", 16},
                                                      {"max_pages", 6}},
                                                     {{"causal", "true"}}, {"bf16"});

// The loads are vectors of k and v, each warp's pairs of q, a length for each thread, and an entry
// of the table for each lane. The stores are rows of o, and their lse.
const bool registered = ladder::testing::register_budget(
    "attention_paged", "paged_attention",
    {.loads = (2 * 2 * 77 * 8 + 4 * 8 * 32 + 2 * 128 + 2 * 5 * 32) / (8 * 64.0),
     .stores = 1 + 1 / 64.0,
     .counts = {{kBarriers, 1, "block", 2}, {kSharedLoadBankConflicts, 0, "launch", 1}},
     .uses_places_once = true},  // with so few keys a warp has no more tiles than stages
    shape(64), {}, {}, "bf16");

Kernel paged(std::int64_t D, const ladder::Options& options = {}) {
  return ladder::testing::xrays_of("attention_paged", "paged_attention", shape(D), options,
                                   "bf16")[0];
}

// 77 keys are in five pages, for each of two key heads. All lanes of a warp load the same entry.
TEST(PagedAttention, LooksEveryPageUpOnce) {
  for (const std::int64_t D : {64, 128}) {
    const Traffic table = paged(D).buffer("block_table").loads();
    EXPECT_EQ(table.requests, 2 * 5u) << "D = " << D;
    EXPECT_EQ(table.sectors, 2 * 5u) << "D = " << D;
  }
}

// The last 40 of 77 keys begin at the sixth key of the third page. No byte of k and v before them
// is read, and no entry of the table.
TEST(PagedAttention, ReadsNothingInFrontOfTheWindow) {
  const Kernel kernel = paged(64, {{"window", "40"}});
  EXPECT_EQ(kernel.buffer("block_table").loads().requests, 2 * 3u);
  for (const char* const name : {"k", "v"}) {
    EXPECT_EQ(kernel.buffer(name).loads().bytes_asked, 2 * 40 * 64 * 2u) << name;
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  }
}

// The same cache, contiguous, as in 08.20.
TEST(PagedAttention, CopiesAndMultipliesAsManyAsInOnePiece) {
  for (const std::int64_t D : {64, 128}) {
    const Kernel before = ladder::testing::xrays_of<ladder::Attention>(
        "attention_split_keys", {.T_q = 1,
                                 .T_k = 77,
                                 .H_q = 8,
                                 .H_kv = 2,
                                 .D = D,
                                 .precision = ladder::Precision::kBf16})[0];
    const Kernel after = paged(D);
    for (const Counter counter : {kAsyncCopies, kTensorOperations, kSharedMatrixLoadRequests,
                                  kSharedLoadWavefronts, kSharedBytes, kBarriers})
      EXPECT_EQ(before[counter], after[counter]) << info(counter).name << ", D = " << D;
  }
}

// 08.20b, for a learner. Three tiles of 16 rows for each of two key heads, which are 12 queries of
// four heads. The last rows of the tiles see 69, 73 and 77 of 77 keys, and no later key is read.
TEST(PagedAttention, KeepsItsBudget) {
  constexpr std::uint64_t kAllowed = 2 * 2 * (69 + 73 + 77) * 64 * 2;
  std::uint64_t used = 0;
  const Kernel kernel = ladder::testing::xrays_of("attention_paged", "paged_attention",
                                                  shape(64, 12), {{"causal", "true"}}, "bf16")[0];
  for (const char* const name : {"k", "v"})
    used += kernel.buffer(name).loads().bytes_asked;
  ladder::testing::expect_within_budget(static_cast<double>(used), static_cast<double>(kAllowed),
                                        "bytes of k and v read, 12 causal queries");
}

TEST(PagedAttention, ConflictsInNoBankAndRacesNobody) {
  for (const std::int64_t D : {32, 64, 96, 128, 256}) {
    for (const Kernel& kernel : {paged(D), paged(D, {{"window", "40"}})}) {
      for (const Access& access : kernel.accesses)
        EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
      for (const Error& error : kernel.errors)
        ADD_FAILURE() << error.message;
    }
  }
}

}  // namespace
