#include "common/testing/suite.hpp"

namespace {

// K and N that are multiples of 4 are read 16 bytes at a time, others are not.
bool register_step(const char* implementation) {
  return ladder::testing::register_suite(
      "matmul", implementation,
      {.sizes = {{"M", {37, 1, 128}}, {"N", {132, 1, 128, 30}}, {"K", {20, 1, 19, 24, 12}}},
       .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
       .borders = {{.size = "M", .at = {128, 256}},
                   {.size = "N", .at = {128, 256}},
                   {.size = "M", .at = {128, 256}, .others = {{"N", 8}, {"K", 8}}},
                   {.size = "N", .at = {128, 256}, .others = {{"K", 8}}, .step = 4},
                   {.size = "K", .at = {8, 16}},
                   {.size = "K", .at = {8, 16}, .others = {{"N", 8}}, .step = 4}}});
}

const bool steps_registered =
    register_step("matmul_wide_loads") && register_step("matmul_double_buffer");

}  // namespace
