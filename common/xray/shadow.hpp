// Shadow memory: for each byte or element, who touched it last and whether anybody wrote it. Finds races by the order that
// barriers and warp operations give, not by the order in which the emulator happens to run threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// Which clock of each lane of its warp a thread has seen.
using Clocks = const std::uint32_t*;

class Shadow {
 public:
  // `granule`: no two threads may share a unit of this many bytes without sharing an access.
  Shadow(std::uint64_t bytes, unsigned granule, bool written);

  // Notes a load. Returns the unordered write it races with, if any.
  std::optional<Stamp> load(std::uint64_t offset, unsigned bytes, const Stamp& now, Clocks seen);
  // Notes a store or an atomic. Returns the unordered access it races with, if any.
  std::optional<Stamp> store(std::uint64_t offset, unsigned bytes, const Stamp& now, Clocks seen);

  // A pending store of this thread has arrived: it is ordered as if made now.
  void arrived(std::uint64_t offset, std::uint64_t bytes, const Stamp& now);

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

  unsigned granule_;
  std::vector<std::unique_ptr<Cell[]>> pages_;
  std::vector<bool> written_;
};

// Whether `earlier` is known to have happened before the access `now`, whose thread has seen `seen`.
bool ordered(const Stamp& earlier, const Stamp& now, Clocks seen);

}  // namespace emulator::xray
