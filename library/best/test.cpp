#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"
#include "library/best/work.hpp"

namespace {

using ladder::find_implementation;
using ladder::Implementation;
using ladder::LinearAttention;
using ladder::LinearAttentionCase;
using ladder::LinearAttentionProblem;
using ladder::make_problem;
using ladder::Precision;
using ladder::Recurrence;
using ladder::WkvCase;
using ladder::WkvProblem;
using ladder::testing::device_is_missing;
using ladder::testing::is_right;

// Few cases, because the kernels have their own suites. Lengths and widths reach both kernels of
// each rule.
const ladder::Support kSupport{.storages = {"fp32", "bf16", "bf16_fp32_decay", "fp16"},
                               .sizes = {{"T", {0, 1, 17, 130}}, {"K", {36, 64}}, {"V", {20, 64}}},
                               .nan_tile = 16};  // the widest kernel's
const bool wkv = ladder::testing::register_suite("wkv", "best_wkv", kSupport);
const bool gla = ladder::testing::register_suite("gla", "best_gla", kSupport);
const bool linear_attention = ladder::testing::register_suite(
    "linear_attention", "best_linear_attention",
    {.storages = {"fp32", "bf16"},
     .sizes = {{"T", {0, 1, 17, 130}}, {"K", {37, 64}}, {"V", {20, 64}}},
     .nan_tile = 64});

// The kernels round differently, so the results reveal which one ran.
void expect_runs(const std::string& best, const std::string& expected, const std::string& other,
                 WkvCase c) {
  c.final_state = true;
  const WkvProblem problem = make_problem(c);
  const auto outputs_of = [&](const std::string& name) {
    ladder::WkvOutputs outputs = run(find_implementation(name), problem);
    outputs.o.insert(outputs.o.end(), outputs.final_state.begin(), outputs.final_state.end());
    return outputs.o;
  };
  const std::vector<float> outputs = outputs_of(best);
  EXPECT_TRUE(outputs == outputs_of(expected)) << name_of(c) << ": not " << expected;
  EXPECT_FALSE(outputs == outputs_of(other)) << name_of(c) << ": " << other;
}

TEST(best_wkv, RunsTheChosenKernel) {
  if (device_is_missing(find_implementation("best_wkv"))) return;
  const WkvCase decode{.B = 2, .T = 1, .H = 3, .K = 64, .V = 64, .initial_state = true};
  expect_runs("best_wkv", "wkv_time_tiles", "wkv_fused_recurrent", decode);
  WkvCase wide = decode;
  wide.K = 200;
  expect_runs("best_wkv", "wkv_fused_recurrent", "wkv_time_tiles", wide);
  WkvCase longer{.B = 1, .T = 192, .H = 2, .K = 64, .V = 64};
  expect_runs("best_wkv", "wkv_time_tiles", "wkv_chunkwise", longer);
  longer.precision = Precision::kBf16;
  expect_runs("best_wkv", "wkv_chunkwise_fused", "wkv_time_tiles", longer);
  for (const Precision precision : {Precision::kBf16Fp32Decay, Precision::kFp16}) {
    longer.precision = precision;
    expect_runs("best_wkv", "wkv_chunkwise_fused", "wkv_time_tiles", longer);
  }
  longer.T = 512;
  longer.decay = ladder::Decay::kNone;  // with decay, the state would forget and hide the segments
  expect_runs("best_wkv", "wkv_chunkwise", "wkv_chunkwise_fused", longer);
}

TEST(best_gla, RunsTheChosenKernel) {
  if (device_is_missing(find_implementation("best_gla"))) return;
  WkvCase c{.recurrence = Recurrence::kGla, .B = 2, .T = 1, .H = 3, .K = 64, .V = 64};
  c.initial_state = true;
  expect_runs("best_gla", "wkv_time_tiles", "wkv_chunkwise", c);
  c.T = 192;
  c.precision = Precision::kBf16;
  expect_runs("best_gla", "wkv_chunkwise", "wkv_time_tiles", c);
}

// WKV has kernels for any number of key rows, GLA for up to 512.
TEST(best_wkv, TakesMoreThan256KeyRows) {
  const Implementation implementation = find_implementation("best_wkv");
  if (device_is_missing(implementation)) return;
  for (const Precision precision :
       {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
    const WkvProblem problem = make_problem({.B = 1,
                                             .T = 70,
                                             .H = 1,
                                             .K = 257,
                                             .V = 9,
                                             .initial_state = true,
                                             .final_state = true,
                                             .precision = precision});
    EXPECT_TRUE(is_right(problem, run(implementation, problem),
                         ladder::arithmetic_of(implementation, precision)));
  }
}

void expect_K_is_refused(const std::string& name, const WkvCase& c) {
  try {
    run(find_implementation(name), make_problem(c));
    ADD_FAILURE() << name << " accepted K = " << c.K;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("K is 513"), std::string::npos) << error.what();
  }
}

TEST(best_gla, TakesUpTo512KeyRows) {
  const Implementation implementation = find_implementation("best_gla");
  if (device_is_missing(implementation)) return;
  for (const std::int64_t T : {1, 40}) {
    WkvCase c{.recurrence = Recurrence::kGla, .B = 1, .T = T, .H = 1, .K = 512, .V = 9};
    c.precision = Precision::kBf16;
    const WkvProblem problem = make_problem(c);
    EXPECT_TRUE(is_right(problem, run(implementation, problem),
                         ladder::arithmetic_of(implementation, c.precision)));
    c.K = 513;
    c.V = 4;
    expect_K_is_refused("best_gla", c);
  }
}

TEST(best_wkv, RefusesMoreThan512KeyRowsOfPackedSequences) {
  if (device_is_missing(find_implementation("best_wkv"))) return;
  expect_K_is_refused("best_wkv", ladder::packed({.K = 513, .V = 4}, {3, 0, 5}));
}

// With more than 256 key rows, only the plain causal product has a kernel.
TEST(best_linear_attention, TakesMoreThan256KeyRowsOfACausalProduct) {
  const Implementation implementation = find_implementation("best_linear_attention");
  if (device_is_missing(implementation)) return;
  LinearAttentionCase c{.B = 1, .T_q = 20, .T_k = 20, .H = 2, .K = 260, .V = 8};
  c.feature_map = ladder::FeatureMap::kIdentity;
  c.normalize = false;
  const LinearAttentionProblem problem = make_problem(c);
  EXPECT_TRUE(is_right(problem, run(implementation, problem)));
  c.normalize = true;
  try {
    run(implementation, make_problem(c));
    ADD_FAILURE() << "K = 260 was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("K is 260"), std::string::npos) << error.what();
  }
}

TEST(best_linear_attention, RunsTheChosenKernel) {
  const Implementation best = find_implementation("best_linear_attention");
  if (device_is_missing(best)) return;
  const auto expect = [&](const char* expected, const char* other, const LinearAttentionCase& c) {
    const LinearAttentionProblem problem = make_problem(c);
    const std::vector<float> o = run(best, problem);
    EXPECT_TRUE(o == run(find_implementation(expected), problem))
        << name_of(c) << ": not " << expected;
    EXPECT_FALSE(o == run(find_implementation(other), problem)) << name_of(c) << ": " << other;
  };
  expect("prefix_causal_product", "packed_causal_product",
         {.B = 1, .T_q = 64, .T_k = 64, .H = 2, .K = 64, .V = 64});
  expect("packed_causal_product", "prefix_causal_product",
         {.B = 1, .T_q = 9, .T_k = 9, .H = 40, .K = 64, .V = 64});
  expect("linear_attention_chunk_states", "prefix_causal_product",
         {.B = 1, .T_q = 512, .T_k = 512, .H = 2, .K = 32, .V = 32});
  LinearAttentionCase longer{.B = 1, .T_q = 1024, .T_k = 1024, .H = 2, .K = 64, .V = 64};
  longer.feature_map = ladder::FeatureMap::kIdentity;
  longer.normalize = false;
  expect("linear_attention_chunkwise", "linear_attention_chunk_states", longer);
}

// ---- GPUs with less shared memory ----

using emulator::SmallerDevice;
using ladder::best::Card;
using ladder::best::Works;

bool is_emulated() {
  const Implementation best = find_implementation("best_wkv");
  return !device_is_missing(best) && ladder::device(best.device).back_end() == "emulator";
}

// What the launchers of these works ask a device with 48 KB for is what the rules think.
void expect_kilobytes(const ladder::Case& c, const Works& works) {
  const auto problem = c.make();
  for (std::size_t n = 0; n < works.count; ++n) {
    const ladder::best::Work& work = works.all[n];
    const Implementation i = find_implementation(name_of(work.kernel));
    std::string said;
    try {
      problem->place(ladder::device(i.device), i)->call();
    } catch (const ladder::NotOnThisDevice& why) {
      said = why.what();
    }
    const std::string needs = " needs " + std::to_string(work.kilobytes) + " KB";
    EXPECT_NE((said.empty() ? " needs 48 KB" : said).find(needs), std::string::npos)
        << i.name << needs << ", or is it: " << said;
  }
}

TEST(best, KnowsTheSharedMemoryOfEveryKernel) {
  if (!is_emulated()) return;
  const SmallerDevice memory(SmallerDevice::kSharedMemoryKb, "48");
  for (const int sms : {1, 132}) {
    const SmallerDevice device(SmallerDevice::kMultiprocessors, std::to_string(sms).c_str());
    const Card card{.multiprocessors = sms};
    for (const std::int64_t K : {32, 64, 128, 256}) {
      for (const std::int64_t H : {1, 2, 3}) {  // few, many and a crowd on one SM
        for (const Precision precision :
             {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay, Precision::kFp16}) {
          WkvCase c{.B = 1, .T = 2, .H = H, .K = K, .V = 16, .precision = precision};
          SCOPED_TRACE(name_of(c));
          const bool is_fp32 = precision == Precision::kFp32;
          expect_kilobytes(*ladder::as_case<ladder::Wkv>(c),
                           works_of({.T = 2,
                                     .heads = H,
                                     .K = K,
                                     .V = 16,
                                     .bf16 = !is_fp32,
                                     .fp16 = precision == Precision::kFp16,
                                     .fp32_decay = precision == Precision::kBf16Fp32Decay},
                                    card));
        }
        for (const std::int64_t T : {2, 70}) {
          for (const bool plain : {false, true}) {
            LinearAttentionCase c{.B = 1, .T_q = T, .T_k = T, .H = H, .K = K, .V = 32};
            c.feature_map = plain ? ladder::FeatureMap::kIdentity : ladder::FeatureMap::kEluPlusOne;
            c.normalize = !plain;
            SCOPED_TRACE(name_of(c));
            expect_kilobytes(
                *ladder::as_case<LinearAttention>(c),
                works_of({.T = T, .heads = H, .K = K, .V = 32, .plain = plain, .strips = plain},
                         card));
          }
        }
      }
    }
  }
}

// 99 KB are those of a GeForce RTX, 163 KB of an A100. WKV always has a kernel that fits.
TEST(best, RunsOnGpusWithLessSharedMemory) {
  if (!is_emulated()) return;
  for (const char* kilobytes : {"48", "99", "163"}) {
    const SmallerDevice memory(SmallerDevice::kSharedMemoryKb, kilobytes);
    for (const std::int64_t K : {64, 128, 256, 300}) {
      for (const Precision precision :
           {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
        const WkvCase c{.B = 1, .T = 70, .H = 1, .K = K, .V = 16, .precision = precision};
        SCOPED_TRACE(name_of(c) + " with " + kilobytes + " KB");
        const WkvProblem problem = make_problem(c);
        const Implementation best = find_implementation("best_wkv");
        EXPECT_TRUE(is_right(problem, run(best, problem), ladder::arithmetic_of(best, precision)));
      }
    }
  }
}

// ---- Softmax attention ----

using ladder::AttentionCase;

// The result is right and equals the expected kernel's. The other kernel gives another result, or
// rejects the problem.
void expect_attention_runs(const std::string& expected, const std::string& other,
                           const AttentionCase& c) {
  SCOPED_TRACE(name_of(c));
  const Implementation best = find_implementation("best_attention");
  const ladder::AttentionProblem problem = make_problem(c);
  const ladder::AttentionOutputs outputs = run(best, problem);
  EXPECT_TRUE(is_right(problem, outputs, ladder::arithmetic_of(best, c.precision)));
  EXPECT_TRUE(outputs == run(find_implementation(expected), problem)) << "not " << expected;
  try {
    EXPECT_FALSE(outputs == run(find_implementation(other), problem)) << other;
  } catch (const std::invalid_argument&) {
  }
}

// Whether this program has the Hopper kernels and its GPU can run them. Otherwise the choice
// differs.
bool is_hopper() {
  AttentionCase c{.B = 1, .T_q = 1, .T_k = 1, .H_q = 1, .H_kv = 1, .D = 64};
  c.precision = Precision::kBf16;
  try {
    run(find_implementation("attention_sm90"), make_problem(c));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

TEST(best_attention, RunsTheChosenKernel) {
  if (device_is_missing(find_implementation("best_attention"))) return;
  AttentionCase c{.B = 2, .T_q = 2, .T_k = 70, .H_q = 4, .H_kv = 2, .D = 64};
  c.causal = true;
  expect_attention_runs("attention_scalar_tiles", "attention_pipelined", c);  // fp32
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    c.precision = precision;
    c.T_q = 2;
    expect_attention_runs("attention_split_keys", "attention_pipelined", c);
    c.T_q = 30;
    if (is_hopper()) expect_attention_runs("attention_sm90", "attention_split_keys", c);
  }
  AttentionCase usual = c;
  c.D = 40;
  if (is_hopper()) expect_attention_runs("attention_sm90", "attention_pipelined", c);
  usual.scale = -0.2f;
  expect_attention_runs(is_hopper() ? "attention_sm90" : "attention_sliding_window",
                        "attention_pipelined", usual);
  AttentionCase of_v = usual;
  of_v.D_v = 40;
  if (is_hopper()) expect_attention_runs("attention_sm90", "attention_split_keys", of_v);
  of_v.T_q = 2;
  if (is_hopper()) expect_attention_runs("attention_split_keys", "attention_sm90", of_v);
  usual.T_q = 1, usual.scale = 0.2f, usual.window = 9;
  expect_attention_runs("attention_sliding_window", "attention_split_keys", usual);
  c = ladder::packed({.H_q = 4, .H_kv = 2, .D = 64}, {{1, 90}, {1, 3}, {1, 40}});
  c.precision = Precision::kBf16;
  expect_attention_runs("attention_split_keys", "attention_pipelined", c);
  c = ladder::packed({.H_q = 4, .H_kv = 2, .D = 64}, {{1, 90}, {30, 33}, {0, 5}});
  c.precision = Precision::kBf16;
  if (is_hopper()) expect_attention_runs("attention_sm90", "attention_split_keys", c);
}

TEST(best_attention, SaysWhatNoKernelTakes) {
  if (device_is_missing(find_implementation("best_attention"))) return;
  for (const auto& [precision, D] :
       {std::pair{Precision::kBf16, 36}, {Precision::kBf16, 264}, {Precision::kFp32, 40}}) {
    AttentionCase c{.B = 1, .T_q = 3, .T_k = 5, .H_q = 1, .H_kv = 1, .D = D};
    c.precision = precision;
    try {
      run(find_implementation("best_attention"), make_problem(c));
      ADD_FAILURE() << "D = " << D << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("D is " + std::to_string(D)), std::string::npos)
          << error.what();
    }
  }
}

TEST(best_attention, SaysThatNoKernelTakesValuesOfAnotherWidthInFp32) {
  if (device_is_missing(find_implementation("best_attention"))) return;
  AttentionCase c{.B = 1, .T_q = 3, .T_k = 5, .H_q = 1, .H_kv = 1, .D = 64, .D_v = 32};
  try {
    run(find_implementation("best_attention"), make_problem(c));
    ADD_FAILURE() << "D_v was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "D_v is 32; allowed in this kernel: 0, or D, which is 64");
  }
}

TEST(best_attention_backward, RunsTheChosenKernel) {
  const Implementation best = find_implementation("best_attention_backward");
  if (device_is_missing(best)) return;
  const auto expect = [&](const char* expected, const AttentionCase& c) {
    SCOPED_TRACE(name_of(c));
    const ladder::AttentionGradProblem problem = ladder::make_grad_problem(ladder::make_problem(c));
    const ladder::AttentionGradients gradients = run_backward(best, problem);
    const Implementation kernel = find_implementation(expected);
    EXPECT_TRUE(is_right(problem, gradients, ladder::arithmetic_of(kernel, c.precision)));
    // dq is a sum of atomic additions, in any order.
    const ladder::AttentionGradients wanted = run_backward(kernel, problem);
    EXPECT_TRUE(gradients.dk == wanted.dk && gradients.dv == wanted.dv) << "not " << expected;
  };
  AttentionCase c{.B = 1, .T_q = 30, .T_k = 40, .H_q = 2, .H_kv = 1, .D = 64};
  c.causal = true;
  expect("attention_backward_scalar", c);
  c.precision = Precision::kBf16;
  const char* const usual = is_hopper() ? "attention_backward_sm90" : "attention_backward";
  expect(usual, c);
  c.D = 32;
  expect(usual, c);
  c.D = 64, c.window = 9;
  expect(usual, c);
  c.D = 72, c.window = 0, c.softcap = 2, c.scale = -0.2f;
  expect(usual, c);
  c.D = 136;
  expect("attention_backward", c);
  c.D = 64, c.D_v = 40;
  if (is_hopper()) expect("attention_backward_sm90", c);
}

}  // namespace
