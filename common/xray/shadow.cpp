#include "shadow.hpp"

#include <algorithm>

#include "model.hpp"

namespace emulator::xray {
namespace {

bool same_warp(const Stamp& a, const Stamp& b) {
  return a.block == b.block && a.thread / kWarpSize == b.thread / kWarpSize;
}

// Among the accesses that one races with, the most recent comes last.
void meet(std::vector<Race>& races, const Stamp& with, std::uint64_t offset, unsigned bytes) {
  const auto known = std::find_if(races.begin(), races.end(), [&](const Race& each) {
    return is_same_access(each.with, with) && each.with.block == with.block;
  });
  if (known == races.end()) {
    races.push_back({with, offset, bytes});
    return;
  }
  known->bytes = offset + bytes - known->offset;
  std::rotate(known, known + 1, races.end());
}

std::optional<Race> last_of(const std::vector<Race>& races) {
  return races.empty() ? std::nullopt : std::optional(races.back());
}

}  // namespace

bool is_same_access(const Stamp& a, const Stamp& b) {
  return a.thread == b.thread && a.clock == b.clock && a.place == b.place && a.epoch == b.epoch &&
         a.launch == b.launch;
}

bool ordered(const Stamp& earlier, const Stamp& now, const Seen& seen) {
  if (earlier.launch != now.launch) return true;
  if (earlier.pending) return false;
  if (earlier.block != now.block) return false;
  if (earlier.epoch != now.epoch || earlier.thread == now.thread) return true;
  const unsigned i = earlier.thread - seen.first;
  return i < seen.count && seen.clocks[i] >= earlier.clock;
}

Shadow::Shadow(std::uint64_t bytes, unsigned granule, bool written)
    : granule_(granule),
      pages_((bytes / granule + kPageCells) / kPageCells),
      written_((bytes + granule - 1) / granule, written) {}

Shadow::Cell& Shadow::cell(std::uint64_t granule) {
  std::unique_ptr<Cell[]>& page = pages_[granule / kPageCells];
  if (!page) page = std::make_unique<Cell[]>(kPageCells);
  return page[granule % kPageCells];
}

std::optional<Race> Shadow::load(std::uint64_t offset, unsigned bytes, const Stamp& now,
                                 const Seen& seen) {
  std::vector<Race> races;
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    Cell& c = cell(g);
    if (!ordered(c.write, now, seen)) meet(races, c.write, g * granule_, granule_);
    // A later read by the same thread, or by one ordered after it, implies the earlier one.
    if (ordered(c.reads[0], now, seen)) {
      c.reads[0] = now;
    } else if (ordered(c.reads[1], now, seen) ||
               (!seen.all_readers && same_warp(c.reads[0], c.reads[1]))) {
      c.reads[1] = now;
    } else if (seen.all_readers) {
      note_another_read(g, now);
    }
  }
  return last_of(races);
}

// Sorted by thread, because many threads may read one cell repeatedly.
void Shadow::note_another_read(std::uint64_t granule, const Stamp& now) {
  std::vector<Stamp>& reads = more_reads_[granule];
  if (reads.empty()) reads.reserve(8);
  if (reads.empty() || reads.back().thread < now.thread) {
    reads.push_back(now);
    return;
  }
  const auto place =
      std::lower_bound(reads.begin(), reads.end(), now.thread,
                       [](const Stamp& read, unsigned thread) { return read.thread < thread; });
  if (place != reads.end() && place->thread == now.thread)
    *place = now;
  else
    reads.insert(place, now);
}

std::optional<Race> Shadow::store(std::uint64_t offset, unsigned bytes, const Stamp& now,
                                  const Seen& seen) {
  std::vector<Race> races;
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    Cell& c = cell(g);
    for (const Stamp* read : {&c.reads[0], &c.reads[1]}) {
      if (!ordered(*read, now, seen)) meet(races, *read, g * granule_, granule_);
    }
    if (seen.all_readers && !more_reads_.empty()) {
      const auto more = more_reads_.find(g);
      if (more != more_reads_.end()) {
        for (const Stamp& read : more->second)
          if (!ordered(read, now, seen)) meet(races, read, g * granule_, granule_);
        more->second.clear();
      }
    }
    if (!ordered(c.write, now, seen) && !(c.write.atomic && now.atomic))
      meet(races, c.write, g * granule_, granule_);
    const bool replaces = now.pending && c.write.launch == now.launch &&
                          c.write.block == now.block && c.write.epoch < now.epoch;
    c.write = now;
    c.write.replaces = replaces;
    written_[g] = true;
  }
  return last_of(races);
}

void Shadow::arrived(std::uint64_t offset, std::uint64_t bytes, const Stamp& now) {
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    Stamp& write = cell(g).write;
    if (!write.pending || write.thread != now.thread) continue;  // overwritten by a reported race
    write.pending = write.replaces = false;
    write.epoch = now.epoch;
    write.clock = now.clock;
  }
}

std::uint64_t Shadow::bytes_of(const Stamp& access, std::uint64_t offset, std::uint64_t end) {
  std::uint64_t next = offset;
  while (next < end) {
    bool touched = false;
    visit(next, 1, true,
          [&](const Stamp& each, std::uint64_t) { touched |= is_same_access(access, each); });
    if (!touched) break;
    next = (next / granule_ + 1) * granule_;
  }
  return std::min(next, end) - offset;
}

void Shadow::forget(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    if (pages_[g / kPageCells]) cell(g) = {};
    if (more_reads_.empty()) continue;
    const auto more = more_reads_.find(g);
    if (more != more_reads_.end()) more->second.clear();
  }
}

bool Shadow::was_written(std::uint64_t offset, unsigned bytes) const {
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    if (!written_[g]) return false;
  }
  return true;
}

bool Shadow::was_read(std::uint64_t offset, unsigned bytes, const Stamp& now) {
  for (std::uint64_t g = offset / granule_; g <= (offset + bytes - 1) / granule_; ++g) {
    const Stamp& read = cell(g).reads[0];
    if (read.launch == now.launch && read.block == now.block) return true;
  }
  return false;
}

void Shadow::mark(std::uint64_t offset, std::uint64_t bytes, bool written) {
  const auto first = written_.begin() + static_cast<std::ptrdiff_t>(offset / granule_);
  const auto last =
      written_.begin() + static_cast<std::ptrdiff_t>((offset + bytes + granule_ - 1) / granule_);
  std::fill(first, last, written);
}

}  // namespace emulator::xray
