// Source: PTX ISA, "mbarrier" ("Contents of the mbarrier object", "Phases of the mbarrier object",
// "Tracking asynchronous operations by the mbarrier object"), "bar, barrier", "setmaxnreg".
#include "barriers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace emulator {
namespace detail {
namespace {

// The ranges of the counts, from "Contents of the mbarrier object".
constexpr int kMostArrivals = (1 << 20) - 1;
constexpr std::int64_t kMostExpectedBytes = (1 << 20) - 1;

// Registers of an SM, and the maximum per thread.
constexpr int kRegistersInAll = 65536;
constexpr int kMostRegisters = 255;

std::string count_of(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

void Barriers::begin_block() {
  in_memory_.clear();
  waits_.clear();
  for (Named& each : named_)
    each = {};
  registers_.clear();
}

// ---- mbarrier ----

// The eight bytes' contents, which show whether another store has overwritten them.
std::uint64_t Barriers::contents(const InMemory& barrier) const {
  constexpr std::uint64_t kMark = 0x6d62;
  return kMark << 48 | std::uint64_t{number_of(barrier)} << 32 | (barrier.phase & 0xffff) << 16 |
         (barrier.pending & 0xffff);
}

void Barriers::write_back(const InMemory& barrier) {
  const std::uint64_t now = contents(barrier);
  std::memcpy(block_.window() + barrier.address, &now, sizeof now);
}

std::string Barriers::described(const InMemory& barrier) const {
  return "the mbarrier at shared byte " + std::to_string(barrier.address) + " (initialised for " +
         count_of(barrier.count, "arrival") + " by " + block_.name_of(barrier.initialised) + ")";
}

Barriers::InMemory& Barriers::find(const char* operation, Barrier* at, Site where) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
  if (bytes < block_.window() || bytes + sizeof *at > block_.window() + block_.window_bytes())
    block_.fails(where, [&] {
      return std::string(operation) + ": the mbarrier is not in the block's shared memory";
    });
  const auto address = static_cast<std::uint32_t>(bytes - block_.window());
  if (address % sizeof *at != 0)
    block_.fails(where, [&] {
      return std::string(operation) + ": the mbarrier at shared byte " + std::to_string(address) +
             " is not aligned to 8 bytes";
    });
  std::uint64_t found = 0;
  std::memcpy(&found, at, sizeof found);
  const std::uint64_t number = found >> 32 & 0xffff;
  if (number < in_memory_.size() && in_memory_[number].address == address &&
      found == contents(in_memory_[number]))
    return in_memory_[number];
  const auto same = std::find_if(in_memory_.begin(), in_memory_.end(),
                                 [&](const InMemory& each) { return each.address == address; });
  block_.fails(where, [&] {
    if (same != in_memory_.end())
      return std::string(operation) + ": the 8 bytes of " + described(*same) +
             " were overwritten by something else";
    return std::string(operation) + ": there is no mbarrier at shared byte " +
           std::to_string(address) + ": nobody has initialised one there";
  });
}

// The init must precede every other operation ("Lifecycle of the mbarrier object"). This finds only
// uses with no synchronization at all since the init.
void Barriers::check_order(const char* operation, const InMemory& barrier, Site where) {
  if (barrier.meetings != block_.meetings() || barrier.initialised.thread == block_.thread())
    return;
  block_.fails(where, [&] {
    return std::string(operation) + " uses " + described(barrier) +
           ": no barrier lies between the two (fence_barrier_init and __syncthreads)";
  });
}

void Barriers::init(Barrier* at, int arrivals, Site where) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
  const bool inside =
      bytes >= block_.window() && bytes + sizeof *at <= block_.window() + block_.window_bytes();
  const auto address = static_cast<std::uint32_t>(bytes - block_.window());
  if (!inside || address % sizeof *at != 0)
    block_.fails(where, [&] {
      return std::string("init: the mbarrier is not ") +
             (inside ? "aligned to 8 bytes" : "in the block's shared memory");
    });
  if (arrivals < 1 || arrivals > kMostArrivals)
    block_.fails(where, [&] {
      return "init: " + std::to_string(arrivals) + " arrivals; allowed: 1 to " +
             std::to_string(kMostArrivals);
    });
  for (const InMemory& each : in_memory_) {
    if (each.address != address) continue;
    block_.fails(where, [&] {
      return "init: there is a barrier already: " + described(each) +
             ", and no mbarrier.inval since";
    });
  }
  in_memory_.push_back({.address = address,
                        .count = static_cast<unsigned>(arrivals),
                        .pending = static_cast<unsigned>(arrivals),
                        .bytes = 0,
                        .phase = 0,
                        .last_was_seen = true,
                        .initialised = {where, block_.thread()},
                        .meetings = block_.meetings(),
                        .fenced = false,
                        .last_arrival = {},
                        .has_arrivals = false,
                        .last_told = {},
                        .waiting = {}});
  write_back(in_memory_.back());
  if (observer() != nullptr)
    observer()->barrier_begins(static_cast<unsigned>(in_memory_.size() - 1), at, where);
}

void Barriers::fence_inits() {
  for (InMemory& each : in_memory_)
    each.fenced |= each.initialised.thread == block_.thread();
}

void Barriers::arrive(Barrier* at, int expected_bytes, Site where) {
  const char* const operation = expected_bytes > 0 ? "arrive_expect_tx" : "arrive";
  InMemory& barrier = find(operation, at, where);
  check_order(operation, barrier, where);
  if (barrier.pending == 0)
    block_.fails(where, [&] {
      return std::string(operation) + ": one arrival too many at " + described(barrier) +
             ": phase " + std::to_string(barrier.phase) + " has all of them (the last by " +
             block_.name_of(barrier.last_arrival) + ") and waits for " +
             count_of(barrier.bytes, "byte");
    });
  if (!barrier.last_was_seen)
    block_.fails(where, [&] {
      return std::string(operation) + " in phase " + std::to_string(barrier.phase) + " of " +
             described(barrier) + ": no wait has seen the end of phase " +
             std::to_string(barrier.phase - 1) +
             " (its last arrival: " + block_.name_of(barrier.last_arrival) +
             "); a count that is too small ends phases early, and so does who arrives too often; "
             "who waits for the wrong parity, or not at all, arrives too early";
    });
  if (expected_bytes < 0 || barrier.bytes + expected_bytes > kMostExpectedBytes)
    block_.fails(where, [&] {
      return "arrive_expect_tx: " + std::to_string(expected_bytes) + " bytes, and " +
             std::to_string(barrier.bytes) + " already; allowed together: up to " +
             std::to_string(kMostExpectedBytes);
    });
  if (observer() != nullptr) observer()->barrier_arrived(number_of(barrier), where);
  if (expected_bytes > 0) barrier.last_told = {where, block_.thread()};
  barrier.bytes += expected_bytes;
  --barrier.pending;
  barrier.last_arrival = {where, block_.thread()};
  barrier.has_arrivals = true;
  end_phase_if_complete(barrier);
  write_back(barrier);
}

void Barriers::end_phase_if_complete(InMemory& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.last_was_seen = false;
  block_.met();
  if (observer() != nullptr) observer()->phase_ended(number_of(barrier));
  for (const unsigned thread : barrier.waiting)
    block_.wake(thread);
  barrier.waiting.clear();
}

void Barriers::wait(Barrier* at, std::uint32_t parity, Site where) {
  if (parity > 1)
    block_.fails(where,
                 [&] { return "wait: a parity is 0 or 1, this is " + std::to_string(parity); });
  InMemory& barrier = find("wait", at, where);
  check_order("wait", barrier, where);
  const unsigned number = number_of(barrier);
  const std::uint64_t begun = barrier.phase;
  tell({Happening::kWaitStarts, "wait", block_.thread(), where, barrier.address});
  // in_memory_ may grow while other threads run.
  while (in_memory_[number].phase % 2 == parity) {
    if (waits_.empty()) waits_.resize(block_.threads());
    waits_[block_.thread()] = {Wait::kInMemory, number, parity, begun};
    in_memory_[number].waiting.push_back(block_.thread());
    block_.sleep("wait", where);
    waits_[block_.thread()] = {};
  }
  in_memory_[number].last_was_seen = true;
  tell({Happening::kWaitEnds, "wait", block_.thread(), where});
  if (observer() != nullptr) observer()->barrier_waited(number, where);
}

unsigned Barriers::take_for_copy(const char* operation, Barrier* at, std::size_t bytes,
                                 Site where) {
  InMemory& barrier = find(operation, at, where);
  check_order(operation, barrier, where);
  if (!barrier.fenced)
    block_.fails(where, [&] {
      return std::string(operation) + " uses " + described(barrier) +
             ": no fence_barrier_init follows the init in its thread, and without it whoever "
             "copies "
             "may "
             "not see the mbarrier yet";
    });
  if (bytes > static_cast<std::size_t>(kMostExpectedBytes))
    block_.fails(where, [&] {
      return std::string(operation) + ": " + std::to_string(bytes) +
             " bytes; an mbarrier counts up to " + std::to_string(kMostExpectedBytes);
    });
  return number_of(barrier);
}

void Barriers::complete_bytes(unsigned number, std::size_t bytes) {
  InMemory& barrier = in_memory_[number];
  barrier.bytes -= static_cast<std::int64_t>(bytes);
  end_phase_if_complete(barrier);
  write_back(barrier);
}

// ---- bar.sync, bar.arrive ----

std::uint32_t Barriers::waiting_warps(const Named& barrier) {
  std::uint32_t waiting = 0;
  for (std::size_t warp = 0; warp < barrier.warps.size(); ++warp) {
    const OfWarp& each = barrier.warps[warp];
    if (each.any && each.waits && each.generation == barrier.generation) waiting |= 1u << warp;
  }
  return waiting;
}

void Barriers::named(int name, int threads, bool waits, Site where) {
  const char* const operation = waits ? "named_barrier_sync" : "named_barrier_arrive";
  const unsigned warps = (block_.threads() + kLanes - 1) / kLanes;
  if (name < 1 || name >= static_cast<int>(kNames))
    block_.fails(where, [&] {
      return std::string(operation) + ": the name is " + std::to_string(name) +
             "; allowed: 1 to 15 (0 is __syncthreads)";
    });
  if (threads < 1 || threads % static_cast<int>(kLanes) != 0 ||
      threads > static_cast<int>(warps * kLanes))
    block_.fails(where, [&] {
      return std::string(operation) + ": barrier " + std::to_string(name) + " for " +
             std::to_string(threads) + " threads; allowed: multiples of 32 up to the block's " +
             std::to_string(warps * kLanes);
    });
  Named& barrier = named_[static_cast<unsigned>(name)];
  if (barrier.warps.empty()) barrier.warps.resize(warps);
  const unsigned thread = block_.thread(), warp = thread / kLanes;
  OfWarp& own = barrier.warps[warp];
  tell({waits ? Happening::kWaitStarts : Happening::kPasses, operation, thread, where,
        static_cast<std::uint64_t>(name)});
  if (observer() != nullptr) observer()->named_reached(static_cast<unsigned>(name));

  // A warp has arrived when all its lanes have called, because it executes the instruction once.
  const unsigned call = ++own.calls[thread % kLanes];
  if (call == own.whole + 1) own.came |= 1u << thread % kLanes;
  const std::uint32_t living = block_.living_lanes(warp);
  if ((own.came & living) == living) {
    const Party party{where, thread};
    if (barrier.threads == 0) {
      barrier.threads = threads;
      barrier.first = party;
    }
    if (barrier.threads != threads)
      block_.fails(where, [&] {
        return std::string(operation) + ": barrier " + std::to_string(name) + " for " +
               std::to_string(threads) + " threads, but for " + std::to_string(barrier.threads) +
               " as " + block_.name_of(barrier.first) + " says";
      });
    if (own.any && own.generation == barrier.generation)
      block_.fails(where, [&] {
        return std::string(operation) + ": warp " + std::to_string(warp) + " comes to barrier " +
               std::to_string(name) + " a second time before it is complete; the first time: " +
               block_.name_of(own.party) + "; " + std::to_string(barrier.arrived) + " of " +
               std::to_string(barrier.threads) + " threads have come";
      });
    own.any = true;
    own.generation = barrier.generation;
    own.waits = waits;
    own.party = party;
    ++own.whole;
    own.came = 0;
    if (observer() != nullptr) observer()->named_taken(static_cast<unsigned>(name), warp);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (own.calls[lane] > own.whole) own.came |= 1u << lane;
    }
    barrier.arrived += static_cast<int>(kLanes);
    if (barrier.arrived == barrier.threads) {
      if (observer() != nullptr)
        observer()->named_complete(static_cast<unsigned>(name), waiting_warps(barrier));
      barrier.threads = barrier.arrived = 0;
      ++barrier.generation;
      block_.met();
      for (const unsigned each : barrier.sleeping)
        block_.wake(each);
      barrier.sleeping.clear();
    }
  }
  if (!waits) return;
  // The wait ends with the generation to which this warp's call belongs.
  while (own.whole < call || (own.whole == call && own.generation == barrier.generation)) {
    if (waits_.empty()) waits_.resize(block_.threads());
    waits_[thread] = {Wait::kNamed, static_cast<unsigned>(name), 0, barrier.generation};
    barrier.sleeping.push_back(thread);
    block_.sleep("named_barrier_sync", where);
    waits_[thread] = {};
  }
  tell({Happening::kWaitEnds, operation, thread, where});
}

// ---- setmaxnreg ----

void Barriers::prepare_registers() {
  const auto threads = static_cast<int>(block_.threads());
  const int each = std::min(kMostRegisters, kRegistersInAll / threads / 8 * 8);
  registers_.resize((block_.threads() + kLanes - 1) / kLanes);
  for (Registers& warp : registers_)
    warp.each = each;
  pool_ = 0;
}

void Barriers::set_registers(int registers, bool more, Site where) {
  const char* const operation = more ? "setmaxnreg_inc" : "setmaxnreg_dec";
  if (registers < 24 || registers > 256 || registers % 8 != 0)
    block_.fails(where, [&] {
      return std::string(operation) + ": " + std::to_string(registers) +
             " registers; allowed: multiples of 8 from 24 to 256";
    });
  if (!block_.knows_its_bounds())
    block_.fails(where, [&] {
      return std::string(operation) +
             " in a kernel without __launch_bounds__: the compiler does not "
             "know how many registers it begins with";
    });
  if (registers_.empty()) prepare_registers();
  const unsigned thread = block_.thread(), warp = thread / kLanes;
  Registers& own = registers_[warp];
  if (own.came == 0) {
    own.wanted = registers;
    own.more = more;
    own.party = {where, thread};
  }
  if (own.wanted != registers || own.more != more)
    block_.fails(where, [&] {
      return std::string(operation) +
             ": the lanes of a warp ask for different registers: here for " +
             std::to_string(registers) + ", for " + std::to_string(own.wanted) + " " +
             block_.name_of(own.party);
    });
  if (more ? registers < own.each : registers > own.each)
    block_.fails(where, [&] {
      return std::string(operation) + ": " + std::to_string(registers) +
             " registers, where a thread has " + std::to_string(own.each) + ": it can only " +
             (more ? "take" : "give");
    });
  own.came |= 1u << thread % kLanes;
  if ((own.came & block_.living_lanes(warp)) == block_.living_lanes(warp)) {
    own.waits = true;
    serve_registers();
  }
  while (own.came != 0) {
    if (waits_.empty()) waits_.resize(block_.threads());
    waits_[thread] = {Wait::kRegisters, 0, 0, 0};
    block_.sleep(operation, where);
    waits_[thread] = {};
  }
}

// Releases are served at once, requests as soon as enough registers are free.
void Barriers::serve_registers() {
  for (bool served = true; served;) {
    served = false;
    for (std::size_t warp = 0; warp < registers_.size(); ++warp) {
      Registers& each = registers_[warp];
      const int wanted = (each.wanted - each.each) * static_cast<int>(kLanes);
      if (!each.waits || wanted > pool_) continue;
      pool_ -= wanted;
      each.each = each.wanted;
      ++each.changes;
      each.waits = false;
      each.came = 0;
      served = true;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto thread = static_cast<unsigned>(warp) * kLanes + lane;
        if (thread < waits_.size() && waits_[thread].kind == Wait::kRegisters) {
          waits_[thread] = {};
          block_.wake(thread);
        }
      }
    }
  }
}

// "setmaxnreg must be executed by all warps in a warpgroup."
std::string Barriers::left_out() const {
  constexpr std::size_t kWarps = 4;  // per warpgroup
  for (std::size_t warp = 0; warp < registers_.size(); ++warp) {
    const Registers& first = registers_[warp / kWarps * kWarps];
    const Registers& each = registers_[warp];
    if (each.changes == first.changes && each.each == first.each) continue;
    const Registers& more = each.changes < first.changes ? first : each;
    return place(more.party.where) + ": setmaxnreg is for all four warps of a warpgroup: warp " +
           std::to_string(warp / kWarps * kWarps) + " has executed " +
           std::to_string(first.changes) + " and ends with " + std::to_string(first.each) +
           " registers a thread, warp " + std::to_string(warp) + " " +
           std::to_string(each.changes) + ", with " + std::to_string(each.each);
  }
  return {};
}

// ---- Reports of waits ----

std::string Barriers::awaited_by(unsigned thread) const {
  if (thread >= waits_.size()) return {};
  const Wait& wait = waits_[thread];
  switch (wait.kind) {
    case Wait::kNothing: return {};
    case Wait::kInMemory: {
      const InMemory& barrier = in_memory_[wait.number];
      std::string text = " for parity " + std::to_string(wait.parity) + " (phase " +
                         std::to_string(barrier.phase) + ") of " + described(barrier);
      if (barrier.phase >= wait.phase + 2)
        text += "; phase " + std::to_string(wait.phase) +
                " was over meanwhile, and the next one too: the wait came too late";
      text += ": " + count_of(barrier.pending, "arrival") + " missing";
      if (barrier.has_arrivals) text += " (the last: " + block_.name_of(barrier.last_arrival) + ")";
      if (barrier.bytes > 0)
        text += ", and " + count_of(barrier.bytes, "byte") + " that " +
                block_.name_of(barrier.last_told) +
                " tells of have not come; no copy is on its way";
      if (barrier.bytes < 0)
        text += ", and " + count_of(-barrier.bytes, "byte") + " came that no thread has told of";
      return text;
    }
    case Wait::kNamed: {
      const Named& barrier = named_[wait.number];
      std::string text = " at barrier " + std::to_string(wait.number) + ": " +
                         std::to_string(barrier.arrived) + " of " +
                         (barrier.threads == 0 ? "its" : std::to_string(barrier.threads)) +
                         " threads have come";
      for (std::size_t warp = 0; warp < barrier.warps.size(); ++warp) {
        const OfWarp& each = barrier.warps[warp];
        if (each.any && each.generation == barrier.generation && barrier.threads != 0)
          text += "\n    warp " + std::to_string(warp) + (each.waits ? " waits" : " came") +
                  " at " + place(each.party.where);
      }
      return text;
    }
    case Wait::kRegisters: {
      const Registers& own = registers_[thread / kLanes];
      std::string text = " for " + std::to_string(own.wanted) +
                         " registers a thread; free in the block: " + std::to_string(pool_) +
                         ", wanted by the warp: " +
                         std::to_string((own.wanted - own.each) * static_cast<int>(kLanes));
      for (std::size_t warp = 0; warp < registers_.size(); ++warp) {
        text += (warp == 0 ? "; a thread has in warp " : ", in warp ") + std::to_string(warp) +
                ": " + std::to_string(registers_[warp].each);
      }
      return text;
    }
  }
  return {};
}

}  // namespace detail

void init(Barrier* barrier, int arrivals, Site where) {
  detail::CalledBlock block("init");
  block->barriers().init(barrier, arrivals, where);
}

void fence_barrier_init() {
  const detail::CalledBlock block("fence_barrier_init");
  block->barriers().fence_inits();
  if (detail::observer() != nullptr) detail::observer()->barriers_fenced();
}

void arrive(Barrier* barrier, Site where) {
  detail::CalledBlock block("arrive");
  block->barriers().arrive(barrier, 0, where);
}

void arrive_expect_tx(Barrier* barrier, int bytes, Site where) {
  detail::CalledBlock block("arrive_expect_tx");
  block->barriers().arrive(barrier, bytes, where);
}

void wait(Barrier* barrier, std::uint32_t parity, Site where) {
  detail::CalledBlock block("wait");
  block->barriers().wait(barrier, parity, where);
}

void named_barrier_sync(int name, int threads, Site where) {
  detail::CalledBlock block("named_barrier_sync");
  block->barriers().named(name, threads, true, where);
}

void named_barrier_arrive(int name, int threads, Site where) {
  detail::CalledBlock block("named_barrier_arrive");
  block->barriers().named(name, threads, false, where);
}

void set_registers(int registers, bool more, Site where) {
  detail::CalledBlock block("setmaxnreg");
  block->barriers().set_registers(registers, more, where);
}

}  // namespace emulator

std::size_t __cvta_generic_to_shared(const void* pointer) {
  const emulator::detail::CalledBlock block("__cvta_generic_to_shared");
  return static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - block->window());
}
