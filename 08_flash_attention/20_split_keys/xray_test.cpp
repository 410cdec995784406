#include <gtest/gtest.h>

#include <vector>

#include "08_flash_attention/20_split_keys/split_keys.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/tests.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

ladder::Implementation in_splits(std::int64_t splits) {
  ladder::Implementation implementation = ladder::find_implementation("attention_split_keys");
  implementation.launchers.set<ladder::Attention, ladder::AttentionBf16Args>(
      [=](const auto& args) { flash_attention::split_keys::attention_in_splits(args, splits); });
  return implementation;
}

// The X-ray of `attend` and, if there are several splits, of `merge_splits`.
std::vector<Kernel> kernels_of(std::int64_t D, std::int64_t splits) {
  ladder::AttentionCase c{.B = 1, .T_q = 2, .T_k = 150, .H_q = 8, .H_kv = 2, .D = D};
  c.causal = true;
  c.precision = ladder::Precision::kBf16;
  const ladder::AttentionProblem problem = ladder::make_problem(c);
  take();
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(in_splits(splits), problem),
                                        ladder::Arithmetic::kBf16Operands));
  return take();
}

// As planned, with one query and a window.
std::vector<Kernel> planned(std::int64_t T_k, std::int64_t window) {
  return ladder::testing::xrays_of<ladder::Attention>("attention_split_keys",
                                                      {.T_k = T_k,
                                                       .D = 64,
                                                       .causal = true,
                                                       .window = window,
                                                       .precision = ladder::Precision::kBf16});
}

const bool bounds = ladder::testing::register_bounds(
    "attention_split_keys", "attention",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {}, {"bf16"});

// Packed sequences of different lengths, in splits. Not all columns of a tile are channels.
TEST(SplitKeys, StaysInBoundsOfPackedSequences) {
  ladder::AttentionCase c{.H_q = 6, .H_kv = 2, .D = 40};
  c.precision = ladder::Precision::kBf16;
  c.causal = true;
  const ladder::AttentionProblem problem =
      ladder::make_problem(ladder::packed(c, {{1, 70}, {0, 9}, {7, 45}, {2, 0}, {1, 1}, {1, 33}}));
  take();
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(in_splits(3), problem),
                                        ladder::Arithmetic::kBf16Operands));
  for (const Kernel& kernel : take()) {
    for (const Error& error : kernel.errors)
      ADD_FAILURE() << error.message;
  }
}

TEST(SplitKeys, FetchesKeysAndValuesOnceForAGroupOfHeads) {
  for (const std::int64_t splits : {1, 3}) {
    const Kernel attend = kernels_of(64, splits).front();
    for (const char* const name : {"k", "v"}) {
      EXPECT_EQ(attend.buffer(name).loads().accesses_per_element.least, 1u);
      EXPECT_EQ(attend.buffer(name).loads().accesses_per_element.most, 1u);
    }
  }
}

// The loads grow with the window, not with the cache. They are exactly W keys and as many values of
// 64 channels.
TEST(SplitKeys, ReadsNoKeyInFrontOfTheWindow) {
  constexpr std::uint64_t kKey = 64 * 2;
  for (const std::int64_t T_k : {150, 400}) {
    for (const std::int64_t window : {1, 31, 40, 100}) {
      const Kernel attend = planned(T_k, window).front();
      for (const char* const name : {"k", "v"}) {
        EXPECT_EQ(attend.buffer(name).loads().bytes_asked,
                  static_cast<std::uint64_t>(window) * kKey)
            << name << " of " << T_k << ", a window of " << window;
        EXPECT_EQ(attend.buffer(name).loads().accesses_per_element.most, 1u);
      }
    }
  }
}

// Values with fewer channels than keys, of which only existing ones are read.
TEST(SplitKeys, ReadsTheChannelsThatAreThere) {
  const Kernel attend =
      ladder::testing::xrays_of<ladder::Attention>(
          "attention_split_keys",
          {.T_k = 150, .D = 192, .D_v = 128, .precision = ladder::Precision::kBf16})
          .front();
  EXPECT_EQ(attend.buffer("k").loads().bytes_asked, 150u * 192 * 2);
  EXPECT_EQ(attend.buffer("v").loads().bytes_asked, 150u * 128 * 2);
}

// The plan does so as well. 2,000 keys are split, but the last 64 of them are not.
TEST(SplitKeys, PlansForTheKeysInTheWindow) {
  EXPECT_EQ(planned(2000, 0).size(), 2u);
  EXPECT_EQ(planned(2000, 64).size(), 1u);
}

TEST(SplitKeys, ConflictsInNoBankAndRacesNobody) {
  for (const std::int64_t D : {32, 64, 96, 128, 256}) {
    std::vector<Kernel> kernels = kernels_of(D, 2);
    ASSERT_EQ(kernels.size(), 2u);
    kernels.push_back(planned(150, 40).front());
    for (const Kernel& kernel : kernels) {
      for (const Access& access : kernel.accesses)
        EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
      for (const Error& error : kernel.errors)
        ADD_FAILURE() << error.message;
    }
  }
}

// Warps have keys of their own, and synchronize only to merge their results.
TEST(SplitKeys, TakesOneBarrierPerBlock) {
  const std::vector<Kernel> kernels = kernels_of(64, 3);
  ASSERT_EQ(kernels.size(), 2u);
  const std::uint64_t heads = 2, splits = 3, rows = 2 * 4;
  EXPECT_EQ(kernels[0][kBarriers], heads * splits);
  EXPECT_EQ(kernels[1][kBarriers], heads * rows);
  EXPECT_EQ(kernels[1].buffer("o").stores().accesses_per_element.most, 1u);
}

// 08.3, for a learner. Merging accesses no memory, so the loads are the same as without it.
TEST(SplitKeys, KeepsItsBudget) {
  constexpr std::uint64_t kAllowed = 408;
  std::uint64_t used = 0;
  for (const Kernel& kernel : kernels_of(64, 3))
    used += kernel[kGlobalLoadRequests];
  ladder::testing::expect_within_budget(static_cast<double>(used), static_cast<double>(kAllowed),
                                        "global loads used, in three splits");
}

}  // namespace
