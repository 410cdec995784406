#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "08_flash_attention/edge_suite.hpp"
#include "common/core/device.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using flash_attention::edges::is_due;
using flash_attention::edges::on_a_gpu;
using ladder::AttentionCase;
using ladder::Precision;

constexpr const char* kName = "attention_sm90";

const bool registered = ladder::testing::register_suite(
    "attention", kName,
    {.storages = {"bf16", "fp16"},
     // Two widths that fill whole panels of 64 columns, and some between them. With 136 the last
     // panel of the tile holds no channel.
     .sizes = {{"D", {64, 24, 72, 128, 136}}},
     .options = {{"window", {"1", "33", "64"}},
                 {"softcap", {"3"}},
                 {"scale", {"-0.25"}},
                 {"D_v", {"24", "104"}}},
     .nan_tile = 128});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    kName, {.any_D_v = true, .limits = {"T_q", "T_k"}});

void expect_right(const ladder::Implementation& i, const ladder::AttentionProblem& problem) {
  const AttentionCase& c = problem.drawn_case();
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(i, problem),
                                        ladder::arithmetic_of(i, c.precision)))
      << name_of(c);
}

// Tiles have 128 or 192 queries and 64 or 128 keys. The sizes are whole tiles, one less and one
// more.
KERNEL_TEST(attention_sm90, MatchesReferenceAroundTheEndsOfTiles) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const std::int64_t D : {64, 128, 256}) {
    for (const bool causal : {false, true}) {
      for (const auto& [T_q, T_k] : {std::pair{128, 128},
                                     {192, 256},
                                     {127, 129},
                                     {193, 255},
                                     {129, 384},
                                     {400, 190},
                                     {385, 513}}) {
        if (!is_due(n++)) continue;
        AttentionCase c{.B = 2, .T_q = T_q, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D};
        c.causal = causal;
        c.precision = Precision::kBf16;
        expect_right(implementation, make_problem(c));
      }
    }
  }
}

// More tiles of queries than blocks on the device, so that blocks process a second one, and more
// heads than run together. For this the emulator has two SMs.
KERNEL_TEST(attention_sm90, MatchesReferenceWhereBlocksTakeSeveralTiles) {
  const auto implementation = ladder::find_implementation(kName);
  const emulator::SmallerDevice device(emulator::SmallerDevice::kMultiprocessors, "2");
  for (const std::int64_t D : {64, 128}) {
    for (const bool causal : {false, true}) {
      AttentionCase c{.B = 1, .T_q = 400, .T_k = 150, .H_q = 4, .H_kv = 2, .D = D};
      if (on_a_gpu()) c.B = 30;
      c.causal = causal;
      c.precision = Precision::kBf16;
      expect_right(implementation, make_problem(c));
    }
  }
}

// Keys and values of three such heads share the L2 cache, so that the last group contains one head.
KERNEL_TEST(attention_sm90, MatchesReferenceWhereTheLastGroupHasFewerHeads) {
  const auto implementation = ladder::find_implementation(kName);
  const emulator::SmallerDevice limit(emulator::SmallerDevice::kL2CacheKb, "1024");
  const std::size_t of_gpu = ladder::device(implementation.device).cache_bytes();
  const std::int64_t cache = of_gpu == 0 ? 1 << 20 : static_cast<std::int64_t>(of_gpu);
  AttentionCase c{.B = 1, .T_q = 193, .H_q = 4, .H_kv = 4, .D = 64, .causal = true};
  c.precision = Precision::kBf16;
  const std::int64_t key_bytes = 2 * sizeof(ladder::bfloat16) * c.D, shared = cache * 8 / 15;
  c.T_k = 10 * shared / (32 * key_bytes);
  ASSERT_EQ(shared / (c.T_k * key_bytes), 3);
  expect_right(implementation, make_problem(c));
}

// Their tiles begin anew with each sequence, at any row.
KERNEL_TEST(attention_sm90, MatchesReferenceWithPackedSequencesOverSeveralTiles) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const std::int64_t D : {64, 128}) {
    for (const bool causal : {false, true}) {
      if (!is_due(n++)) continue;
      AttentionCase c{.H_q = 2, .H_kv = 1, .D = D};
      c.causal = causal;
      c.precision = Precision::kBf16;
      expect_right(
          implementation,
          make_problem(packed(
              c,
              {{100, 150}, {0, 50}, {30, 5}, {0, 0}, {370, 395}, {192, 128}, {1, 0}, {128, 700}})));
    }
  }
}

// Every allowed width. The remaining columns of a tile are zeros and are not stored.
KERNEL_TEST(attention_sm90, TakesEveryMultipleOf8Channels) {
  const auto implementation = ladder::find_implementation(kName);
  for (std::int64_t D = 8; D <= 256; D += 8) {
    AttentionCase c{.B = 1, .T_q = 3, .T_k = 20, .H_q = 2, .H_kv = 1, .D = D, .causal = true};
    c.precision = Precision::kBf16;
    expect_right(implementation, make_problem(c));
  }
}

TEST(attention_sm90_, RefusesOtherWidths) {
  const auto implementation = ladder::find_implementation(kName);
  if (ladder::testing::device_is_missing(implementation)) return;
  for (const std::int64_t D : {4, 60, 264}) {
    AttentionCase c{.B = 1, .T_q = 3, .T_k = 20, .H_q = 1, .H_kv = 1, .D = D};
    c.precision = Precision::kBf16;
    try {
      ladder::run(implementation, ladder::make_problem(c));
      ADD_FAILURE() << "D = " << D << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(),
                "D is " + std::to_string(D) + "; this kernel allows multiples of 8 up to 256");
    }
  }
}

// Windows that end at a tile's border or next to it, windows within one tile of keys, and windows
// that are wider than a block's queries. Most tiles of keys are before them, and some contain both
// ends of a window.
KERNEL_TEST(attention_sm90, MatchesReferenceWhereTheWindowMeetsATile) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const auto& [T_q, T_k, D] : {std::tuple{130, 200, 32},
                                    {200, 500, 64},
                                    {70, 520, 64},
                                    {130, 390, 128},
                                    {129, 260, 256}}) {
    for (const std::int64_t window : {5, 63, 64, 65, 127, 128, 129, 193}) {
      if (!is_due(n++)) continue;
      AttentionCase c{.B = 1, .T_q = T_q, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D, .causal = true};
      c.window = window;
      c.precision = Precision::kBf16;
      expect_right(implementation, make_problem(c));
    }
  }
  // The widest window that hides a key, which is the first key, from the last query.
  AttentionCase c{.B = 1, .T_q = 3, .T_k = 6, .H_q = 1, .H_kv = 1, .D = 24, .causal = true};
  c.window = 5;
  c.precision = Precision::kBf16;
  expect_right(implementation, make_problem(c));
}

// Blocks process a second tile of queries, whose first tile of keys is another one.
KERNEL_TEST(attention_sm90, TakesAWindowInEachPackedSequence) {
  const auto implementation = ladder::find_implementation(kName);
  const emulator::SmallerDevice device(emulator::SmallerDevice::kMultiprocessors, "2");
  for (const std::int64_t D : {64, 128}) {
    AttentionCase c{.H_q = 2, .H_kv = 1, .D = D, .causal = true};
    c.window = 20;
    c.precision = Precision::kBf16;
    expect_right(implementation,
                 make_problem(packed(c, {{20, 150}, {0, 3}, {150, 20}, {5, 0}, {131, 440}})));
  }
}

// Values before a window that are NaN. Masked values are multiplied by 0 if they share a tile with
// visible ones.
KERNEL_TEST(attention_sm90, KeepsNanInFrontOfTheWindowToItsTile) {
  const auto implementation = ladder::find_implementation(kName);
  AttentionCase c{.B = 1, .T_q = 1, .T_k = 300, .H_q = 1, .H_kv = 1, .D = 64, .causal = true};
  c.window = 40;  // keys 260 to 299, in the third tile of 128 keys
  c.precision = Precision::kBf16;
  const ladder::AttentionProblem clean = make_problem(c);
  ladder::AttentionProblem spoilt = clean;
  std::fill_n(spoilt["v"].begin(), 256 * c.D, ladder::kNan);
  EXPECT_TRUE(ladder::run(implementation, spoilt) == ladder::run(implementation, clean))
      << "WRONG RESULT: v of keys 0 to 255 is NaN. The query sees keys 260 to 299, whose tile "
         "begins with key 256: o and lse must be as without NaN";
}

// With a scale of 0 all scores are 0, so o is the mean of the visible values, and lse the logarithm
// of their number.
KERNEL_TEST(attention_sm90, TakesAScaleOf0) {
  const auto implementation = ladder::find_implementation(kName);
  for (const std::int64_t D : {64, 128, 256}) {
    AttentionCase c{.B = 1, .T_q = 20, .T_k = 200, .H_q = 2, .H_kv = 1, .D = D, .causal = true};
    c.precision = Precision::kBf16;
    ladder::AttentionProblem problem = make_problem(c);
    const ladder::OnDevice<ladder::Attention, ladder::AttentionBf16Args> on_device(
        ladder::device(implementation.device), problem);
    ladder::AttentionBf16Args args = on_device.args();
    args.scale = 0.0f;
    ladder::launch<ladder::Attention>(implementation, args);
    ladder::device(implementation.device).synchronize();
    problem["q"].assign(problem["q"].size(), 0.0f);  // scores of 0 as well
    EXPECT_TRUE(
        ladder::testing::is_right(problem, on_device.download(), ladder::Arithmetic::kBf16Operands))
        << "D = " << D;
  }
}

// The copies load whole tiles, and thus the next batch's keys after the last key of a batch. These
// contribute nothing, not even 0 times NaN.
KERNEL_TEST(attention_sm90, LeavesOtherBatchesAlone) {
  const auto implementation = ladder::find_implementation(kName);
  for (const std::int64_t D : {64, 128, 256}) {
    AttentionCase c{.B = 2, .T_q = 70, .T_k = 150, .H_q = 2, .H_kv = 2, .D = D};
    c.precision = Precision::kBf16;
    auto problem = make_problem(c);
    const auto wanted = ladder::run(implementation, problem);
    for (const char* name : {"q", "k", "v"}) {
      std::vector<float>& x = problem[name];
      std::fill(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end(),
                std::numeric_limits<float>::quiet_NaN());
    }
    const auto outputs = ladder::run(implementation, problem);
    const auto half = static_cast<std::ptrdiff_t>(wanted.o.size() / 2);
    EXPECT_TRUE(std::equal(wanted.o.begin(), wanted.o.begin() + half, outputs.o.begin()))
        << "D = " << D << ": NaN in the last half reaches the first";
  }
}

TEST(attention_sm90, SaysWhatItNeedsWhereArraysAreNotAligned) {
  const auto implementation = ladder::find_implementation(kName);
  alignas(16) static ladder::bfloat16 elements[16];
  alignas(16) static float lse[1];
  ladder::AttentionBf16Args good;
  good.B = good.T_q = good.T_k = good.H_q = good.H_kv = 1;
  good.D = 64;
  good.q = good.k = good.v = good.o = elements;
  good.lse = lse;
  for (const char* name : {"q", "k", "v", "o"}) {
    ladder::AttentionBf16Args args = good;
    if (*name == 'q') args.q = elements + 1;
    if (*name == 'k') args.k = elements + 1;
    if (*name == 'v') args.v = elements + 1;
    if (*name == 'o') args.o = elements + 1;
    try {
      ladder::launch<ladder::Attention>(implementation, args);
      ADD_FAILURE() << name << " was taken";
    } catch (const std::invalid_argument& error) {
      const std::string said = error.what();
      EXPECT_EQ(said.find(std::string(name) + " is not aligned"), 0U) << said;
    }
  }
}

}  // namespace
