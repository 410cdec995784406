#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

namespace {

// The kernel's own text, with other numbers of stages. A few cases suffice, with one in which a
// fifth tile uses the first of four stages again.
bool register_depth(const char* implementation) {
  return ladder::testing::register_suite(
             "matmul", implementation,
             {.storages = {"bf16"},
              .sizes = {{"M", {9, 1}}, {"N", {10, 1}}, {"K", {130, 1}}},
              .options = {{"with_bias", {"false"}}, {"relu", {"false"}}}}) &&
         warmup::register_hole(implementation, "UsesAStageAgain", "matmul",
                               {{"M", 75}, {"N", 70}, {"K", 265}}, {}, {}, "bf16");
}

const bool depths_registered =
    register_depth("matmul_one_stage") && register_depth("matmul_two_stages") &&
    register_depth("matmul_three_stages") && register_depth("matmul_four_stages");

}  // namespace
