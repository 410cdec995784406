#include <cstdint>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

// 21 queries of two heads are a tile each, and 37 keys of one head are two.
const ladder::Shape kShape{{"B", 1},  {"T", 37},   {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds = ladder::testing::register_bounds(
    "attention_backward_scalar", "attention_backward", kShape, {}, {"fp32", "bf16"});

// For each element of dq, of which there are 2 * 21 * 64, the loads are
// - d_o and o for delta,
// - if keys are kept, k and v for each of two query heads, q and d_o for each of two tiles of keys,
// - if queries are kept, q and d_o once, k and v for each query head,
// - lse and delta for each score, in both.
// The stores are dq, dk, dv, and delta. The barriers are 3 for each head in both blocks if keys are
// kept, and 5 in both if queries are kept.
constexpr double kOfKeys = 37.0 / 21;
const bool registered = ladder::testing::register_budget(
    "attention_backward_scalar", "attention_backward",
    {.loads = 2 + (2 * kOfKeys + 2 * 2) + (2 + 2 * kOfKeys) + 2 * 2 * 37.0 / 64,
     .stores = 1 + kOfKeys + 1.0 / 64,
     .atomics = 0,
     .counts = {{kBarriers, 2 * 2 * 3 + 2 * 5, "launch", 1}}},
    kShape);

}  // namespace
