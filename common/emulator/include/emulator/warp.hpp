// Warp operations. Lanes that have returned, or that a partial last warp does not have, are not
// waited for. A shuffle from one of them reads 0xFF bytes (NaN).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulator/site.hpp"
#include "emulator/threads.hpp"

namespace emulator::detail {

unsigned lane();

struct Shuffle {
  std::uint64_t value;
  unsigned source;
  std::uint64_t result;
  const char* name;
  unsigned mask;
  emulator::Site where;
};
void complete_shuffle(void* const* lanes, unsigned count);

struct Ballot {
  bool predicate;
  unsigned result;
};
void complete_ballot(void* const* lanes, unsigned count);

template <typename T>
struct Reduction {
  T value;
  T result;
};

template <typename T, typename Operation>
void complete_reduction(void* const* lanes, unsigned count) {
  const auto at = [&](unsigned lane) { return static_cast<Reduction<T>*>(lanes[lane]); };
  bool first = true;
  T total{};
  for (unsigned lane = 0; lane < count; ++lane) {
    if (lanes[lane] == nullptr) continue;
    total = first ? at(lane)->value : Operation()(total, at(lane)->value);
    first = false;
  }
  for (unsigned lane = 0; lane < count; ++lane) {
    if (lanes[lane] != nullptr) at(lane)->result = total;
  }
}

template <typename T, typename Operation>
T reduce(const char* name, unsigned mask, T value, Operation, emulator::Site where) {
  Reduction<T> reduction{value, value};
  warp_collective(name, mask, complete_reduction<T, Operation>, &reduction, where);
  return reduction.result;
}

template <typename T>
T shuffle(const char* name, unsigned mask, T value, unsigned source, emulator::Site where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
  Shuffle shuffle{0, source, 0, name, mask, where};
  std::memcpy(&shuffle.value, &value, sizeof(T));
  warp_collective(name, mask, complete_shuffle, &shuffle, where);
  std::memcpy(static_cast<void*>(&value), &shuffle.result, sizeof(T));
  return value;
}

// The calling lane and its section of `width` lanes, [first, last].
struct Section {
  unsigned lane;
  unsigned first;
  unsigned last;
};
inline Section section(int width, emulator::Site where) {
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    fail_in_kernel("a shuffle's width must be 1, 2, 4, 8, 16 or 32", where);
  }
  const unsigned lanes = static_cast<unsigned>(width);
  const unsigned own = lane();
  const unsigned first = own & ~(lanes - 1);
  return {own, first, first + lanes - 1};
}

inline unsigned ballot(const char* name, unsigned mask, int predicate, emulator::Site where) {
  Ballot ballot{predicate != 0, 0};
  warp_collective(name, mask, complete_ballot, &ballot, where);
  return ballot.result;
}

}  // namespace emulator::detail

#define EMULATOR_HERE emulator::Site where = emulator::Site::current()

inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_HERE) {
  emulator::warp_collective("__syncwarp", mask, emulator::detail::no_result, nullptr, where);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATOR_HERE) {
  const auto section = emulator::detail::section(width, where);
  const unsigned lane =
      section.first + (static_cast<unsigned>(source) & (section.last - section.first));
  return emulator::detail::shuffle("__shfl_sync", mask, value, lane, where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATOR_HERE) {
  const auto section = emulator::detail::section(width, where);
  const unsigned source =
      delta <= section.lane - section.first ? section.lane - delta : section.lane;
  return emulator::detail::shuffle("__shfl_up_sync", mask, value, source, where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATOR_HERE) {
  const auto section = emulator::detail::section(width, where);
  const unsigned source =
      delta <= section.last - section.lane ? section.lane + delta : section.lane;
  return emulator::detail::shuffle("__shfl_down_sync", mask, value, source, where);
}
// As documented, a source in an earlier section is read. A later one gives the lane's own value.
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, EMULATOR_HERE) {
  const auto section = emulator::detail::section(width, where);
  const unsigned source = section.lane ^ static_cast<unsigned>(lane_mask);
  return emulator::detail::shuffle("__shfl_xor_sync", mask, value,
                                   source <= section.last ? source : section.lane, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_HERE) {
  return emulator::detail::ballot("__ballot_sync", mask, predicate, where);
}
inline int __any_sync(unsigned mask, int predicate, EMULATOR_HERE) {
  return emulator::detail::ballot("__any_sync", mask, predicate, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATOR_HERE) {
  return emulator::detail::ballot("__all_sync", mask, predicate == 0, where) == 0;
}

// CUDA guarantees only the calling lane, because lanes need not be converged.
inline unsigned __activemask() {
  return 1u << emulator::detail::lane();
}

#define EMULATOR_REDUCE(name, T, expression)                                             \
  inline T name(unsigned mask, T value, EMULATOR_HERE) {                                 \
    return emulator::detail::reduce(                                                     \
        #name, mask, value, [](T a, T b) { return static_cast<T>(expression); }, where); \
  }
EMULATOR_REDUCE(__reduce_add_sync, unsigned, a + b)
EMULATOR_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
EMULATOR_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
EMULATOR_REDUCE(__reduce_and_sync, unsigned, (a & b))
EMULATOR_REDUCE(__reduce_or_sync, unsigned, (a | b))
EMULATOR_REDUCE(__reduce_xor_sync, unsigned, (a ^ b))
EMULATOR_REDUCE(__reduce_add_sync, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
EMULATOR_REDUCE(__reduce_min_sync, int, a < b ? a : b)
EMULATOR_REDUCE(__reduce_max_sync, int, a < b ? b : a)
#undef EMULATOR_REDUCE
#undef EMULATOR_HERE

// The error for a call without its mask, which has too few arguments or no integer as the first.
#define EMULATOR_NEEDS_MASK(name, least)                                                      \
  template <typename First, typename... Rest>                                                 \
  requires(sizeof...(Rest) + 1 < least || !std::is_integral_v<First>) First name(First first, \
                                                                                 Rest...) {   \
    static_assert(emulator::detail::kNever<First>,                                            \
                  #name " begins with the mask of the lanes that take part: " #name           \
                        "(0xffffffff, ...)");                                                 \
    return first;                                                                             \
  }
EMULATOR_NEEDS_MASK(__shfl_sync, 3)
EMULATOR_NEEDS_MASK(__shfl_up_sync, 3)
EMULATOR_NEEDS_MASK(__shfl_down_sync, 3)
EMULATOR_NEEDS_MASK(__shfl_xor_sync, 3)
EMULATOR_NEEDS_MASK(__ballot_sync, 2)
EMULATOR_NEEDS_MASK(__any_sync, 2)
EMULATOR_NEEDS_MASK(__all_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_add_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_min_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_max_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_and_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_or_sync, 2)
EMULATOR_NEEDS_MASK(__reduce_xor_sync, 2)
#undef EMULATOR_NEEDS_MASK
