#include <gtest/gtest.h>

#include "07_chunkwise/refused_states.hpp"
#include "common/testing/suite.hpp"

namespace {

// Chunks of 16 steps.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_chunk_gradients",
    {.sizes = {{"T", {0, 1, 16, 35}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

TEST(wkv_chunk_gradients, RefusesGradientsOfStates) {
  chunkwise::expect_gradients_of_states_refused("wkv_chunk_gradients");
}

}  // namespace
