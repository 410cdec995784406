// The arguments that lessons 20 and 20d accept, and the version of their kernels for them.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "07_chunkwise/gradient_chunk.hpp"
#include "07_chunkwise/gradient_kernels.hpp"
#include "common/core/errors.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

// Kernels count steps and channels in ints. A grid's y is at most 65535, one for each tile of a
// state.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = 65535, kMostTiles = 65535;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // per step, all heads, in q or v

template <typename Element, typename LogW>
bool is_aligned(const BasicWkvGradArgs<Element, LogW>& args) {
  const auto off = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  constexpr std::int64_t kUnit = 16 / sizeof(Element);
  return forward.K % kUnit == 0 && forward.V % kUnit == 0 && !off(forward.q) && !off(forward.k) &&
         !off(forward.v) && !off(forward.log_w) && !off(args.d_o) && !off(args.dq) &&
         !off(args.dk) && !off(args.dv) && !off(args.d_log_w);
}

template <typename Element, typename LogW>
void require_limits(const BasicWkvArgs<Element, LogW>& args) {
  const auto refuse_unless = [](bool condition, const std::string& what, const char* allowed) {
    ladder::require(condition, what + "; chunkwise backward allows " + allowed);
  };
  const auto is = [](const char* name, std::int64_t size) {
    return std::string(name) + " is " + std::to_string(size);
  };
  refuse_unless(args.T <= kMostSteps, is("T", args.T), "up to 2^30 = 1073741824");
  refuse_unless(args.K <= kMostChannels, is("K", args.K), "up to 65535");
  refuse_unless(args.V <= kMostChannels, is("V", args.V), "up to 65535");
  const auto tiles = [](std::int64_t size) { return (size + kSide - 1) / kSide; };
  refuse_unless(tiles(args.K) * tiles(args.V) <= kMostTiles,
                is("K", args.K) + " and " + is("V", args.V),
                "K / 64 * V / 64 up to 65535, both quotients rounded up");
  refuse_unless(args.H <= kMostElements / args.K && args.H <= kMostElements / args.V,
                is("H", args.H), "H * K and H * V up to 2^30 = 1073741824");
  refuse_unless(args.B <= INT32_MAX / args.H / (args.T / kSide + 1), is("B", args.B),
                "B * H * (T / 64 + 1) up to 2^31 - 1");
  // With several tiles of K a kernel adds their dv, with one thread per element.
  const std::int64_t elements = args.B * args.T * args.H * args.V;
  refuse_unless(tiles(args.K) == 1 || elements <= std::int64_t{INT32_MAX} * kSumThreads,
                is("B * T * H * V", elements), "up to 2^39 - 2^8 where K is above 64");
}

// Calls launch(kAligned, kRests), whose arguments are constants.
template <typename Element, typename LogW, typename Launch>
void choose_version(const BasicWkvGradArgs<Element, LogW>& args, Launch launch) {
  require_limits(args.forward);
  const auto choose_rests = [&](auto aligned) {
    if constexpr (sizeof(LogW) > sizeof(Element)) {
      if (has_decay_per_head(args.forward)) return launch(aligned, std::true_type());
    }
    launch(aligned, std::false_type());
  };
  if (is_aligned(args)) return choose_rests(std::true_type());
  choose_rests(std::false_type());
}

}  // namespace chunkwise::backward
