// A block's bulk stores, from shared to global memory: what they have still to read and to write, and who waits for that.
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
  // The calling thread's groups: each thread has its own.
  void commit();
  // Until all but the last `pending` groups have read what they store or, not only_read, have written it too.
  void wait(unsigned pending, bool only_read, Site where);

  bool any_on_the_way() const { return steps_ > 0; }
  // One store reads its bytes, or writes them.
  void do_one_step();
  // Which may be reading shared memory when the block ends: the sentence, or empty.
  std::string left_over() const;

 private:
  enum class Step : unsigned char { kRead, kWrite, kNone };
  struct Store {
    std::uint32_t address;  // in shared memory
    std::size_t bytes;
    unsigned char* to;  // null: a box of the map
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
    std::uint64_t awaited = 0;  // it sleeps for the groups before this one; 0: it does not
    bool only_read = false;
  };

  OfThread& own();
  void issue(Store&& store);
  void do_step(Store& store);
  bool holds_back(const Store& store) const;
  bool waits(unsigned thread) const;

  Block& block_;
  std::vector<Store> stores_;  // in the order of their issue
  std::vector<OfThread> threads_;
  unsigned steps_ = 0;  // that are still to be done
};

}  // namespace emulator::detail
