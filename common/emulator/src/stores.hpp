// A block's bulk stores from shared to global memory, with their pending reads, writes and waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "copies.hpp"

namespace emulator::detail {

class Stores {
 public:
  explicit Stores(Block& block) : block_(block) {}

  void begin_block();
  void store_box(const CUtensorMap* map, const void* from, const int* first, unsigned dimensions,
                 Site where);
  void store_bytes(void* to, const void* from, int bytes, Site where);
  // Ends the calling thread's group. Each thread has its own groups.
  void commit();
  // Waits until all but the last `pending` groups have read and, unless only_read, have written.
  void wait(unsigned pending, bool only_read, Site where);

  bool any_on_the_way() const { return steps_ > 0; }
  // One pending store reads its bytes or writes them.
  void do_one_step();
  // The error for a store that may still read shared memory when the block ends, or empty.
  std::string left_over() const;

 private:
  enum class Step : unsigned char { kRead, kWrite, kNone };
  struct Store {
    std::uint32_t address;  // in shared memory
    std::size_t bytes;
    unsigned char* to;  // null for a box of the map
    Map map;
    First first;
    Party party;
    std::uint64_t group;
    Step next = Step::kRead;
    bool was_awaited = false;
    std::vector<unsigned char> data = {};  // without swizzle
  };
  struct OfThread {
    std::uint64_t groups = 0;
    std::uint64_t awaited = 0;  // it sleeps for the groups before this one; 0 if it does not
    bool only_read = false;
  };

  OfThread& own();
  void issue(Store&& store);
  void do_step(Store& store);
  bool holds_back(const Store& store) const;
  bool waits(unsigned thread) const;

  Block& block_;
  std::vector<Store> stores_;  // in the order of issue
  std::vector<OfThread> threads_;
  unsigned steps_ = 0;  // pending ones
};

}  // namespace emulator::detail
