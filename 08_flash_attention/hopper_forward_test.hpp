// Shared by the tests of lessons 12 to 14, the steps to Hopper's forward kernel.
#pragma once

#include <cstdint>

#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace flash_attention {

inline void expect_right_forward(const char* name, ladder::AttentionCase c) {
  c.precision = ladder::Precision::kBf16;
  ladder::testing::expect_right(ladder::find_implementation(name), make_problem(c));
}

// For scratch_sm90.cu, a case in bf16. The loop that checks an exercise reports the stage for which
// one fails.
inline bool register_stage(const char* name, const char* stage, const ladder::Shape& shape) {
  return ladder::testing::register_hole(name, stage, "attention", shape, {}, {}, "bf16");
}

// Two panels for two heads that share their keys.
inline ladder::Shape two_heads(std::int64_t keys) {
  return {{"B", 1}, {"T", keys}, {"H", 2}, {"K", 128}, {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
}
// Two tiles, of which the second has 12 keys, for two consumers.
inline const ladder::Shape kTwoWarpgroups = {{"B", 1},   {"T", 140},  {"H", 1},   {"K", 128},
                                             {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
inline ladder::Shape three_warpgroups(std::int64_t keys) {
  return {{"B", 1}, {"T", keys}, {"H", 1}, {"K", 64}, {"V", 64}, {"T_q", 130}, {"H_kv", 1}};
}
// Two blocks of queries, in two batches.
inline const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 20},    {"H", 2},   {"K", 64},
                                         {"V", 64}, {"T_q", 200}, {"H_kv", 1}};

}  // namespace flash_attention
