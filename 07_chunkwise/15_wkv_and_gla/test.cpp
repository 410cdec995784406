#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "07_chunkwise/15_wkv_and_gla/segments.hpp"
#include "07_chunkwise/in_place.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

using ladder::find_implementation;
using ladder::Implementation;
using ladder::make_problem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::run;
using ladder::WkvCase;
using ladder::WkvOutputs;
using ladder::WkvProblem;
using ladder::testing::is_right;

namespace {

// Lengths shorter than a chunk, a sub-chunk and a token, and lengths one beyond each.
bool register_chunkwise(const std::string& op, const std::vector<ladder::FoundCase>& also) {
  return ladder::testing::register_suite(
      op, "wkv_chunkwise",
      {.storages = {"fp32", "bf16", "bf16_fp32_decay", "fp16"},
       .sizes = {{"T", {0, 1, 17, 18, 20, 65, 130, 200}},
                 {"K", {16, 64, 100}},
                 {"V", {16, 2, 48, 64}}},
       .most = {{"K", 512}},
       .nan_tile = 16,
       .also = also,
       // Chunks of 16 to 64 steps, and segments of two chunks or more. From 257 on, channels in two
       // parts.
       .borders = {{.size = "K", .at = {64, 128}},
                   {.size = "K", .at = {256, 511}, .others = {{"B", 1}, {"T", 20}, {"H", 1}}},
                   {.size = "V", .at = {32, 64, 128}},
                   {.size = "T", .at = {16, 32, 64, 128, 255}}}});
}

const bool wkv = register_chunkwise(
    "wkv",
    {{{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 16}, {"V", 48}},
      {{"decay", "strong"},
       {"decay_per_head", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e8"},
       {"seed", "31"}},
      "bf16_fp32_decay"},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 16}},
      {{"decay", "total"}, {"decay_per_head", "true"}, {"magnitude", "1e8"}, {"seed", "160"}},
      "bf16"},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 48}},
      {{"decay", "total"}, {"magnitude", "1e8"}, {"seed", "477"}},
      "bf16"},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 16}, {"V", 16}},
      {{"decay", "total"},
       {"decay_per_head", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"seed", "573"}}}});
const bool gla = register_chunkwise(
    "gla",
    {{{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 16}, {"V", 16}},
      {{"decay", "strong"}, {"decay_per_head", "true"}, {"magnitude", "1e8"}, {"seed", "126"}}},
     {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 16}, {"V", 16}},
      {{"decay", "total"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e-8"},
       {"seed", "287"}}},
     {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 16}, {"V", 48}},
      {{"decay", "strong"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e-8"},
       {"seed", "558"}}},
     {{{"B", 2}, {"T", 17}, {"H", 3}, {"K", 64}, {"V", 48}},
      {{"decay", "total"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"magnitude", "1e-8"},
       {"seed", "110"}}},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 16}},
      {{"decay", "none"}, {"decay_per_head", "true"}, {"magnitude", "1e8"}, {"seed", "216"}}},
     {{{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 16}},
      {{"decay", "none"}, {"scale", "0.125"}, {"magnitude", "1e-8"}, {"seed", "511"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 16}, {"V", 16}},
      {{"decay", "total"},
       {"decay_per_head", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"seed", "573"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 16}, {"V", 48}},
      {{"decay", "strong"},
       {"initial_state", "true"},
       {"final_state", "true"},
       {"reverse", "true"},
       {"scale", "0.125"},
       {"seed", "596"}}},
     {{{"B", 2}, {"T", 65}, {"H", 3}, {"K", 16}, {"V", 48}},
      {{"decay", "total"}, {"decay_per_head", "true"}, {"scale", "0.125"}, {"seed", "212"}}}});

void expect_right(const std::string& name, const WkvCase& c) {
  const Implementation implementation = find_implementation(name);
  const WkvProblem problem = make_problem(c);
  EXPECT_TRUE(is_right(problem, run(implementation, problem),
                       ladder::arithmetic_of(implementation, c.precision)))
      << name << " " << name_of(c);
}

WkvCase with_states(WkvCase c) {
  c.initial_state = c.final_state = true;
  return c;
}

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay,
                                     Precision::kFp16};

// Each width has its own tiling, in each precision, and widths that are no multiple of a tile are
// padded. Rows of whole 16-byte vectors (128) and single elements (100, 250) are fetched in
// different ways. A chunk has 16 to 64 tokens, so that the longer cases have three or more. One
// order of threads is enough for so many cases, because the suite runs its borders in the others.
TEST(wkv_chunkwise, MatchesReferenceInEveryTiling) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision : kPrecisions) {
      for (const auto& [T, K, V] : {std::tuple{35, 13, 7},
                                    {130, 64, 80},
                                    {130, 100, 130},
                                    {35, 128, 16},
                                    {70, 250, 72},
                                    {35, 256, 16}}) {
        expect_right("wkv_chunkwise_fused", with_states({.recurrence = recurrence,
                                                         .T = T,
                                                         .H = 1,
                                                         .K = K,
                                                         .V = V,
                                                         .precision = precision}));
      }
    }
  }
}

// A block computes three or four chunks of 64 tokens, so that a chunk's buffers are reused. Packed
// sequences may be as long. One order of threads is enough for so many cases, because the suite
// runs its borders in the others.
TEST(wkv_chunkwise, MatchesReferenceOverManyChunks) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision : kPrecisions) {
      WkvCase c = with_states({.recurrence = recurrence, .T = 200, .H = 2, .K = 64, .V = 48});
      c.precision = precision;
      expect_right("wkv_chunkwise_fused", c);
      c.reverse = true;
      c.T = 130;
      expect_right("wkv_chunkwise_fused", c);
      expect_right("wkv_chunkwise_fused", packed(c, {70, 1, 0, 200, 64}));
    }
  }
}

// Heads of more than 256 channels are launched in parts, whose outputs are added. The cases have
// two chunks or more, so that the sums of each are passed to the next part, columns in several
// tiles, whole vectors and single elements, and time with and without segments. One order of
// threads is enough for so many cases, because the suite runs its borders in the others.
TEST(wkv_chunkwise, MatchesReferenceInPartsOfChannels) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  for (const Precision precision : kPrecisions) {
    for (const auto& [T, K, V] :
         {std::tuple{35, 257, 20}, {70, 320, 72}, {20, 512, 512}, {130, 511, 9}}) {
      const bool gla = (T + V) % 2 == 1;
      WkvCase c = with_states({.recurrence = gla ? Recurrence::kGla : Recurrence::kWkv,
                               .T = T,
                               .H = 1,
                               .K = K,
                               .V = V,
                               .scale = 0.7f,
                               .precision = precision});
      expect_right("wkv_chunkwise_fused", c);
      if (V > 72) continue;
      c.recurrence = gla ? Recurrence::kWkv : Recurrence::kGla;
      c.reverse = true;
      c.decay_per_head = K == 320;
      expect_right("wkv_chunkwise_time_parallel", c);
      expect_right("wkv_chunkwise_time_parallel", packed(c, {0, 33, 1, T, 0}));
    }
  }
}

// Segments of one sequence, of several and of empty ones. The chunks of a segment begin at other
// steps than the sequence's. One order of threads is enough for so many cases, because the suite
// runs its borders in the others.
TEST(wkv_chunkwise, MatchesReferenceInSegments) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision : kPrecisions) {
      WkvCase c =
          with_states({.recurrence = recurrence, .B = 2, .T = 200, .H = 2, .K = 64, .V = 48});
      c.precision = precision;
      expect_right("wkv_chunkwise_time_parallel", c);
      c.reverse = true;
      c.T = 130;
      expect_right("wkv_chunkwise_time_parallel", c);
      expect_right("wkv_chunkwise_time_parallel", packed(c, {0, 70, 1, 0, 400, 0}));
      for (const std::int64_t K : {100, 250}) {
        c = with_states({.recurrence = recurrence, .B = 1, .T = 100, .H = 1, .K = K, .V = 140});
        c.precision = precision;
        expect_right("wkv_chunkwise_time_parallel", c);
      }
    }
  }
}

// An H200 has room for two blocks of 64 channels on each of its 132 SMs.
TEST(wkv_chunkwise, CutsTimeIntoAsManySegmentsAsTheDeviceHasRoomFor) {
  using chunkwise::segment_count;
  constexpr std::int64_t kRoom = 264, kMultiprocessors = 132, kTokens = 64;
  const auto segments = [](std::int64_t B, std::int64_t H, std::int64_t T) {
    const ladder::WkvArgs args{.B = B, .T = T, .H = H};
    return segment_count(kRoom, kMultiprocessors, B * H, chunkwise::steps_of_a_sequence(args),
                         kTokens);
  };
  EXPECT_EQ(segments(8, 4, 1024), 8);  // limited by both room and length
  EXPECT_EQ(segments(8, 1, 1024), 8);  // two chunks each
  EXPECT_EQ(segments(8, 4, 4096), 8);  // all room
  EXPECT_EQ(segments(1, 32, 4096), 8);
  EXPECT_EQ(segments(1, 1, 4096), 32);
  EXPECT_EQ(segments(1, 66, 4096), 4);
  EXPECT_EQ(segments(1, 67, 4096), 1);  // more than half of the SMs have a block
  EXPECT_EQ(segments(8, 32, 4096), 1);  // the heads fill the device
  EXPECT_EQ(segments(64, 32, 4096), 1);
  EXPECT_EQ(segments(1, 1, 255), 1);  // too short
  EXPECT_EQ(segments(1, 1, 0), 1);

  // Packed sequences share T. Eight with an average of 1024 steps are cut like eight batches.
  const std::int64_t somewhere[1] = {};
  ladder::WkvArgs pack{.B = 1, .T = 8192, .H = 4};
  pack.cu_seqlens = somewhere;
  pack.sequences = 8;
  EXPECT_EQ(chunkwise::steps_of_a_sequence(pack), 1024);
  EXPECT_EQ(
      segment_count(kRoom, kMultiprocessors, 8 * 4, chunkwise::steps_of_a_sequence(pack), kTokens),
      8);
  pack.sequences = 0;
  EXPECT_EQ(chunkwise::steps_of_a_sequence(pack), 0);
}

// Later tokens, in the same chunk or not, must not change a bit of earlier outputs.
KERNEL_TEST(wkv_chunkwise, KnowsNothingOfLaterTokens) {
  const Implementation implementation = find_implementation("wkv_chunkwise");
  const WkvCase c{.T = 130, .H = 2, .K = 64, .V = 32, .precision = Precision::kBf16};
  const WkvProblem problem = make_problem(c);
  const WkvOutputs outputs = run(implementation, problem);
  for (const std::int64_t T : {1, 20, 64, 100}) {
    WkvProblem part = problem;
    part.drawn_case().T = T;
    for (const char* array : {"q", "k", "log_w"})
      part[array].resize(T * c.H * c.K);
    part["v"].resize(T * c.H * c.V);
    const WkvOutputs of_part = run(implementation, part);
    EXPECT_TRUE(std::equal(of_part.o.begin(), of_part.o.end(), outputs.o.begin()))
        << "the first " << T << " steps are others where more steps follow";
  }
}

// A total decay at any of 16 tokens must not affect the others.
KERNEL_TEST(wkv_chunkwise, SurvivesTotalDecayAtEachTokenOfAUnit) {
  const Implementation implementation = find_implementation("wkv_chunkwise");
  for (std::int64_t forgets = 0; forgets < 17; ++forgets) {
    const WkvCase c =
        with_states({.T = 33, .H = 1, .K = 64, .V = 16, .precision = Precision::kBf16});
    WkvProblem problem = make_problem(c);
    std::fill_n(problem["log_w"].begin() + forgets * c.K, c.K, -INFINITY);
    EXPECT_TRUE(is_right(problem, run(implementation, problem),
                         ladder::arithmetic_of(implementation, c.precision)))
        << "at token " << forgets;
  }
}

// The state may be updated in place, however the work is divided. Up to three chunks (of 64 steps,
// of 48 in fp32) are as many segments. With one step more there are two segments of two chunks.
KERNEL_TEST(wkv_chunkwise, UpdatesTheStateInPlace) {
  const std::string name = "wkv_chunkwise_time_parallel";
  WkvCase c = with_states({.B = 1, .H = 2, .K = 64, .V = 20});
  for (c.T = 144; c.T <= 145; ++c.T)
    chunkwise::expect_the_same_in_place<ladder::WkvArgs>(name, c);
  c.precision = Precision::kBf16;
  for (c.T = 192; c.T <= 193; ++c.T)
    chunkwise::expect_the_same_in_place<ladder::WkvBf16Args>(name, c);
  chunkwise::expect_the_same_in_place<ladder::WkvBf16Args>(name, packed(c, {0, 193, 1, 64}));
  c.precision = Precision::kFp16;
  chunkwise::expect_the_same_in_place<ladder::WkvFp16Args>(name, packed(c, {0, 193, 1, 64}));
  c = with_states({.B = 1, .T = 100, .H = 1, .K = 300, .V = 20, .precision = Precision::kBf16});
  chunkwise::expect_the_same_in_place<ladder::WkvBf16Args>(name, c);
}

// ---- fp16 has 11 bits from 2^-14 to 65504, and a spacing of 2^-24 below ----

// One head of one channel, without a bonus or a decay. v has two columns, the given values and
// 1/64, so o_t is the sum over s < t of q_t k_s v_s.
WkvOutputs run_in_fp16(const std::vector<float>& q, const std::vector<float>& k,
                       const std::vector<float>& v) {
  WkvCase c{.B = 1, .T = std::ssize(q), .H = 1, .K = 1, .V = 2};
  c.decay = ladder::Decay::kNone;
  c.final_state = true;
  c.precision = Precision::kFp16;
  WkvProblem problem = make_problem(c);
  problem["q"] = q, problem["k"] = k, problem["u"] = {0};
  for (std::size_t t = 0; t < v.size(); ++t)
    problem["v"][2 * t] = v[t], problem["v"][2 * t + 1] = 0x1p-6f;
  return run(find_implementation("wkv_chunkwise"), problem);
}

// An output from 65520 on becomes infinite when it is stored. The sums are fp32, so a later output
// is right again.
KERNEL_TEST(wkv_chunkwise, StoresInfinityBeyondFp16) {
  const WkvOutputs outputs =
      run_in_fp16({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {65504, 15, 1, -60000, 0});
  const std::vector<float> expected = {0, 65504, 65504, INFINITY, 5520};  // of 65519, 65520
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_EQ(outputs.o[2 * t], expected[t]) << "token " << t;
    EXPECT_EQ(outputs.o[2 * t + 1], static_cast<float>(t) * 0x1p-6f) << "token " << t;
  }
}

// A state is rounded to fp16 as a factor of the next sub-chunk's product, and so is a score. A
// value above 65504 gives infinities and NaN although fp16 holds the true result. It gives no wrong
// finite number, affects no other column, and has no effect once the state, which is fp32, is small
// again.
KERNEL_TEST(wkv_chunkwise, AStateBeyondFp16IsNoNumber) {
  const std::size_t T = 48;
  std::vector<float> q(T, 0x1p-6f), k(T, 1.0f), v(T, 0.0f);
  std::fill_n(v.begin(), 16, 5000.0f);
  std::fill_n(v.begin() + 16, 16, -5000.0f);
  const WkvOutputs outputs = run_in_fp16(q, k, v);
  for (std::size_t t = 0; t < T; ++t) {
    const bool reads_it = t >= 16 && t < 32;  // sub-chunks of 16 tokens
    const float sum = t < 16 ? 5000.0f * static_cast<float>(t) : 0.0f;
    const float o = outputs.o[2 * t];
    EXPECT_TRUE(reads_it ? !std::isfinite(o) : std::abs(o - sum / 64) <= sum * 0x1p-16f)
        << "token " << t << " is " << o;
    EXPECT_EQ(outputs.o[2 * t + 1], static_cast<float>(t) * 0x1p-12f) << "token " << t;
  }
  EXPECT_EQ(outputs.final_state[0], 0);
}
KERNEL_TEST(wkv_chunkwise, AScoreBeyondFp16IsNoNumber) {
  const WkvOutputs outputs = run_in_fp16({0, 256, 1}, {256, 1, 0}, {0, 0, 0});
  EXPECT_FALSE(std::isfinite(outputs.o[3])) << outputs.o[3];  // the truth is 256 * 256 / 64 = 1024
  EXPECT_EQ(outputs.o[5], 4.015625f);                         // (256 + 1) / 64
}

// A key that decays below 2^-14 is off by at most 2^-25, and one below 2^-25 is lost. The fp32
// state shows this if it contains nothing newer. bf16 keeps its 8 bits there.
KERNEL_TEST(wkv_chunkwise, DecayedKeysLoseDigitsInFp16) {
  WkvCase c{.B = 1, .T = 16, .H = 1, .K = 64, .V = 2};
  c.final_state = true;
  double worst_in_fp16 = 0, worst_in_bf16 = 0;  // relative
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    const bool fp16 = precision == Precision::kFp16;
    c.precision = precision;
    WkvProblem problem = make_problem(c);
    std::fill(problem["v"].begin(), problem["v"].end(), 1.0f);
    std::fill(problem["k"].begin(), problem["k"].end(), 0.0f);
    std::fill_n(problem["k"].begin(), c.K, 1.0f);
    for (std::int64_t i = 0; i < c.T * c.K; ++i)
      problem["log_w"][i] = -0.5f - static_cast<float>(i % c.K) / 64;
    const WkvOutputs outputs = run(find_implementation("wkv_chunkwise"), problem);
    double& worst = fp16 ? worst_in_fp16 : worst_in_bf16;
    for (std::int64_t j = 0; j < c.K; ++j) {
      const double truth = std::exp(15.0 * problem["log_w"][j]);  // 6e-4 to 2e-10
      const double error = std::abs(outputs.final_state[2 * j] - truth);
      worst = std::max(worst, error / truth);
      EXPECT_LE(error, fp16 ? std::max(0x1p-25, truth * 0x1p-11) : truth * 0x1p-8)
          << "key decays to " << truth;
    }
  }
  EXPECT_EQ(worst_in_fp16, 1);  // lost
  EXPECT_GT(worst_in_bf16, 0);
}

// A query loses digits as well, which shows in an output that reads a large state.
KERNEL_TEST(wkv_chunkwise, DecayedQueriesLoseDigitsInFp16) {
  constexpr double kState = 32768, kU = 0x1p-11;
  WkvCase c{.B = 1, .T = 16, .H = 1, .K = 1, .V = 1};
  c.initial_state = true;
  c.precision = Precision::kFp16;
  WkvProblem problem = make_problem(c);
  problem["k"].assign(16, 0.0f), problem["v"].assign(16, 0.0f);
  problem["q"].assign(16, 1.0f), problem["log_w"].assign(16, -1.0f);
  problem["initial_state"][0] = kState;
  const WkvOutputs outputs = run(find_implementation("wkv_chunkwise"), problem);
  double worst = 0;
  for (int t = 0; t < 16; ++t) {
    const double truth = kState * std::exp(-t), error = std::abs(outputs.o[t] - truth);
    worst = std::max(worst, error / truth);
    EXPECT_LE(error, 2 * kU * truth + kState * 0x1p-25) << "token " << t;
  }
  EXPECT_GT(worst, 8 * kU);
}

}  // namespace
