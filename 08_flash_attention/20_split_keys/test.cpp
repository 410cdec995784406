#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "08_flash_attention/20_split_keys/split_keys.hpp"
#include "08_flash_attention/edge_suite.hpp"
#include "08_flash_attention/split_plan.hpp"
#include "common/core/device.hpp"
#include "common/judge/sequences.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using flash_attention::Places;
using flash_attention::split_plan;
using ladder::AttentionCase;
using ladder::AttentionProblem;
using ladder::Implementation;
using ladder::Precision;

const char* const kName = "attention_split_keys";

Implementation in_splits(std::int64_t splits);
void expect_right(const Implementation& implementation, const AttentionProblem& problem);

// For scratch.cu. The loop that checks an exercise reports the stage for which a case fails.
bool register_stage(const std::string& name, std::int64_t splits, const AttentionCase& c) {
  const auto is_right = [=](const Implementation&) {
    expect_right(in_splits(splits), ladder::make_problem(c));
  };
  ladder::testing::add(kName, name, is_right, 0, "; ; bf16");
  return true;
}

// The cases are a split without a key for some rows, more splits than needed, of which the last one
// is empty, five rounds of a warp in three stages, queries that see different keys, and two
// batches.
const bool stages =
    register_stage("Stage1MergesTwo", 3,
                   {.T_q = 2,
                    .T_k = 3,
                    .H_q = 4,
                    .H_kv = 2,
                    .D = 64,
                    .causal = true,
                    .precision = Precision::kBf16}) &&
    register_stage("Stage2CutsTheKeysIntoSplits", 5,
                   {.T_q = 2, .T_k = 200, .H_q = 4, .D = 64, .precision = Precision::kBf16}) &&
    register_stage("Stage3KeepsTheRingFull", 1,
                   {.T_q = 1, .T_k = 600, .H_q = 2, .D = 40, .precision = Precision::kBf16}) &&
    register_stage(
        "Stage4TakesInAStage", 1,
        {.T_q = 5, .T_k = 200, .H_q = 4, .D = 64, .causal = true, .precision = Precision::kBf16}) &&
    register_stage(
        "Stage5MergesTheWarps", 12,
        {.B = 2, .T_q = 1, .T_k = 600, .H_q = 4, .D = 96, .precision = Precision::kBf16});

const bool registered = ladder::testing::register_suite(
    "attention", kName,
    {.storages = {"bf16", "fp16"},
     .sizes = {{"T_q", {0, 5, 1, 1, 2, 5, 8, 17, 33}},
               {"T_k", {5, 0, 1, 130, 64, 17, 65, 16, 100}},
               {"D", {32, 64, 96, 128, 256, 8, 40, 112, 200}}},
     .options = {{"window", {"1", "20", "64"}},
                 {"softcap", {"3"}},
                 {"scale", {"-0.4"}},
                 {"D_v", {"24", "136"}}},
     .plain_steps = 50,
     .nan_tile = 32,
     .borders = {{.size = "T", .at = {32, 64, 128}}, {.size = "T_q", .at = {8, 16}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    kName, {.any_D_v = true, .limits = {"B", "sequences"}});

// The implementation with a number of splits instead of the plan.
Implementation in_splits(std::int64_t splits) {
  Implementation implementation = ladder::find_implementation(kName);
  const auto attend = [=](const auto& args) {
    flash_attention::split_keys::attention_in_splits(args, splits);
  };
  implementation.launchers.set<ladder::Attention, ladder::AttentionBf16Args>(attend);
  implementation.launchers.set<ladder::Attention, ladder::AttentionFp16Args>(attend);
  return implementation;
}

void expect_right(const Implementation& implementation, const AttentionProblem& problem) {
  const Precision precision = problem.drawn_case().precision;
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, precision)));
}

// Among them are splits that are not a whole number of rounds of the warps, and more splits than
// stages.
KERNEL_TEST(attention_split_keys, GivesTheSameInAnyNumberOfSplits) {
  for (const std::int64_t D : {64, 96}) {
    AttentionCase c{.B = 2, .T_q = 3, .T_k = 300, .H_q = 4, .H_kv = 2, .D = D};
    c.causal = true;
    c.key_lengths = true;
    c.precision = D == 64 ? Precision::kBf16 : Precision::kFp16;
    for (const std::int64_t D_v : {D, 136 - D}) {
      c.D_v = D_v;
      const AttentionProblem problem = ladder::make_problem(c);
      for (const std::int64_t splits : {1, 2, 5, 30}) {
        SCOPED_TRACE("D_v: " + std::to_string(D_v) + ", splits: " + std::to_string(splits));
        expect_right(in_splits(splits), problem);
      }
    }
  }
}

// Threads that share a column merge a third and a fourth split each, and the last splits have fewer
// keys.
KERNEL_TEST(attention_split_keys, TakesManySplits) {
  for (const std::int64_t D_v : {64, 40}) {
    AttentionCase c{.B = 1, .T_q = 2, .T_k = 1950, .H_q = 2, .H_kv = 1, .D = 64, .D_v = D_v};
    c.precision = Precision::kBf16;
    const AttentionProblem problem = ladder::make_problem(c);
    for (const std::int64_t splits : {27, 40}) {
      SCOPED_TRACE("with splits: " + std::to_string(splits));
      expect_right(in_splits(splits), problem);
    }
  }
}

KERNEL_TEST(attention_split_keys, TakesKeyLengthsOfEveryKind) {
  const std::vector<std::int64_t> lengths = {0, 1, 2, 15, 16, 17, 63, 64, 65, 129, 130};
  for (const bool causal : {false, true}) {
    AttentionCase c{.B = 11, .T_q = 3, .T_k = 130, .H_q = 2, .H_kv = 1, .D = 128};
    c.causal = causal;
    c.key_lengths = true;
    c.precision = Precision::kBf16;
    AttentionProblem problem = ladder::make_problem(c);
    problem.array<std::int64_t>("key_lengths") = lengths;
    for (const std::int64_t splits : {1, 3}) {
      SCOPED_TRACE("with splits: " + std::to_string(splits));
      expect_right(in_splits(splits), problem);
    }
  }
}

// A group of 8 and 5 queries are 40 rows, two whole tiles and a half.
KERNEL_TEST(attention_split_keys, TakesMoreRowsThanATileHas) {
  AttentionCase c{.B = 1, .T_q = 5, .T_k = 70, .H_q = 16, .H_kv = 2, .D = 32};
  c.causal = true;
  c.precision = Precision::kBf16;
  expect_right(in_splits(2), ladder::make_problem(c));
}

// Sequences without keys, without queries, and longer than a tile, with a group of 3, so that tiles
// begin within a query.
KERNEL_TEST(attention_split_keys, TakesPackedSequencesInAnyNumberOfSplits) {
  AttentionCase c{.H_q = 6, .H_kv = 2, .D = 40};
  c.causal = true;
  c.precision = Precision::kBf16;
  const AttentionProblem problem = ladder::make_problem(
      ladder::packed(c, {{1, 70}, {0, 9}, {7, 150}, {2, 0}, {1, 1}, {6, 5}, {1, 33}, {0, 0}}));
  for (const std::int64_t splits : {1, 3}) {
    SCOPED_TRACE("splits: " + std::to_string(splits));
    expect_right(in_splits(splits), problem);
  }
}

KERNEL_TEST(attention_split_keys, FillsOnItsCallsStreamInSplits) {
  AttentionCase c{.H_q = 4, .H_kv = 2, .D = 64};
  c.precision = Precision::kBf16;
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  const AttentionProblem problem = ladder::make_problem(ladder::packed(c, {{2, 40}, {3, 50}}));
  const ladder::OnDevice<ladder::Attention, ladder::AttentionBf16Args> on_device(device, problem);
  ladder::testing::expect_on_one_stream(
      ladder::DeviceKind::kCuda,
      [&] { flash_attention::split_keys::attention_in_splits(on_device.args(), 3); }, "3 splits");
}

// The merge of the splits must not touch rows that no split has written.
KERNEL_TEST(attention_split_keys, LeavesRowsOfNoSequenceAlone) {
  AttentionCase c{.H_q = 4, .H_kv = 2, .D = 64};
  c.precision = Precision::kBf16;
  AttentionProblem problem = ladder::make_problem(ladder::packed(c, {{2, 40}, {3, 50}}));
  problem.array<std::int64_t>("cu_seqlens_q") = {1, 2, 4};
  const ladder::AttentionOutputs outputs = ladder::run(in_splits(3), problem);
  for (std::int64_t query = 0; query < 5; ++query) {
    const bool is_of_a_sequence = query >= 1 && query < 4;
    EXPECT_EQ(std::isnan(outputs.o[query * 4 * 64]), !is_of_a_sequence) << "query " << query;
    EXPECT_EQ(std::isnan(outputs.lse[query]), !is_of_a_sequence) << "query " << query;
  }
}

// The largest score times a negative scale is the smallest.
KERNEL_TEST(attention_split_keys, TakesANegativeScale) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    AttentionCase c{.B = 2, .T_q = 3, .T_k = 90, .H_q = 4, .H_kv = 2, .D = 72};
    c.causal = true;
    c.key_lengths = true;
    c.scale = -0.4f;
    c.magnitude = 3.0f;
    c.precision = precision;
    for (const std::int64_t splits : {1, 2})
      expect_right(in_splits(splits), ladder::make_problem(c));
  }
}

// Windows that begin and end within a stage of 32 keys, and at its borders, windows wider than the
// sequence, and windows before which most splits would have been. The rows are in three tiles,
// whose windows begin at different stages.
KERNEL_TEST(attention_split_keys, TakesAWindowInAnyNumberOfSplits) {
  for (const std::int64_t window : {1, 31, 33, 96, 1000}) {
    AttentionCase c{.B = 2, .T_q = 23, .T_k = 200, .H_q = 4, .H_kv = 2, .D = 64};
    c.causal = true;
    c.key_lengths = true;
    c.window = window;
    c.precision = Precision::kBf16;
    const AttentionProblem problem = ladder::make_problem(c);
    for (const std::int64_t splits : {1, 3, 12}) {
      SCOPED_TRACE("window: " + std::to_string(window) + ", splits: " + std::to_string(splits));
      expect_right(in_splits(splits), problem);
    }
  }
}

KERNEL_TEST(attention_split_keys, TakesAWindowInEachPackedSequence) {
  AttentionCase c{.H_q = 6, .H_kv = 2, .D = 40};
  c.causal = true;
  c.window = 20;
  c.softcap = 2.0f;
  c.precision = Precision::kFp16;
  const AttentionProblem problem = ladder::make_problem(
      ladder::packed(c, {{1, 70}, {0, 9}, {7, 150}, {2, 0}, {30, 12}, {6, 5}, {1, 33}, {40, 90}}));
  for (const std::int64_t splits : {1, 3}) {
    SCOPED_TRACE("splits: " + std::to_string(splits));
    expect_right(in_splits(splits), problem);
  }
}

// With a scale of 0 all scores are 0, so o is the mean of the visible values, and lse the logarithm
// of their number.
KERNEL_TEST(attention_split_keys, TakesAScaleOf0) {
  AttentionCase c{.B = 1, .T_q = 3, .T_k = 70, .H_q = 2, .H_kv = 1, .D = 64};
  c.causal = true;
  c.window = 30;
  c.precision = Precision::kBf16;
  AttentionProblem problem = ladder::make_problem(c);
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  const ladder::OnDevice<ladder::Attention, ladder::AttentionBf16Args> on_device(device, problem);
  ladder::AttentionBf16Args args = on_device.args();
  args.scale = 0.0f;
  flash_attention::split_keys::attention_in_splits(args, 2);
  device.synchronize();
  problem["q"].assign(problem["q"].size(), 0.0f);  // scores of 0 as well
  EXPECT_TRUE(
      ladder::testing::is_right(problem, on_device.download(), ladder::Arithmetic::kBf16Operands));
}

// The query sees keys 110 to 149 of 150. They share a stage of 32 keys with others, which are not
// read.
KERNEL_TEST(attention_split_keys, KeepsNanInFrontOfTheWindowOut) {
  AttentionCase c{.B = 1, .T_q = 1, .T_k = 150, .H_q = 2, .H_kv = 1, .D = 64};
  c.causal = true;
  c.window = 40;
  c.precision = Precision::kBf16;
  const AttentionProblem clean = ladder::make_problem(c);
  AttentionProblem spoilt = clean;
  for (const char* const name : {"k", "v"})
    std::fill_n(spoilt[name].begin(), 110 * c.D, ladder::kNan);
  for (const std::int64_t splits : {1, 2}) {
    EXPECT_TRUE(ladder::run(in_splits(splits), spoilt) == ladder::run(in_splits(splits), clean))
        << "WRONG RESULT: k and v of keys 0 to 109 are NaN. The query sees keys 110 to 149: o and "
           "lse must be as without NaN";
  }
}

// A vector of the next key's head follows each one, and it must not contribute.
KERNEL_TEST(attention_split_keys, TakesMultiplesOf8) {
  for (const std::int64_t D : {16, 24, 48, 56, 88, 104, 136, 248}) {
    AttentionCase c{.B = 1, .T_q = 1, .T_k = 20, .H_q = 4, .H_kv = 2, .D = D};
    c.precision = Precision::kBf16;
    AttentionProblem problem = ladder::make_problem(c);
    expect_right(in_splits(1), problem);
  }
}

TEST(attention_split_keys, RefusesWhatItCannotTake) {
  ladder::AttentionBf16Args args;
  args.B = 1, args.T_q = 1, args.T_k = 1, args.H_q = 1, args.H_kv = 1, args.D = 64;
  alignas(16) ladder::bfloat16 x[72] = {};
  float lse = 0;
  args.q = args.k = args.v = x, args.o = x, args.lse = &lse;
  args.k = x + 4;
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  args.k = x, args.T_q = 1 << 21;
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  args.T_q = 1;
  for (const std::int64_t D : {4, 36, 264}) {
    args.D = D;
    EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  }
  args.D = 64, args.scale = NAN;
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  args.scale = 0.0f, args.T_k = std::int64_t{1} << 31;
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  args.scale = 1.0f, args.T_k = 1, args.window = 3;  // not causal
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
  args.window = 0, args.softcap = -1.0f;
  EXPECT_THROW(flash_attention::split_keys::attention_in_splits(args, 1), std::invalid_argument);
}

// An H200 has 132 SMs, and two blocks fit into each at D = 128.
constexpr Places kH200{.multiprocessors = 132, .blocks_each = 2};

TEST(attention_split_keys, SplitsForOneBlockPerMultiprocessor) {
  EXPECT_EQ(split_plan(32768, 128, 8, kH200), 16);   // 128 blocks
  EXPECT_EQ(split_plan(32768, 128, 1, kH200), 128);  // 256 keys each
  EXPECT_EQ(split_plan(6553, 128, 40, kH200), 3);    // 120 blocks
  EXPECT_EQ(split_plan(2978, 128, 88, kH200), 3);    // 264 blocks, two each
  EXPECT_EQ(split_plan(16384, 256, 8, {132, 1}), 16);
}

TEST(attention_split_keys, SplitsNothingWhereBatchesAndHeadsAreManyOrKeysFew) {
  EXPECT_EQ(split_plan(2520, 128, 104, kH200), 1);
  EXPECT_EQ(split_plan(1024, 128, 256, kH200), 1);
  EXPECT_EQ(split_plan(1024, 128, 512, kH200), 1);
  EXPECT_EQ(split_plan(128, 128, 8, kH200), 1);
  EXPECT_EQ(split_plan(1, 128, 1, kH200), 1);
  EXPECT_EQ(split_plan(0, 128, 1, kH200), 1);
}

// 272 blocks would be 264 at once and then 8 more, which would take as long again.
TEST(attention_split_keys, SplitsLongKeysSoThatTheLastBlocksAreShort) {
  EXPECT_EQ(split_plan(32768, 128, 256, kH200), 16);
  EXPECT_EQ(split_plan(32768, 128, 272, kH200), 16);
}

TEST(attention_split_keys, PlansForAnyDevice) {
  for (const std::int64_t keys : {0, 1, 1000, 1000000}) {
    for (const std::int64_t tiles : {1, 7, 1000, 100000}) {
      for (const int multiprocessors : {1, 20, 132}) {
        const std::int64_t splits = split_plan(keys, 64, tiles, {multiprocessors, 2});
        EXPECT_GE(splits, 1);
        EXPECT_LE(splits, keys / 64 + 1);
        EXPECT_LE(splits, 2 * multiprocessors / tiles + 16);
      }
    }
  }
}

}  // namespace
