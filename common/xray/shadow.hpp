// Shadow memory: the last accesses of each byte or element, and whether it was written. Races are
// found by the order that barriers and warp operations guarantee, not by the order of execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace emulator::xray {

// One access with its order. `clock` counts its thread's warp synchronizations.
struct Stamp {
  std::uint64_t block = 0;
  std::uint32_t launch = 0;  // from 1; 0: no access
  std::uint32_t epoch = 0;   // block-wide barriers passed
  std::uint32_t clock = 0;
  std::uint32_t place = 0;  // for reports: the recorder's number of the instruction
  std::uint16_t thread = 0;
  bool atomic = false;
  bool pending = false;   // an asynchronous copy's store before it arrives
  bool replaces = false;  // a pending store to bytes that were written before the last barrier
};

// The clocks that a thread has seen, of `count` threads from `first` on (its warp or block).
struct Seen {
  const std::uint32_t* clocks;
  unsigned first, count;
  bool all_readers;  // two readers per cell are not enough, because only some may be ordered
};

// The access that one races with, and the bytes that both touch.
struct Race {
  Stamp with;
  std::uint64_t offset, bytes;
};

class Shadow {
 public:
  // Two threads share a unit of `granule` bytes only by sharing an access.
  Shadow(std::uint64_t bytes, unsigned granule, bool written);

  // Records a load. Returns the unordered write that it races with, if any.
  std::optional<Race> load(std::uint64_t offset, unsigned bytes, const Stamp& now,
                           const Seen& seen);
  // Records a store or an atomic. Returns the unordered access that it races with, if any.
  std::optional<Race> store(std::uint64_t offset, unsigned bytes, const Stamp& now,
                            const Seen& seen);

  // A pending store of this thread has arrived, and is ordered as if it happened now.
  void arrived(std::uint64_t offset, std::uint64_t bytes, const Stamp& now);

  // The recorded accesses of some bytes: each byte's last store and, with `loads`, its last loads
  // that are not ordered with each other. A store to several bytes is visited once.
  template <typename See>  // (const Stamp&, std::uint64_t offset)
  void visit(std::uint64_t offset, std::uint64_t bytes, bool loads, const See& see);
  // The number of bytes from `offset` on, before `end`, that this access touched.
  std::uint64_t bytes_of(const Stamp& access, std::uint64_t offset, std::uint64_t end);
  // Removes the recorded accesses.
  void forget(std::uint64_t offset, std::uint64_t bytes);

  bool was_written(std::uint64_t offset, unsigned bytes) const;
  // Whether a thread of this block has read some of it.
  bool was_read(std::uint64_t offset, unsigned bytes, const Stamp& now);
  void mark(std::uint64_t offset, std::uint64_t bytes, bool written);

 private:
  struct Cell {
    Stamp write;
    Stamp reads[2];  // two readers, of different warps if possible
  };
  static constexpr std::size_t kPageCells = 1024;

  Cell& cell(std::uint64_t granule);
  void note_another_read(std::uint64_t granule, const Stamp& now);

  unsigned granule_;
  std::vector<std::unique_ptr<Cell[]>> pages_;
  // Further readers of a cell, if all matter: each thread's last read, by granule.
  std::unordered_map<std::uint64_t, std::vector<Stamp>> more_reads_;
  std::vector<bool> written_;
};

// Made by one instruction of one thread, without another between.
bool is_same_access(const Stamp& a, const Stamp& b);

// Whether `earlier` happened before the access `now`, whose thread has seen `seen`.
bool ordered(const Stamp& earlier, const Stamp& now, const Seen& seen);

template <typename See>
void Shadow::visit(std::uint64_t offset, std::uint64_t bytes, bool loads, const See& see) {
  const Stamp* last = nullptr;
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    if (!pages_[g / kPageCells]) continue;
    const Cell& c = cell(g);
    if (c.write.launch != 0 && (last == nullptr || !is_same_access(*last, c.write)))
      see(c.write, g * granule_);
    last = &c.write;
    if (!loads) continue;
    for (const Stamp& read : c.reads)
      if (read.launch != 0) see(read, g * granule_);
    if (more_reads_.empty()) continue;
    const auto more = more_reads_.find(g);
    if (more == more_reads_.end()) continue;
    for (const Stamp& read : more->second)
      see(read, g * granule_);
  }
}

}  // namespace emulator::xray
