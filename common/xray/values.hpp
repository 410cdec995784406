// The values that a kernel stores and the elements that it loads, in order. Comparing those of two
// equivalent kernels finds the first wrong value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

// One element of an array that a thread loads or stores.
struct ValueTouch {
  Operation operation;
  std::uint32_t launch;   // counted from 0
  std::uint64_t block;    // linear
  std::uint32_t thread;   // in the block, linear
  std::uint32_t place;    // index into Values::places, once taken
  std::uint32_t array;    // index into Values::arrays
  std::uint64_t element;  // a 4-byte word if elements are larger than 4 bytes
  std::uint64_t bits;     // the value after a store or an atomic, or before a load
};

// A thread's read of another lane by a shuffle.
struct LaneTake {
  std::uint32_t launch;
  std::uint64_t block;
  std::uint32_t thread;
  std::uint32_t place;
  std::uint32_t source;  // a lane of the thread's warp
  std::uint64_t after;   // the number of touches before it
};

// The last position of a thread before it returned.
struct ThreadEnd {
  std::uint32_t launch;
  std::uint64_t block;
  std::uint32_t thread;
  std::array<std::uint32_t, 4> places;  // its last basic blocks, newest first
};

struct ValuePlace {
  // As in Party.
  Source where;
  std::vector<Source> called_at;
};

struct ValueLaunch {
  std::string kernel;
  dim3 grid, block;
};

struct Values {
  struct Array {
    std::string name;
    std::size_t element_bytes;
    bool shared;
    std::string axes;  // as in MemoryName; for a __shared__ variable "[]=16 []=17"

    std::size_t word() const { return element_bytes > 4 ? 4 : element_bytes; }
  };
  std::vector<Array> arrays;
  std::vector<ValueLaunch> launches;
  std::vector<ValuePlace> places;
  std::vector<ValueTouch> touches;  // loads: a block's first one of an element
  bool complete = true;             // false: those past kMostValues are lost
  std::vector<LaneTake> takes;
  bool all_takes = true;        // false: those past kMostValues are lost
  std::vector<ThreadEnd> ends;  // of the first kMostValues threads
};

constexpr std::size_t kMostValues = 1'000'000;

// A compiler's hook precedes its store, so the value is read at the next event.
class ValueLog {
 public:
  void launch_starts(const ValueLaunch& launch);
  void block_starts();
  // `from` is the first byte of the array, which contains the whole access.
  void touched(const ValueTouch& touch, const Values::Array& array, std::uintptr_t from,
               std::uintptr_t address, unsigned bytes);
  void settle();
  void taken(LaneTake take);
  void ended(ThreadEnd end);

  Values values;

 private:
  void keep(const ValueTouch& touch);

  std::unordered_map<std::string, std::uint32_t> index_;  // of arrays, by name
  std::unordered_set<std::uint64_t> read_;                // by this block
  std::vector<std::pair<ValueTouch, const void*>> pending_;
};

}  // namespace emulator::xray
