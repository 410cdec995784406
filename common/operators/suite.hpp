// The shared suites: a chapter's test.cpp names its implementation and what it supports, and gets every test
// that can be asked of it. Each test runs under every schedule of the implementation's device.
//
//   const bool registered = ladder::testing::register_wkv_suite("wkv_naive", {});
#pragma once

#include <string>
#include <vector>

#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/named_cases.hpp"
#include "common/operators/wkv/problem.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// What an implementation of WKV, of GLA or of the gradients of either can do, and what its cases are made of.
struct WkvSupport {
  bool square_heads_only = false;  // K = V, in K_sizes
  bool states = true;              // initial and final state
  bool reverse = true;
  bool repeatable = true;  // the same input twice gives the same bits
  bool fp32 = true;        // stored in fp32
  bool bf16 = false;       // stored in bf16, with log_w in bf16 and in fp32
  bool packed = false;     // packed sequences
  // Steps of the plain case, where its 18 are too few: more than two of the implementation's chunks. Likewise below.
  std::int64_t plain_steps = 18;
  // A number that is none (NaN, infinity) reaches the outputs of its own sequence and head, from its step on. Where steps are
  // taken in tiles, masked terms of the tile are multiplied by 0 and carry it back to the tile's first step: so many steps.
  std::int64_t nan_tile = 1;
  // What is refused beyond. 0: no limit that a test can reach.
  std::int64_t most_K = 0, most_V = 0, most_T = 0, most_batch_heads = 0;  // B * H
  std::vector<std::int64_t> lengths = {0, 1, 15, 16, 17, 18, 20, 63, 64, 65, 66, 130, 200, 1000};
  std::vector<std::int64_t> K_sizes = {4, 32, 64, 100, 128, 256};
  std::vector<std::int64_t> V_sizes = {4, 32, 64, 100, 128, 256};
  std::vector<NamedCase> also = {};  // besides, where they are not among the cases of these sizes
};

// Pairwise. With LADDER_CASES=N:SEED in the environment N cases drawn from all combinations instead: the same ones on every
// machine and, with the same filter, by the same names.
std::vector<WkvCase> wkv_cases(const WkvSupport& support, Recurrence recurrence = Recurrence::kWkv);

// The case that no two mistakes give the same on: plain, fp32 where that is supported, the smallest sizes from 32 on.
WkvCase plain_wkv_case(const WkvSupport& support, Recurrence recurrence = Recurrence::kWkv);

// Each registers with GoogleTest and returns true. Results are judged by the arithmetic the implementation is registered with.
bool register_wkv_suite(const std::string& implementation, const WkvSupport& support);
bool register_gla_suite(const std::string& implementation, const WkvSupport& support);
bool register_wkv_backward_suite(const std::string& implementation, const WkvSupport& support);
bool register_gla_backward_suite(const std::string& implementation, const WkvSupport& support);

struct LinearAttentionSupport {
  bool causal_dot_product_only =
      false;  // causal, identity feature map, no normaliser, T_q = T_k, no key lengths
  bool repeatable = true;
  bool fp32 = true;
  bool bf16 = false;
  std::int64_t plain_steps = 17;                                // as WkvSupport's
  std::int64_t nan_tile = 1;                                    // likewise
  std::int64_t multiple = 1;                                    // K and V must be multiples of it
  std::int64_t most_K = 0, most_V = 0, most_B = 0, most_H = 0;  // 0: no limit that a test can reach
  std::vector<std::int64_t> lengths = {0, 1, 15, 16, 17, 63, 64, 65, 130, 1000};
  std::vector<std::int64_t> K_sizes = {4, 32, 64, 100, 128, 256};
  std::vector<std::int64_t> V_sizes = {4, 32, 64, 100, 128, 256};
  std::vector<NamedCase> also = {};
};

std::vector<LinearAttentionCase> linear_attention_cases(const LinearAttentionSupport& support);

LinearAttentionCase plain_linear_attention_case(const LinearAttentionSupport& support);

bool register_linear_attention_suite(const std::string& implementation,
                                     const LinearAttentionSupport& support);

// What an implementation of softmax attention or of its gradients can do, and what its cases are made of.
struct AttentionSupport {
  bool fp32 = true;
  bool bf16 = false;
  bool fp16 = false;
  bool causal = true;
  bool grouped = true;  // fewer key heads than query heads
  bool packed = true;   // packed sequences
  bool key_lengths = true;
  bool repeatable = true;  // o, lse and dq
  bool repeatable_dk = true, repeatable_dv = true;
  std::int64_t plain_keys =
      17;  // as WkvSupport's plain_steps: more than two of the parts that keys are taken in
  std::int64_t nan_tile = 1;  // keys; as WkvSupport's, for the causal form
  std::int64_t most_B = 0,
               most_H_q = 0;  // what is refused beyond. 0: no limit that a test can reach
  std::int64_t most_queries =
      1000;  // T_q, or the queries of a packed sequence; more are refused where this is less
  std::vector<std::int64_t> D_sizes = {32, 64, 96, 128, 256};
  // T_q and T_k
  std::vector<AttentionCase::Lengths> lengths = {{0, 5},   {5, 0},   {1, 1},    {1, 65},
                                                 {15, 17}, {16, 16}, {17, 1},   {17, 63},
                                                 {63, 15}, {64, 64}, {65, 130}, {130, 64}};
  std::vector<NamedCase> also = {};
};

std::vector<AttentionCase> attention_cases(const AttentionSupport& support);

AttentionCase plain_attention_case(const AttentionSupport& support);

// "InFp32", "InBf16", ...: part of a test's name.
const char* test_word(Precision precision);

// On a GPU long sequences besides.
bool register_attention_suite(const std::string& implementation, const AttentionSupport& support);
bool register_attention_backward_suite(const std::string& implementation,
                                       const AttentionSupport& support);

}  // namespace ladder::testing
