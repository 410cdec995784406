// The order of accesses in a block that uses more than __syncthreads and __syncwarp, and the async
// proxy's accesses to shared and global memory. The order is kept in vector clocks, which
// mbarriers, named barriers, groups of asynchronous operations and proxy fences join.
//
// A clock has one entry per thread and one per agent. An agent completes asynchronous operations in
// order: an mbarrier's phases, a warpgroup's products, and the reads and the writes of a thread's
// bulk stores. A thread's own entry increases with every release, to separate later accesses.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shadow.hpp"

namespace emulator::xray {

using Clock = std::vector<std::uint32_t>;  // entries past its end are 0

// The accesses that happened before, and those also fenced against the async proxy, by memory.
struct Known {
  Clock happened, fenced, fenced_global = {};

  void join(const Known& other);
};

// Two accesses without an order or a proxy fence: the earlier one, and the bytes that both touch.
struct Conflict {
  Stamp other;
  std::uint64_t offset = 0, bytes = 0;
  unsigned thread = 0;      // of the threads that act together, the one without the order
  bool unfenced = false;    // ordered, but not fenced
  bool unfinished = false;  // the other access is an asynchronous operation
};

// A 16-byte vector of an operand in shared memory.
struct OperandUnit {
  std::uint64_t offset;
  unsigned warps;  // the warps of the warpgroup that read it, a bit each
};

// Rows of bytes in an array, a stride apart.
struct Rows {
  std::uint64_t begin, bytes, stride = 0;
  std::uint64_t count = 1;

  bool touch(std::uint64_t offset, std::uint64_t of) const;
};

// The async proxy's accesses to an array in global memory, in one launch.
struct AsyncInArray {
  struct Access {
    Rows rows;
    Stamp by;
    std::uint32_t operation;  // in its block
  };
  std::uint32_t launch = 0;
  std::vector<Access> reads = {}, writes = {};
};

class Order {
 public:
  static constexpr unsigned kUnit = 16;  // bytes of the async proxy's smallest access

  void begin_block(unsigned threads);
  bool is_followed() const { return followed_; }
  // Starts with the clocks seen in warps (threads, 32) and at the last __syncthreads.
  void follow(const std::vector<std::uint32_t>& lanes, const Clock& met);

  std::uint32_t now(unsigned thread) const { return known_[thread].happened[thread]; }
  Seen seen(unsigned thread) const { return {known_[thread].happened.data(), 0, threads_, true}; }

  void all_met();
  void lanes_met(unsigned warp, std::uint32_t lanes);
  void proxies_fenced(unsigned thread, bool of_global);

  // mbarriers. `by` is the thread's access.
  void barrier_begins(unsigned barrier, const Stamp& by);
  void barriers_fenced(unsigned thread);
  // The mbarrier's initialisation, if it is not ordered before the thread.
  std::optional<Stamp> unordered_begin(unsigned barrier, unsigned thread) const;
  // The initialisation, if it is ordered but not fenced by fence_barrier_init. Returned only once.
  std::optional<Stamp> unfenced_begin(unsigned barrier, unsigned thread);
  void barrier_arrived(unsigned barrier, unsigned thread);
  void phase_ended(unsigned barrier);
  void phase_seen(unsigned barrier, unsigned thread);

  void named_reached(unsigned name, unsigned thread);
  void named_taken(unsigned name, unsigned warp);
  void named_complete(unsigned name, std::uint32_t waiting_warps);

  using Report = std::function<void(const Conflict&)>;

  // The asynchronous access that conflicts with a thread's own access to shared memory.
  std::optional<Conflict> accessed(unsigned thread, std::uint64_t offset, unsigned bytes,
                                   bool stores);
  // Returns the operation's number.
  std::uint32_t copy_starts(std::uint64_t copy, unsigned thread, std::uint64_t offset,
                            std::uint64_t bytes, const Stamp& by, Shadow& shadow,
                            const Report& report);
  void copy_complete(std::uint64_t copy, unsigned barrier);
  // Returns the number of its operation in global memory.
  std::uint32_t store_starts(std::uint64_t group, unsigned thread, std::uint64_t offset,
                             std::uint64_t bytes, const Stamp& by, Shadow& shadow,
                             const Report& report);
  void stores_waited(unsigned thread, std::uint64_t end, bool only_read);

  // The operation's other end, in global memory. `shadow` is null without threads' accesses there.
  void starts_in_array(AsyncInArray& array, std::uint32_t operation, const Rows& rows, bool writes,
                       const Stamp& by, Shadow* shadow, const Report& report);
  // A thread's own access there.
  std::optional<Conflict> accessed_in_array(const AsyncInArray& array, const Stamp& now,
                                            std::uint64_t offset, unsigned bytes,
                                            bool stores) const;
  void warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number);
  void product_starts(unsigned warpgroup, std::uint64_t number,
                      const std::vector<OperandUnit>& units, const Stamp& by, Shadow& shadow,
                      const Report& report);
  void products_waited(unsigned thread, std::uint64_t end);

 private:
  struct Operation {
    unsigned agent = 0;
    std::uint32_t clock = 0;  // 0: not complete
    Stamp by;
    Known issuer = {};  // of a copy, until it is complete
  };
  struct Unit {
    std::uint32_t write = 0;           // operation; 0: none
    std::vector<std::uint32_t> reads;  // each agent's newest
    bool touched =
        true;  // by threads, since the last asynchronous write or before order was followed
  };
  struct BarrierInMemory {
    unsigned agent;
    std::uint32_t phases = 0;
    Stamp begun;
    bool fenced = false, said = false;
    Known arriving = {}, complete = {};
  };
  struct NamedBarrier {
    Known arriving;
    std::map<unsigned, Known> by_warp;
  };
  // The order that all lanes of a warp have, as of a count of changes.
  struct OfWarp {
    std::uint64_t changes = 1, met_at = 0;
    std::shared_ptr<const Known> met = {};
  };
  // The warps' order when they issued a product.
  using Issuers = std::array<std::shared_ptr<const Known>, 4>;

  void learn(unsigned thread, const Known& from);
  void release(unsigned thread, Known& to);
  bool knows(const Clock& happened, const Operation& operation) const;
  bool knows(const Stamp& now, const AsyncInArray::Access& access) const;
  std::shared_ptr<const Known> known_by_warp(unsigned warp);
  void read_by(std::uint32_t operation, Unit& unit);
  Unit& unit(std::uint64_t offset);
  std::uint32_t add(Operation&& operation);

  bool followed_ = false;
  unsigned threads_ = 0, agents_ = 0;
  std::vector<Known> known_;  // by thread
  std::vector<OfWarp> warps_;
  std::vector<BarrierInMemory> barriers_;
  std::array<NamedBarrier, 16> named_;
  std::vector<unsigned> warpgroup_agents_;
  std::map<std::pair<unsigned, std::uint64_t>, Issuers> issuers_;  // by warpgroup and product
  // By thread, for the reads of its stores. The next agent is for their writes.
  std::map<unsigned, unsigned> store_agents_;
  std::vector<Operation> operations_;
  std::map<std::uint64_t, std::uint32_t> copies_;  // pending
  std::vector<Unit> units_;
};

}  // namespace emulator::xray
