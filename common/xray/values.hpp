// The values that a kernel stores and the elements that it reads, in the order of its run: what two kernels that compute the same are
// compared by, to find where the first value goes wrong.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

// One element of an array, as one thread reads or stores it.
struct ValueTouch {
  Operation operation;
  std::uint32_t launch;   // counted from 0
  std::uint64_t block;    // linear
  std::uint32_t thread;   // of the block, linear
  std::uint32_t place;    // index into Values::places, once they are taken
  std::uint32_t array;    // index into Values::arrays
  std::uint64_t element;  // of an array whose elements are larger than 4 bytes: the word of 4
  std::uint64_t bits;     // what it holds after a store or an atomic, or before a load
};

// What a thread asks for by a shuffle.
struct LaneTake {
  std::uint32_t launch;
  std::uint64_t block;
  std::uint32_t thread;
  std::uint32_t place;
  std::uint32_t source;  // a lane of its warp
  std::uint64_t after;   // how many touches come before it
};

// Where a thread was last before it came to the kernel's end.
struct ThreadEnd {
  std::uint32_t launch;
  std::uint64_t block;
  std::uint32_t thread;
  std::array<std::uint32_t, 4> places;  // its last basic blocks, the newest first
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
    std::string axes;  // as in MemoryName; of a __shared__ variable "[]=16 []=17"

    std::size_t word() const { return element_bytes > 4 ? 4 : element_bytes; }
  };
  std::vector<Array> arrays;
  std::vector<ValueLaunch> launches;
  std::vector<ValuePlace> places;
  std::vector<ValueTouch> touches;  // of loads the first that a block makes of an element
  bool complete = true;             // false: beyond kMostValues nothing was kept
  std::vector<LaneTake> takes;
  bool all_takes = true;        // false: beyond kMostValues none was kept
  std::vector<ThreadEnd> ends;  // of the first kMostValues threads
};

constexpr std::size_t kMostValues = 1'000'000;

// Collects them. A compiler's hook comes before the store that it reports: a value is read when the next event comes.
class ValueLog {
 public:
  void launch_starts(const ValueLaunch& launch);
  void block_starts();
  // `from`: the array's first byte; the access lies within the array.
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
