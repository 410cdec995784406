// Decoding on the host, with the limits of the grid, the number of splits, and the memory of the
// two launches.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "08_flash_attention/decode_rows.hpp"
#include "08_flash_attention/decode_tile.hpp"
#include "08_flash_attention/partial_results.hpp"
#include "08_flash_attention/split_plan.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"

namespace flash_attention::decode {

constexpr std::int64_t kMaxRows = 1 << 18, kMaxHeads = 65535;

inline void require_countable(const char* who, bool is_allowed, const std::string& what,
                              std::int64_t most) {
  ladder::require(is_allowed, what + "; " + who + " allows up to " + std::to_string(most));
}

// The rows of a kv head. `who` is the implementation, for the error message.
template <typename Args>
Rows rows_of(const char* who, const Args& args) {
  const std::int64_t group = args.H_q / args.H_kv, count = args.T_q * group;
  require_countable(who, count <= kMaxRows, "T_q * H_q / H_kv is " + std::to_string(count),
                    kMaxRows);
  require_countable(who, args.B <= kMaxHeads && args.H_kv <= kMaxHeads,
                    "B is " + std::to_string(args.B) + " and H_kv " + std::to_string(args.H_kv),
                    kMaxHeads);
  return {static_cast<int>(group), static_cast<int>(count),
          static_cast<int>((count + kRows - 1) / kRows)};
}

// For sequences of `keys` keys with `tiles` tiles of rows in all. With `is_one_each` a sequence has
// one tile.
template <int kD, typename Kernel, typename Args>
std::int64_t planned_splits(Kernel* kernel, const Args& args, std::int64_t keys, std::int64_t tiles,
                            bool is_one_each) {
  using C = Cut<kD>;
  Places places{.multiprocessors = ladder::cuda::multiprocessor_count()};
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&places.blocks_each, kernel, C::kThreads,
                                                           C::kBytes));
  if (args.window > 0 && args.window < keys)  // the windows of a tile's rows together
    keys = std::min(keys, args.window + std::min<std::int64_t>(args.T_q, kRows) - 1);
  const bool one_is_enough = is_one_each && C::kWarps == 4;
  return split_plan(keys, (args.D + args.D_v) / 2, args.B * args.H_kv * tiles,
                    one_is_enough ? places : places.as_one_round());
}

// A block per tile of rows, kv head, split and batch.
template <typename Args>
dim3 attend_grid(const Args& args, const Rows& rows, std::int64_t splits) {
  return {static_cast<unsigned>(rows.tiles) * static_cast<unsigned>(args.H_kv),
          static_cast<unsigned>(splits), static_cast<unsigned>(args.B)};
}
// A block per row.
template <typename Args>
dim3 merge_grid(const Args& args, const Rows& rows) {
  return {static_cast<unsigned>(rows.count), static_cast<unsigned>(args.H_kv),
          static_cast<unsigned>(args.B)};
}

// Memory for the splits' results, if there are several splits.
template <int kD>
struct PartialsScratch {
  std::int64_t kept;  // rows of all splits
  ladder::cuda::Scratch<float4> acc;
  ladder::cuda::Scratch<float2> statistics;

  template <typename Args>
  PartialsScratch(const Args& args, const Rows& rows, std::int64_t splits)
      : kept(splits > 1 ? args.B * args.H_kv * rows.count * splits : 0),
        acc(kept * (kD / 4)),
        statistics(kept) {}

  Partials partials() const { return {acc.pointer(), statistics.pointer()}; }
  // Marks all rows with kNobody, because some may be in no packed sequence.
  void mark_all() const {
    if (kept == 0) return;
    CUDA_CHECK(
        cudaMemsetAsync(statistics.pointer(), 0xff, kept * sizeof(float2), ladder::cuda::stream()));
  }
};

// launch.template operator()<kD>() with the narrowest tile that fits.
template <typename Launch>
void launch_width(std::int64_t columns, const Launch& launch) {
  if (columns <= 32) return launch.template operator()<32>();
  if (columns <= 64) return launch.template operator()<64>();
  if (columns <= 96) return launch.template operator()<96>();
  if (columns <= 128) return launch.template operator()<128>();
  launch.template operator()<256>();
}

}  // namespace flash_attention::decode
