// Shared by the tests of lessons 18b to 18d, the steps to attention's gradients on Hopper.
#pragma once

#include <cstdint>
#include <string>

#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace flash_attention {

inline void expect_right_gradients(const char* name, ladder::AttentionCase c) {
  c.D = 128;
  c.precision = ladder::Precision::kBf16;
  ladder::testing::expect_right(ladder::find_implementation(name), ladder::AttentionGradProblem(c));
}

// A case for each stage of scratch_sm90.cu. The loop that checks an exercise reports the stage for
// which one fails. The first case uses two query heads for one key head, with two tiles of keys, so
// a block has four steps. The next three use a partial tile of keys and `queries` queries. The last
// uses two batches.
inline bool register_gradient_stages(const char* name, const std::string (&stages)[5],
                                     std::int64_t queries) {
  const ladder::Shape two_heads = {{"B", 1},   {"T", 130},  {"H", 2},   {"K", 128},
                                   {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
  const ladder::Shape ragged = {{"B", 1},   {"T", 40},        {"H", 1},   {"K", 128},
                                {"V", 128}, {"T_q", queries}, {"H_kv", 1}};
  const ladder::Shape two_batches = {{"B", 2},   {"T", 20},   {"H", 2},   {"K", 128},
                                     {"V", 128}, {"T_q", 30}, {"H_kv", 1}};
  int n = 0;
  for (const ladder::Shape* shape : {&two_heads, &ragged, &ragged, &ragged, &two_batches}) {
    ladder::testing::register_hole(name, stages[n++], "attention_backward", *shape, {}, {}, "bf16");
  }
  return true;
}

}  // namespace flash_attention
