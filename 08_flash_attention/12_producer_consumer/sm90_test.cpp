#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;

void expect_right(const AttentionCase& c) {
  ladder::testing::expect_right<ladder::Attention>(
      ladder::find_implementation("attention_producer"), make_problem(c));
}

// Five tiles of two panels: each stage is filled again, the first one twice. The second head of two shares the keys of the first.
KERNEL_TEST(attention_producer, Hole1FillsAStageWhenItIsRead) {
  expect_right(
      {.T_q = 70, .T_k = 600, .H_q = 2, .H_kv = 1, .D = 128, .precision = Precision::kBf16});
}

// Five tiles, three consumers, the last one with two queries.
KERNEL_TEST(attention_producer, Hole2GivesTheStageBack) {
  expect_right({.T_q = 130, .T_k = 600, .D = 64, .precision = Precision::kBf16});
}

const bool registered = ladder::testing::register_suite(
    "attention", "attention_producer",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .refuses = {"packed", "key_lengths"},
     .nan_tile = 128,
     // Keys in tiles of 128; queries in tiles of 192 with 64 channels, of 128 with 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T_q", .at = {64, 192}},
                 {.size = "T_q", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_producer",
    {.packed = false, .key_lengths = false, .limits = {"B", "H_q", "T_q", "T_k"}});

}  // namespace
