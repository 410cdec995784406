// The shared suites: a chapter's test.cpp names its implementation and what it supports, and gets every test
// that can be asked of it. Each test runs under every schedule of the implementation's device.
//
//   const bool registered = ladder::testing::register_wkv_suite("wkv_naive", {});
#pragma once

#include <string>
#include <vector>

#include "common/core/problem.hpp"
#include "common/core/registry.hpp"

namespace ladder::testing {

struct WkvSupport {
  bool square_heads_only = false;  // K = V in {4, 32, 64, 100, 128, 256}
  bool states = true;              // initial and final state
  bool reverse = true;
  bool repeatable = true;  // the same input twice gives the same bits
  bool bf16 = false;       // also stored in bf16, with log_w in bf16 and in fp32
};

// The cases for CI, pairwise; with LADDER_ALL_CASES=1 in the environment every combination.
std::vector<WkvCase> wkv_cases(const WkvSupport& support);

// Registers with GoogleTest and returns true.
bool register_wkv_suite(const std::string& implementation, const WkvSupport& support);

struct LinearAttentionSupport {
  bool causal_dot_product_only =
      false;  // causal, identity feature map, no normaliser, T_q = T_k, no key lengths
  bool repeatable = true;
};

std::vector<LinearAttentionCase> linear_attention_cases(const LinearAttentionSupport& support);

bool register_linear_attention_suite(const std::string& implementation,
                                     const LinearAttentionSupport& support);

// For a chapter's own tests: skips (or, with LADDER_REQUIRE_GPU=1, fails) where the device is missing. Returns true
// if the test must not go on.
bool device_is_missing(const Implementation& implementation);

}  // namespace ladder::testing
