#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "08_flash_attention/edge_suite.hpp"
#include "common/core/device.hpp"
#include "common/judge/sequences.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;
using ladder::testing::register_hole;

constexpr const char* kName = "attention_sliding_window";

// With 128 channels tiles have 64 keys. Of 260 keys the second block's queries see the tiles from
// the second on.
const ladder::Shape kLong{{"B", 1},   {"T", 260},   {"H", 1},   {"K", 128},
                          {"V", 128}, {"T_q", 140}, {"H_kv", 1}};

const bool holes_registered =
    register_hole(kName, "Hole1BeginsWhereTheWindowDoes", "attention", kLong,
                  {{"causal", "true"}, {"window", "130"}}, {}, "bf16") &&
    register_hole(kName, "Hole2MasksBothEnds", "attention",
                  {{"B", 1}, {"T", 70}, {"H", 1}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}},
                  {{"causal", "true"}, {"window", "9"}}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", kName,
    {.storages = {"bf16", "fp16"},
     // The values of D are widths of tiles, and some between them.
     .sizes = {{"T_q", {0, 5, 1, 17, 64, 65, 130}},
               {"T_k", {5, 0, 65, 63, 64, 130, 64}},
               {"D", {64, 24, 72, 128, 136}}},
     .options = {{"window", {"1", "33", "64"}}, {"softcap", {"3"}}, {"scale", {"-0.25"}}},
     .plain_steps = 70,
     .nan_tile = 128,
     // Tiles have 128 keys with 64 channels, and 64 keys with more. Tiles of queries have 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}},
                 {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    kName, {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}, .slots = true});

AttentionCase causal_case(std::int64_t T_q, std::int64_t T_k, std::int64_t D) {
  AttentionCase c{.B = 1, .T_q = T_q, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D, .causal = true};
  c.precision = Precision::kBf16;
  return c;
}

void expect_right(const AttentionCase& c) {
  const auto implementation = ladder::find_implementation(kName);
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Windows that end at a tile's border or next to it, and windows that are wider than a block of 128
// queries.
KERNEL_TEST(attention_sliding_window, MatchesReferenceWhereTheWindowMeetsATile) {
  for (const std::int64_t window : {63, 64, 65, 129}) {
    AttentionCase c = causal_case(130, 200, 32);
    c.window = window;
    expect_right(c);
  }
  AttentionCase c = causal_case(140, 390, 64);
  c.window = 129;
  expect_right(c);
}

KERNEL_TEST(attention_sliding_window, TakesAWindowInEachPackedSequence) {
  AttentionCase c =
      packed(causal_case(1, 1, 32), {{20, 150}, {0, 3}, {150, 20}, {5, 0}, {131, 140}});
  c.window = 20;
  expect_right(c);
}

// Every allowed width, on its tile.
KERNEL_TEST(attention_sliding_window, TakesEveryMultipleOf8Channels) {
  for (std::int64_t D = 8; D <= 256; D += 8) {
    AttentionCase c = causal_case(3, 20, D);
    c.window = 9;
    expect_right(c);
  }
}

TEST(attention_sliding_window_, RefusesOtherWidths) {
  const auto implementation = ladder::find_implementation(kName);
  if (ladder::testing::device_is_missing(implementation)) return;
  for (const std::int64_t D : {4, 60, 264}) {
    try {
      ladder::run(implementation, ladder::make_problem(causal_case(3, 20, D)));
      ADD_FAILURE() << "D = " << D << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(),
                "D is " + std::to_string(D) + "; this kernel allows multiples of 8 up to 256");
    }
  }
}

// With a scale of 0 all scores are 0, so o is the mean of the visible values, and lse the logarithm
// of their number.
KERNEL_TEST(attention_sliding_window, TakesAScaleOf0) {
  const auto implementation = ladder::find_implementation(kName);
  AttentionCase c = causal_case(20, 70, 64);
  c.window = 30;
  ladder::AttentionProblem problem = ladder::make_problem(c);
  const ladder::OnDevice<ladder::Attention, ladder::AttentionBf16Args> on_device(
      ladder::device(implementation.device), problem);
  ladder::AttentionBf16Args args = on_device.args();
  args.scale = 0.0f;
  ladder::launch<ladder::Attention>(implementation, args);
  ladder::device(implementation.device).synchronize();
  problem["q"].assign(problem["q"].size(), 0.0f);  // scores of 0 as well
  EXPECT_TRUE(
      ladder::testing::is_right(problem, on_device.download(), ladder::Arithmetic::kBf16Operands));
}

// Values before a window that are NaN. Masked values are multiplied by 0 if they share a tile with
// visible ones.
KERNEL_TEST(attention_sliding_window, KeepsNanInFrontOfTheWindowToItsTile) {
  const auto implementation = ladder::find_implementation(kName);
  AttentionCase c = causal_case(1, 300, 64);
  c.window = 40;  // keys 260 to 299, in the third tile of 128 keys
  const ladder::AttentionProblem clean = ladder::make_problem(c);
  ladder::AttentionProblem spoilt = clean;
  std::fill_n(spoilt["v"].begin(), 256 * c.D, ladder::kNan);
  EXPECT_TRUE(ladder::run(implementation, spoilt) == ladder::run(implementation, clean))
      << "WRONG RESULT: v of keys 0 to 255 is NaN. The query sees keys 260 to 299, whose tile "
         "begins "
         "with key 256: o and lse must be as without NaN";
}

}  // namespace
