#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Less than a warp, a partial block, exactly a block of vectors, several blocks.
bool register_sum(const char* name, bool repeatable, const std::vector<ladder::Border>& borders) {
  return ladder::testing::register_suite("sum", name,
                                         {.repeatable = repeatable,
                                          .sizes = {{"N", {1037, 1, 3, 32, 255, 256, 1024, 5003}}},
                                          .borders = borders});
}

// An iteration of the grid covers 8 blocks of 256 vectors per SM. Threads with four vectors and
// more keep four loads in flight.
constexpr std::int64_t kBlock = 256 * 4, kTurn = 2 * 8 * kBlock;
const ladder::Border kTurns{
    .size = "N", .at = {kTurn, 3 * kTurn, 4 * kTurn}, .step = 4, .multiprocessors = 2};
// The second pass has one block, and its second iteration begins with the sum of block 1025.
const ladder::Border kSecondPass{.size = "N", .at = {kBlock * kBlock}, .step = 4};

// Atomic additions come in any order, and each order rounds in its own way.
const bool registered = register_sum("sum_atomic", false, {}) &&
                        register_sum("sum_tree", false, {}) &&
                        register_sum("sum_shuffle", false, {kTurns}) &&
                        register_sum("sum_two_passes", true, {kTurns, kSecondPass});

using warmup::register_hole;

const bool holes[] = {register_hole("sum_tree", "Hole1AddsUpBlocks", "sum", {{"N", 1037}}),
                      register_hole("sum_shuffle", "Hole2AddsUpWarps", "sum", {{"N", 1037}})};

}  // namespace
