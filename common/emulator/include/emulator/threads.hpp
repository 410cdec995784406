// CUDA's language extensions: qualifiers, built-in variables, shared memory and barriers.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "emulator/site.hpp"
#include "emulator/vector_types.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// The rewriter inserts a check into the kernel's body.
#define __launch_bounds__(...)
// The rewriter removes every use that it sees.
#define __shared__                                                                      \
  _Pragma(                                                                              \
      "GCC error \"__shared__ in a file that emulator_sources() did not rewrite: keep " \
      "shared variables in the .cu file\"")

inline constexpr int warpSize = 32;
inline constinit thread_local uint3 threadIdx = {0, 0, 0};
inline constinit thread_local uint3 blockIdx = {0, 0, 0};
inline constinit thread_local dim3 blockDim;
inline constinit thread_local dim3 gridDim;

namespace emulator {

// Called when the last participant of a collective arrives. `data` holds the pointer that each
// one passed, by lane or by linear thread index; null without a participant. The function may read
// and write through all of them, because the participants wait until it returns.
using Complete = void (*)(void* const* data, unsigned count);

// Blocks until every living lane of `mask` calls the same operation with the same mask. `name`
// identifies the operation and appears in reports. All warp-wide operations are built on this.
void warp_collective(const char* name, unsigned mask, Complete complete, void* data,
                     emulator::Site where);

// Blocks until every thread of the block calls it from the same source line.
void block_collective(const char* name, Complete complete, void* data, emulator::Site where);

// Lanes of the calling warp that have not returned.
unsigned living_lanes();

// Records an error of the calling thread and abandons its block without running the kernel's
// destructors.
[[noreturn]] void fail_in_kernel(const char* sentence, emulator::Site where);

// A __shared__ variable with its name in the source, for an observer (observer.hpp).
struct SharedName {
  const char* name;
  const void* begin;
  std::size_t element_bytes;
  std::array<std::size_t, 3> extents;  // then 0; a dynamic array's first is unknown, here 1
};

namespace detail {

void* static_shared(const void* site, std::size_t bytes, std::size_t alignment,
                    emulator::Site where);
void* dynamic_shared(std::size_t alignment, emulator::Site where);

void name_shared(const SharedName& name);

template <typename Variable>
Variable& named_shared(const char* name, Variable& variable) {
  name_shared(
      {name,
       &variable,
       sizeof(std::remove_all_extents_t<Variable>),
       {std::extent_v<Variable, 0>, std::extent_v<Variable, 1>, std::extent_v<Variable, 2>}});
  return variable;
}

// A kernel with __launch_bounds__ begins with this call, which fails the launch if its blocks have
// more threads.
void check_launch_bounds(unsigned threads, unsigned blocks = 0, unsigned cluster = 0,
                         emulator::Site where = emulator::Site::current());

template <typename Variables>
inline constexpr char kSite = 0;

template <typename Variables>
Variables& static_shared(emulator::Site where = emulator::Site::current()) {
  static_assert(std::is_trivially_destructible_v<Variables>,
                "a __shared__ variable needs a trivial destructor");
  return *static_cast<Variables*>(
      static_shared(&kSite<Variables>, sizeof(Variables), alignof(Variables), where));
}

template <typename Array, std::size_t alignment>
auto* dynamic_shared(const char* name, emulator::Site where = emulator::Site::current()) {
  return named_shared(name, *static_cast<Array*>(dynamic_shared(alignment, where)));
}

struct Vote {
  int predicate;
  int result;
};
void no_result(void* const*, unsigned);
void count_votes(void* const* votes, unsigned count);

inline int block_vote(const char* name, int predicate, emulator::Site where) {
  Vote vote{predicate != 0, 0};
  block_collective(name, count_votes, &vote, where);
  return vote.result;
}

}  // namespace detail
}  // namespace emulator

inline void __syncthreads(emulator::Site where = emulator::Site::current()) {
  emulator::block_collective("__syncthreads", emulator::detail::no_result, nullptr, where);
}
inline int __syncthreads_count(int predicate, emulator::Site where = emulator::Site::current()) {
  return emulator::detail::block_vote("__syncthreads_count", predicate, where);
}
inline int __syncthreads_or(int predicate, emulator::Site where = emulator::Site::current()) {
  return emulator::detail::block_vote("__syncthreads_or", predicate, where) != 0;
}
inline int __syncthreads_and(int predicate, emulator::Site where = emulator::Site::current()) {
  return emulator::detail::block_vote("__syncthreads_and", predicate == 0, where) == 0;
}

[[noreturn]] inline void __trap(emulator::Site where = emulator::Site::current()) {
  emulator::fail_in_kernel("__trap()", where);
}
