#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using flash_attention::edges::is_due;
using ladder::AttentionCase;
using ladder::Precision;

constexpr const char* kName = "attention_backward_sm90";

// Many blocks add to a row of dq in any order, so it is not repeatable.
const bool registered =
    ladder::testing::register_suite("attention_backward", kName,
                                    {.not_repeatable = {"dq"},
                                     .storages = {"bf16", "fp16"},
                                     .sizes = {{"D", {64, 128, 32, 96, 8, 120}}},
                                     .options = {{"window", {"1", "33", "64"}},
                                                 {"softcap", {"3"}},
                                                 {"scale", {"-0.25"}},
                                                 {"D_v", {"24", "104"}}}});

const bool edges_registered =
    flash_attention::edges::register_backward_edges(kName, {.dq_repeatable = false,
                                                            .all_options = true,
                                                            .scale_of_0 = true,
                                                            .any_D = true,
                                                            .most_D = 128,
                                                            .any_D_v = true,
                                                            .little_shared_memory = false,
                                                            .limits = {"H_q", "T_q", "T_k"}});

void expect_right(const ladder::Implementation& i, const AttentionCase& c) {
  const ladder::AttentionGradProblem problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run_backward(i, problem),
                                        ladder::arithmetic_of(i, c.precision)))
      << name_of(c);
}

// The suite's cases hardly fill more than one tile of 128 keys and one tile of 64 queries.
KERNEL_TEST(attention_backward_sm90, MatchesReferenceOverSeveralTiles) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const std::int64_t D : {64, 128, 96}) {
    for (const bool causal : {false, true}) {
      for (const auto& [T_q, T_k] : {std::pair{256, 256}, {300, 270}, {130, 333}, {400, 100}}) {
        if (!is_due(n++)) continue;
        AttentionCase c{.B = 1, .T_q = T_q, .T_k = T_k, .H_q = 4, .H_kv = 2, .D = D};
        c.causal = causal;
        c.precision = Precision::kBf16;
        expect_right(implementation, c);
      }
    }
  }
}

// Each of the four tiles of 400 keys is seen by few steps of queries, which end before the last,
// partial one, and by other heads, too.
KERNEL_TEST(attention_backward_sm90, MatchesReferenceWithAWindowOverSeveralTiles) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const std::int64_t window : {1, 64, 65, 128, 129, 300}) {
    if (!is_due(n++)) continue;
    AttentionCase c{.B = 1, .T_q = 370, .T_k = 400, .H_q = 2, .H_kv = 1, .D = 96};
    c.causal = true;
    c.window = window;
    c.softcap = window % 2 == 0 ? 0.0f : 4.0f;
    c.precision = window % 2 == 0 ? Precision::kFp16 : Precision::kBf16;
    expect_right(implementation, c);
  }
}

// Their tiles begin anew with each sequence, at any row.
KERNEL_TEST(attention_backward_sm90, MatchesReferenceWithPackedSequencesOverSeveralTiles) {
  const auto implementation = ladder::find_implementation(kName);
  std::size_t n = 0;
  for (const bool causal : {false, true}) {
    if (!is_due(n++)) continue;
    AttentionCase c = ladder::packed({.H_q = 2, .H_kv = 1, .D = 128},
                                     {{100, 150}, {0, 50}, {30, 5}, {370, 395}, {64, 128}, {1, 0}});
    c.causal = causal;
    c.precision = Precision::kBf16;
    expect_right(implementation, c);
  }
}

// The copies load whole tiles, and thus the next batch's rows after the last row of a batch. These
// contribute nothing, not even 0 times NaN.
KERNEL_TEST(attention_backward_sm90, LeavesOtherBatchesAlone) {
  const auto implementation = ladder::find_implementation(kName);
  for (const std::int64_t D : {64, 128, 72}) {
    AttentionCase c{.B = 2, .T_q = 70, .T_k = 150, .H_q = 2, .H_kv = 2, .D = D};
    c.precision = Precision::kBf16;
    ladder::AttentionGradProblem problem(c);
    const auto wanted = ladder::run_backward(implementation, problem);
    for (const char* name : {"q", "k", "v", "d_o", "o", "lse"}) {
      std::vector<float>& x = problem[name];
      std::fill(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end(),
                std::numeric_limits<float>::quiet_NaN());
    }
    const auto gradients = ladder::run_backward(implementation, problem);
    // dk and dv of a block are sums in a fixed order. dq is a sum of two terms, which two tiles of
    // keys add in any order.
    const auto expect_same_half = [&](const char* name, const auto& a, const auto& b) {
      EXPECT_TRUE(
          std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(a.size() / 2), b.begin()))
          << name << ", D " << D;
    };
    expect_same_half("dq", gradients.dq, wanted.dq);
    expect_same_half("dk", gradients.dk, wanted.dk);
    expect_same_half("dv", gradients.dv, wanted.dv);
  }
}

TEST(attention_backward_sm90, RefusesOtherD) {
  const auto implementation = ladder::find_implementation(kName);
  for (const std::int64_t D : {4, 60, 136, 256}) {
    ladder::AttentionGradBf16Args args;
    args.forward.H_q = args.forward.H_kv = 1;
    args.forward.D = D;
    EXPECT_THROW(ladder::launch<ladder::AttentionBackward>(implementation, args),
                 std::invalid_argument)
        << D;
  }
}

// Bulk copies need addresses that are multiples of 16 bytes.
TEST(attention_backward_sm90, RefusesWhatCannotBeCopied) {
  const auto implementation = ladder::find_implementation(kName);
  alignas(16) static ladder::bfloat16 elements[8];
  alignas(16) static float lse[1];
  ladder::AttentionGradBf16Args args;
  ladder::BasicAttentionArgs<ladder::bfloat16>& a = args.forward;
  a.B = a.T_q = a.T_k = a.H_q = a.H_kv = 1;
  a.D = 64;
  a.q = a.k = a.v = args.d_o = elements;
  a.o = args.dq = args.dk = args.dv = elements;
  a.lse = lse;
  a.k = elements + 1;
  EXPECT_THROW(ladder::launch<ladder::AttentionBackward>(implementation, args),
               std::invalid_argument);
}

}  // namespace
