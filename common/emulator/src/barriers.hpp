// A block's barriers in shared memory, its named barriers, and its registers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "emulator/barriers.hpp"

namespace emulator::detail {

class Barriers {
 public:
  explicit Barriers(Block& block) : block_(block) {}

  void begin_block();

  // "mbarrier.init", ".arrive", ".arrive.expect_tx", ".try_wait.parity"; the calling thread's.
  void init(Barrier* at, int arrivals, Site where);
  // "fence.mbarrier_init", of what the calling thread has initialised.
  void fence_inits();
  void arrive(Barrier* at, int expected_bytes, Site where);
  void wait(Barrier* at, std::uint32_t parity, Site where);

  // A copy that will bring `bytes` takes a barrier; they are complete later, whoever runs then. The number is the barrier's.
  unsigned take_for_copy(const char* operation, Barrier* at, std::size_t bytes, Site where);
  void complete_bytes(unsigned barrier, std::size_t bytes);

  void named(int name, int threads, bool waits, Site where);
  void set_registers(int registers, bool more, Site where);
  // At the block's end: a setmaxnreg that only some warps of a warpgroup have executed. The sentence, or empty.
  std::string left_out() const;

  // What a sleeping thread waits for, as the end of a sentence; empty where it is nothing of these.
  std::string awaited_by(unsigned thread) const;

 private:
  struct InMemory {
    std::uint32_t address;
    unsigned count;
    unsigned pending;
    std::int64_t bytes;   // told of and not here, or here and not told of
    std::uint64_t phase;  // 0, 1, ...: the one that is not over
    bool last_was_seen;   // some wait has returned true for the phase before
    Party initialised;
    std::uint64_t meetings;  // when it was
    bool fenced;             // so that a copy may use it
    Party last_arrival;
    bool has_arrivals;
    Party last_told;  // of bytes
    std::vector<unsigned> waiting;
  };
  struct Wait {
    enum Kind : unsigned char { kNothing, kInMemory, kNamed, kRegisters } kind = kNothing;
    unsigned number = 0;  // barrier's or name
    std::uint32_t parity = 0;
    std::uint64_t phase = 0;  // that was not over when the wait began
  };
  static constexpr unsigned kNames = 16;
  struct OfWarp {            // at a named barrier
    std::uint32_t came = 0;  // lanes that have called once more than the whole warp has
    std::array<unsigned, kLanes> calls{};
    unsigned whole = 0;            // calls of all lanes
    std::uint64_t generation = 0;  // of the last whole call
    bool any = false;
    bool waits = false;
    Party party;
  };
  struct Named {
    int threads = 0;  // 0: nobody has come
    int arrived = 0;
    std::uint64_t generation = 0;
    Party first;
    std::vector<OfWarp> warps;
    std::vector<unsigned> sleeping;
  };
  struct Registers {  // of a warp
    int each = 0;
    std::uint32_t came = 0;
    int wanted = 0;
    bool more = false;
    bool waits = false;
    unsigned changes = 0;  // so far
    Party party;
  };

  InMemory& find(const char* operation, Barrier* at, Site where);
  void check_order(const char* operation, const InMemory& barrier, Site where);
  void write_back(const InMemory& barrier);
  std::uint64_t contents(const InMemory& barrier) const;
  unsigned number_of(const InMemory& barrier) const {
    return static_cast<unsigned>(&barrier - in_memory_.data());
  }
  static std::uint32_t waiting_warps(const Named& barrier);
  void end_phase_if_complete(InMemory& barrier);
  std::string described(const InMemory& barrier) const;
  void serve_registers();
  void prepare_registers();

  Block& block_;
  std::vector<InMemory> in_memory_;
  std::vector<Wait> waits_;  // by thread; empty until the first
  std::array<Named, kNames> named_;
  std::vector<Registers> registers_;  // by warp; empty until the first setmaxnreg
  int pool_ = 0;                      // that nobody has
};

}  // namespace emulator::detail
