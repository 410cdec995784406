// The ladder measures only what it has checked, and reads its input carefully.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/bench/climb.hpp"
#include "common/bench/command_line.hpp"
#include "common/bench/growth.hpp"
#include "common/bench/shape.hpp"
#include "common/bench/timing.hpp"
#include "common/core/device_problem.hpp"

namespace ladder::bench {
namespace {

const Registration right_registration{
    {.name = "test_right", .chapter = "91_right", .rung = true, .wkv = [](const WkvArgs& a) {
       // One step, no decay, one head: o = scale * sum_j q u k v
       for (std::int64_t i = 0; i < a.V; ++i) {
         float sum = 0;
         for (std::int64_t j = 0; j < a.K; ++j) {
           sum += a.q[j] * a.u[j] * a.k[j] * a.v[i];
         }
         a.o[i] = a.scale * sum;
       }
     }}};
const Registration wrong_registration{
    {.name = "test_wrong", .chapter = "92_wrong", .rung = true, .wkv = [](const WkvArgs& a) {
       std::fill_n(a.o, a.B * a.T * a.H * a.V, 1.0f);
     }}};
const Registration picky_registration{
    {.name = "test_picky", .chapter = "93_picky", .rung = true, .wkv = [](const WkvArgs&) {
       throw std::invalid_argument("K is 4; allowed: 5");
     }}};
const Registration gpu_registration{{.name = "test_gpu",
                                     .chapter = "94_gpu",
                                     .device = DeviceKind::kCuda,
                                     .rung = true,
                                     .wkv = [](const WkvArgs&) {}}};

// One step of one head without a state: o = scale * (q . k) v
const Registration gradient_registration{{.name = "test_gradients",
                                          .chapter = "95_gradients",
                                          .rung = true,
                                          .gla_backward = [](const WkvGradArgs& args) {
                                            const WkvArgs& a = args.forward;
                                            float score = 0, d_score = 0;
                                            for (std::int64_t j = 0; j < a.K; ++j)
                                              score += a.q[j] * a.k[j];
                                            for (std::int64_t i = 0; i < a.V; ++i) {
                                              d_score += a.v[i] * args.d_o[i];
                                              args.dv[i] = a.scale * score * args.d_o[i];
                                            }
                                            for (std::int64_t j = 0; j < a.K; ++j) {
                                              args.dq[j] = a.scale * d_score * a.k[j];
                                              args.dk[j] = a.scale * d_score * a.q[j];
                                              args.d_log_w[j] = 0;
                                            }
                                          }}};

// Registered last step first.
const Registration second_registration{
    {.name = "test_second", .chapter = "96_steps", .step = 2, .wkv = [](const WkvArgs&) {}}};
const Registration first_registration{
    {.name = "test_first", .chapter = "96_steps", .step = 1, .wkv = [](const WkvArgs&) {}}};

const Shape kTiny{.B = 1, .T = 1, .H = 1, .K = 4, .V = 4};

Climb climb_tiny(std::vector<std::string> chapters) {
  return climb({.op = "wkv", .shape = kTiny, .chapters = std::move(chapters)},
               [](const std::string&) {});
}

TEST(Shape, ReadsNamesAndSizes) {
  EXPECT_EQ(parse_shape("profile"), (Shape{.B = 1, .T = 54, .H = 32, .K = 64, .V = 64}));
  EXPECT_EQ(parse_shape("T=7,V=100"), (Shape{.B = 1, .T = 7, .H = 32, .K = 64, .V = 100}));
}

TEST(Shape, TakesWhatIsLeftOutFromTheBase) {
  const Shape base{.B = 1, .T = 16, .H = 2, .K = 64, .V = 64};
  EXPECT_EQ(parse_shape("K=128,V=128", base), (Shape{.B = 1, .T = 16, .H = 2, .K = 128, .V = 128}));
  EXPECT_EQ(parse_shape("profile", base), parse_shape("profile"));
}

TEST(Shape, KnowsAttentionsSizes) {
  const Shape decode = parse_shape("B=8,T=300,T_q=1,H=32,H_kv=8,D=128");
  EXPECT_EQ(decode, (Shape{.B = 8, .T = 300, .H = 32, .K = 128, .V = 128, .T_q = 1, .H_kv = 8}));
  EXPECT_EQ(to_string(decode), "B=8, T=300, H=32, K=128, V=128, T_q=1, H_kv=8");
  EXPECT_EQ(to_json(decode).at("H_kv"), 8);
  EXPECT_FALSE(to_json(kTiny).contains("H_kv"));
}

TEST(CommandLine, LooksAtAttentionOnFewerSteps) {
  const auto steps = [](const std::string& arguments) {
    CLI::App app;
    const SelectionOptions options(app, "rwkv6-1.6b");
    app.parse(arguments);
    return options.selection().shape.T;
  };
  EXPECT_EQ(steps("--operator wkv"), 1024);
  EXPECT_EQ(steps("--operator attention"), 128);
  EXPECT_EQ(steps("--operator attention --shape T=1000"), 1000);
}

TEST(CommandLine, TakesWhatIsLeftOutOfAShapeFromTheProgramsDefault) {
  CLI::App app;
  const SelectionOptions options(app, "B=1,T=16,H=2,K=64,V=64");
  app.parse("--shape K=128,V=128");
  EXPECT_EQ(options.selection().shape, (Shape{.B = 1, .T = 16, .H = 2, .K = 128, .V = 128}));
}

TEST(Shape, RefusesWhatIsNoPositiveNumber) {
  for (const char* text : {"T=0", "T=-3", "T=", "T=1e3", "T=4x", "B=99999999999999999999", "Q=3",
                           "T", "", "rwkv7", ",", "B=2147483648,T=2147483648"}) {
    try {
      parse_shape(text);
      ADD_FAILURE() << "'" << text << "' was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("allowed"), std::string::npos) << error.what();
    }
  }
}

TEST(Timing, MedianIgnoresAnOutlier) {
  const Timing timing = summarise({1.0, 1.0, 9.0, 1.0, 1.0});
  EXPECT_EQ(timing.seconds, 1.0);
  EXPECT_EQ(timing.spread, 0.0);
  EXPECT_EQ(timing.samples, 5);
}

TEST(Timing, DividesBySeveralCalls) {
  int count = 0;
  const auto call = [&] { ++count; };
  const Timing timing = measure(device(DeviceKind::kCpu), {call, call},
                                {.enough_spread = -1, .least_samples = 3, .most_samples = 4});
  EXPECT_EQ(timing.samples, 4);
  EXPECT_EQ(count, 2 * (4 + 1));
}

TEST(Climb, TimesARightResult) {
  const Climb result = climb_tiny({"91"});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_TRUE(result.rows[0].right) << result.rows[0].message;
  EXPECT_GT(result.rows[0].timing.seconds, 0.0);
  EXPECT_GT(result.rows[0].bound_seconds, 0.0);
  EXPECT_TRUE(result.all_right());
}

TEST(Climb, FollowsTheStepsOfAChapter) {
  const Climb result = climb({.op = "wkv", .shape = kTiny, .chapters = {"96"}, .rungs_only = false},
                             [](const std::string&) {});
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].implementation, "test_first");
  EXPECT_EQ(result.rows[1].implementation, "test_second");
}

TEST(Climb, NeverTimesAWrongResult) {
  const Climb result = climb_tiny({"92_wrong"});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_FALSE(result.rows[0].right);
  EXPECT_EQ(result.rows[0].timing.samples, 0);
  EXPECT_FALSE(result.all_right());
  EXPECT_NE(to_table(result).find("WRONG"), std::string::npos);
  EXPECT_FALSE(to_json(result)["rows"][0].contains("seconds"));
}

TEST(Selection, SaysWhichChaptersCompute) {
  try {
    chosen({.op = "wkv", .chapters = {"91_right/"}, .cuda_only = true});
    FAIL() << "no CUDA kernel is in that chapter";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("allowed: 94_gpu, "), std::string::npos)
        << error.what();
  }
}

TEST(Climb, ReportsARefusalAndAMissingDevice) {
  const Climb result = climb_tiny({"93", "94"});
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_FALSE(result.rows[0].ran);
  EXPECT_EQ(result.rows[0].message, "K is 4; allowed: 5");
  EXPECT_FALSE(result.rows[1].ran);
  EXPECT_NE(to_table(result).find("not run"), std::string::npos);
  EXPECT_TRUE(result.all_right());
}

TEST(Climb, RefusesUnknownNames) {
  EXPECT_THROW(climb_tiny({"77"}), std::invalid_argument);
  EXPECT_THROW(climb({.op = "softmax", .shape = kTiny}, [](const std::string&) {}),
               std::invalid_argument);
}

TEST(Climb, CountsTheStatesItAsksFor) {
  const auto climbed = [](bool states) {
    return climb({.op = "wkv", .shape = kTiny, .chapters = {"91"}, .states = states},
                 [](const std::string&) {});
  };
  const Climb with = climbed(true), without = climbed(false);
  const double state_bytes = 4.0 * kTiny.B * kTiny.H * kTiny.K * kTiny.V;
  EXPECT_EQ(with.bytes - without.bytes, 2 * state_bytes);
  EXPECT_TRUE(to_json(with).at("states").get<bool>());
}

TEST(Climb, TimesGradientsAndCountsTheirBytes) {
  const Climb result = climb({.op = "gla_backward", .shape = kTiny}, [](const std::string&) {});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_TRUE(result.rows[0].right) << result.rows[0].message;
  EXPECT_GT(result.rows[0].timing.seconds, 0.0);
  // q, k, v, log_w, d_o in; dq, dk, dv, d_log_w out
  EXPECT_EQ(result.bytes, 4.0 * 4 * 9);
  EXPECT_EQ(result.fma_count, 8.0 * 4 * 4);
}

TEST(Selection, CountsWhatIsStored) {
  const auto bytes = [](const char* op, Precision precision) {
    return cost_of({.op = op,
                    .shape = {.B = 2, .T = 3, .H = 5, .K = 4, .V = 4},
                    .precision = precision})
        .bytes;
  };
  const double tensor = 2 * 3 * 5 * 4, u = 5 * 4;
  EXPECT_EQ(bytes("wkv", Precision::kFp32), 4 * (5 * tensor + u));
  EXPECT_EQ(bytes("gla", Precision::kBf16), 2 * 5 * tensor);
  EXPECT_EQ(bytes("gla", Precision::kBf16Fp32Decay), 2 * 4 * tensor + 4 * tensor);
  EXPECT_EQ(bytes("wkv_backward", Precision::kBf16), 2 * (9 * tensor + u) + 4 * u);
  EXPECT_EQ(bytes("causal_dot_product", Precision::kBf16), 2 * 4 * tensor);
}

TEST(Selection, CountsAttention) {
  Selection selection{.op = "attention",
                      .shape = {.B = 2, .T = 30, .H = 6, .K = 4, .V = 4, .T_q = 3, .H_kv = 2},
                      .precision = Precision::kFp16};
  const double queries = 2 * 3 * 6 * 4, keys = 2 * 30 * 2 * 4, lse = 2 * 3 * 6;
  const double pairs = 2 * 6 * 3 * 30;
  EXPECT_EQ(cost_of(selection).fma_count, 2 * pairs * 4);
  EXPECT_EQ(cost_of(selection).bytes, 2 * 2 * (queries + keys) + 4 * lse);
  selection.causal = true;
  EXPECT_EQ(cost_of(selection).fma_count, pairs * 4);
  selection.op = "attention_backward";
  EXPECT_EQ(cost_of(selection).fma_count, 2.5 * pairs * 4);
  EXPECT_EQ(cost_of(selection).bytes, 4 * 2 * (queries + keys) + 4 * lse);
}

TEST(Selection, RefusesWhatAnOperatorDoesNotHave) {
  for (const Selection& selection :
       {Selection{.op = "linear_attention", .precision = Precision::kBf16Fp32Decay},
        Selection{.op = "causal_dot_product", .states = true},
        Selection{.op = "wkv", .precision = Precision::kFp16},
        Selection{.op = "gla", .causal = true}, Selection{.op = "wkv", .shape = {.T_q = 1}},
        Selection{.op = "wkv", .shape = {.H_kv = 4}},
        Selection{.op = "attention", .shape = {.K = 64, .V = 32}},
        Selection{.op = "attention", .shape = {.H = 32, .H_kv = 5}},
        Selection{.op = "attention", .precision = Precision::kBf16Fp32Decay},
        Selection{.op = "attention_backward", .states = true}}) {
    try {
      chosen(selection);
      ADD_FAILURE() << selection.op;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("allowed"), std::string::npos) << error.what();
    }
  }
}

TEST(Climb, ShowsRecordedTimesForEmulatedRows) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "ladder_recorded";
  std::filesystem::create_directories(folder);
  Climb recorded = climb_tiny({"91"});
  recorded.rows[0].back_end = "cuda";
  recorded.rows[0].device = "Some GPU";
  recorded.rows[0].timing.seconds = 0.125;
  std::ofstream(folder / "run.json") << to_json(recorded).dump();
  std::ofstream(folder / "broken.json") << "{";
  Climb now = climb_tiny({"91"});
  now.rows[0].back_end = "emulator";
  add_recorded(now, folder.string());
  EXPECT_EQ(now.rows[0].recorded_seconds, 0.125);
  EXPECT_NE(to_table(now).find("recorded on Some GPU"), std::string::npos) << to_table(now);
  std::filesystem::remove_all(folder);
}

TEST(Growth, FitsAPower) {
  EXPECT_NEAR(fitted_exponent({1, 2, 4}, {3, 6, 12}), 1.0, 1e-12);
  EXPECT_NEAR(fitted_exponent({10, 100}, {1, 100}), 2.0, 1e-12);
}

}  // namespace
}  // namespace ladder::bench
