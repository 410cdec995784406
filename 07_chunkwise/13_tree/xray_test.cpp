#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

const bool bounds = ladder::testing::register_bounds(
    "wkv_tree", "wkv", {{"B", 2}, {"T", 37}, {"H", 3}, {"K", 64}, {"V", 64}}, {}, {"bf16"});

}  // namespace
