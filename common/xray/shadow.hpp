// Shadow memory: for each byte or element, who touched it last and whether anybody wrote it. Finds races by the order that
// barriers and warp operations give, not by the order in which the emulator happens to run threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace emulator::xray {

// One access, as far as ordering is concerned. `clock` counts the meetings of the thread's warp it has taken part in.
struct Stamp {
  std::uint64_t block = 0;
  std::uint32_t launch = 0;  // from 1; 0: nobody
  std::uint32_t epoch = 0;   // block-wide barriers passed
  std::uint32_t clock = 0;
  std::uint32_t place = 0;  // for reports: the recorder's number of the instruction
  std::uint16_t thread = 0;
  bool atomic = false;
  bool pending = false;   // an asynchronous copy's store that has not arrived
  bool replaces = false;  // such a store, of what was written before the last barrier
};

// Which clocks a thread has seen, of `count` threads from `first` on: of its warp, or of the whole block.
struct Seen {
  const std::uint32_t* clocks;
  unsigned first, count;
  bool
      all_readers;  // whether more than two readers of a cell matter: some may be ordered, others not
};

// What an access races with, and the bytes that both touch.
struct Race {
  Stamp with;
  std::uint64_t offset, bytes;
};

class Shadow {
 public:
  // `granule`: no two threads may share a unit of this many bytes without sharing an access.
  Shadow(std::uint64_t bytes, unsigned granule, bool written);

  // Notes a load. Returns the unordered write it races with, if any.
  std::optional<Race> load(std::uint64_t offset, unsigned bytes, const Stamp& now,
                           const Seen& seen);
  // Notes a store or an atomic. Returns the unordered access it races with, if any.
  std::optional<Race> store(std::uint64_t offset, unsigned bytes, const Stamp& now,
                            const Seen& seen);

  // A pending store of this thread has arrived: it is ordered as if made now.
  void arrived(std::uint64_t offset, std::uint64_t bytes, const Stamp& now);

  // The accesses noted of some bytes: the last store of each, and (`loads`) the last loads that are not ordered with each other. One store
  // to several bytes once.
  template <typename See>  // (const Stamp&, std::uint64_t offset)
  void visit(std::uint64_t offset, std::uint64_t bytes, bool loads, const See& see);
  // How many bytes from `offset` on, before `end`, such an access touched.
  std::uint64_t bytes_of(const Stamp& access, std::uint64_t offset, std::uint64_t end);
  // They are of no interest any more.
  void forget(std::uint64_t offset, std::uint64_t bytes);

  bool was_written(std::uint64_t offset, unsigned bytes) const;
  // Whether a thread of this block has read any of it.
  bool was_read(std::uint64_t offset, unsigned bytes, const Stamp& now);
  void mark(std::uint64_t offset, std::uint64_t bytes, bool written);

 private:
  struct Cell {
    Stamp write;
    Stamp reads[2];  // two readers, of different warps where there were such
  };
  static constexpr std::size_t kPageCells = 1024;

  Cell& cell(std::uint64_t granule);
  void note_another_read(std::uint64_t granule, const Stamp& now);

  unsigned granule_;
  std::vector<std::unique_ptr<Cell[]>> pages_;
  // Readers beside the two of a cell, where all matter: each thread's last read. By granule.
  std::unordered_map<std::uint64_t, std::vector<Stamp>> more_reads_;
  std::vector<bool> written_;
};

// By one instruction of one thread, nothing between.
bool is_same_access(const Stamp& a, const Stamp& b);

// Whether `earlier` is known to have happened before the access `now`, whose thread has seen `seen`.
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
