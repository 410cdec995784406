#include "common/testing/xray.hpp"
#include "common/operators/attention/operator.hpp"

namespace {

using namespace emulator::xray;

const ladder::Shape kShape{{"B", 1},   {"T", 140},  {"H", 2},   {"K", 128},
                           {"V", 128}, {"T_q", 70}, {"H_kv", 1}};

const bool bounds = ladder::testing::register_bounds("attention_backward_two_kernels",
                                                     "attention_backward", kShape, {}, {"bf16"});

// Tiles of 64, three of keys of one head, and two of queries of each of two heads, so that four are
// streamed past three tiles of keys. Vectors hold eight elements. For a tile of queries 128
// numbers, lse and delta, are kept.
constexpr double kElements = 2 * 70 * 128, kUnits = kElements / 8, kKeyUnits = 140 * 128 / 8;

// The loads are d_o and o once for delta, and lse by the eight lanes of a row. If keys are kept,
// they are k and v once, q and d_o for three tiles, and the numbers four at once. If queries are
// kept, in blocks of 128, they are q and d_o once, k and v for each head, and four numbers per
// thread. Stores write two elements at once. Barriers are two for each pair of tiles if keys are
// kept, one if queries are kept. Each pair needs four products of 64 x 64 x 128, and three of 128 x
// 64 x 128.
const bool registered = ladder::testing::register_budget(
    "attention_backward_two_kernels", "attention_backward",
    {.loads = (2 * kUnits + 2 * 70 * 8 + 2 * kKeyUnits + 3 * 2 * kUnits + 3 * 4 * 128 / 4 +
               2 * kUnits + 2 * 2 * kKeyUnits + 2 * 256 * 4) /
              kElements,
     .stores = (kElements / 2 + 2 * 140 * 128 / 2 + 4 * 128) / kElements,
     .atomics = 0,
     .counts = {{kBarriers, 2 * 3 * 4 + 2 * 3, "launch", 1},
                {kTensorOperations, 3 * 4 * 4 * 256 + 2 * 3 * 3 * 512, "launch", 1}}},
    kShape, {}, {}, "bf16");

}  // namespace
