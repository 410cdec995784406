// Decoding, the number of splits of the keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace flash_attention {

// The blocks that can run at once.
struct Places {
  int multiprocessors = 1;
  int blocks_each = 1;

  // For kernels whose one block per SM does not saturate memory, because its warps are few, or
  // because several tiles of queries read the same keys, mostly from L2.
  Places as_one_round() const { return {multiprocessors * blocks_each, 1}; }
};

// The number of splits of each batch's keys, 1 or more, that minimises the time of `tiles` tiles of
// queries, each of which sees up to `keys` keys of D channels. See 20_split_keys/README.md for the
// rule and the measurements it was fitted to.
//
// The cost of each candidate is in elements of k that a block reads in that time when all SMs read
// at once, one block each.
inline std::int64_t split_plan(std::int64_t keys, std::int64_t D, std::int64_t tiles,
                               Places places) {
  constexpr double kFirstStart = 70 * 128;  // of blocks that start while none reads
  constexpr double kStart = 30 * 128;       // start and end of every block
  constexpr double kMerge = 150 * 128;      // the second kernel
  constexpr double kMergedSplit = 128;      // its time per split
  constexpr double kEnough = 0.9;           // this share of the SMs saturates memory
  constexpr double kUneven = 1.12;          // if some SMs have a block more than others
  constexpr std::int64_t kKeysAtOnce = 64;  // per block
  constexpr std::int64_t kMoreSplits = 16;  // more than fit at once, to even out the last blocks
  const double multiprocessors = places.multiprocessors, blocks_each = places.blocks_each;
  const std::int64_t at_once = std::int64_t{places.multiprocessors} * places.blocks_each;
  const std::int64_t most =
      std::min((keys + kKeysAtOnce - 1) / kKeysAtOnce, at_once / tiles + kMoreSplits);

  std::int64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    const std::int64_t blocks = tiles * splits;
    double rounds = blocks_each * static_cast<double>(blocks / at_once);
    const double rest = static_cast<double>(blocks % at_once) / multiprocessors;
    if (rest > 1.0)
      rounds += std::min(kUneven * rest, blocks_each);
    else if (rest > 0.0)
      rounds += std::max(rest, kEnough);

    const std::int64_t turns = (keys + splits * kKeysAtOnce - 1) / (splits * kKeysAtOnce);
    double cost = rounds * (static_cast<double>(turns * kKeysAtOnce * D) + kStart);
    cost += std::min(rounds, blocks_each) * kFirstStart;
    if (splits > 1)
      cost += (1.0 + static_cast<double>(tiles) / static_cast<double>(at_once)) *
              (kMerge + kMergedSplit * static_cast<double>(splits));
    if (cost < least) best = splits, least = cost;
  }
  return best;
}

}  // namespace flash_attention
