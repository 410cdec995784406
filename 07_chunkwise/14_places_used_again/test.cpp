#include <gtest/gtest.h>

#include "07_chunkwise/decays_between.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

// Units of 16 tokens, stages of 64.
const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_places_used_again",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 16, 17, 65, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"K", 64}, {"V", 64}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});

KERNEL_TEST(wkv_places_used_again, SeesEachKeyThroughTheDecaysBetween) {
  chunkwise::expect_decays_between("wkv_places_used_again");
}

}  // namespace
