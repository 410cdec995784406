// A block's mbarriers, named barriers and registers.
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

  // "mbarrier.init", ".arrive", ".arrive.expect_tx", ".try_wait.parity" of the calling thread.
  void init(Barrier* at, int arrivals, Site where);
  // "fence.mbarrier_init" for the mbarriers that the calling thread has initialised.
  void fence_inits();
  void arrive(Barrier* at, int expected_bytes, Site where);
  void wait(Barrier* at, std::uint32_t parity, Site where);

  // Returns the number of the barrier on which a copy of `bytes` will complete, in any thread.
  unsigned take_for_copy(const char* operation, Barrier* at, std::size_t bytes, Site where);
  void complete_bytes(unsigned barrier, std::size_t bytes);

  void named(int name, int threads, bool waits, Site where);
  void set_registers(int registers, bool more, Site where);
  // The error at the block's end if only part of a warpgroup has executed a setmaxnreg, or empty.
  std::string left_out() const;

  // What a sleeping thread waits for, as the end of a sentence, or empty.
  std::string awaited_by(unsigned thread) const;

 private:
  struct InMemory {
    std::uint32_t address;
    unsigned count;
    unsigned pending;
    std::int64_t bytes;   // expected bytes minus those that have arrived
    std::uint64_t phase;  // the current phase, from 0 on
    bool last_was_seen;   // a wait has returned true for the previous phase
    Party initialised;
    std::uint64_t meetings;  // at the init
    bool fenced;             // a copy may use it only after the fence
    Party last_arrival;
    bool has_arrivals;
    Party last_told;  // of expected bytes
    std::vector<unsigned> waiting;
  };
  struct Wait {
    enum Kind : unsigned char { kNothing, kInMemory, kNamed, kRegisters } kind = kNothing;
    unsigned number = 0;  // barrier's or name
    std::uint32_t parity = 0;
    std::uint64_t phase = 0;  // the current one when the wait began
  };
  static constexpr unsigned kNames = 16;
  struct OfWarp {            // a warp at a named barrier
    std::uint32_t came = 0;  // lanes with one call more than the whole warp
    std::array<unsigned, kLanes> calls{};
    unsigned whole = 0;            // calls by all lanes
    std::uint64_t generation = 0;  // of the last whole call
    bool any = false;
    bool waits = false;
    Party party;
  };
  struct Named {
    int threads = 0;  // 0 if no thread has arrived
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
  std::vector<Wait> waits_;  // by thread; empty before the first wait
  std::array<Named, kNames> named_;
  std::vector<Registers> registers_;  // by warp; empty until the first setmaxnreg
  int pool_ = 0;                      // free registers of the block
};

}  // namespace emulator::detail
