#include <gtest/gtest.h>

#include "common/testing/suite.hpp"

namespace {

const ladder::testing::WkvSupport kSupport{.fp32 = false,
                                           .bf16 = true,
                                           .packed = true,
                                           .lengths = {0, 1, 17, 64, 130},
                                           .K_sizes = {16, 64, 100},
                                           .V_sizes = {16, 48, 64}};
const bool wkv = ladder::testing::register_wkv_suite("wkv_chunkwise", kSupport);
const bool gla = ladder::testing::register_gla_suite("wkv_chunkwise", kSupport);

}  // namespace
