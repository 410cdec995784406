#include "common/testing/suite.hpp"

namespace {

// By count K = 4100 is split, the others are not.
const bool registered = ladder::testing::register_suite(
    "int4_matmul", "int4_tuned",
    {.repeatable = false,
     .sizes = {{"M", {3, 1}}, {"N", {36, 37}}, {"K", {4100, 1, 64}}, {"GROUP", {32, 8192}}},
     .options = {{"symmetric", {"false", "true"}}}});

}  // namespace
