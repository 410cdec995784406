#include "recorder.hpp"

#include <fmt/format.h>

#include <execinfo.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "emulator/barriers.hpp"
#include "emulator/threads.hpp"
#include "symbols.hpp"

namespace emulator::xray {
namespace {

// The largest distance at which an out-of-bounds access is attributed to the nearest array.
constexpr std::uintptr_t kNearby = 1 << 20;
constexpr std::size_t kMostSteps = 128;  // twice as many for first requests of an instruction
constexpr std::size_t kUnnamedElement = 4;
constexpr int kMostCalls = 24;  // frames from an allocation up to its launcher
const std::string kNoName;
// A block's shared memory in the emulator, including the gaps between arrays.
constexpr std::uint64_t kMostSharedBytes = 1 << 20;

std::uintptr_t to_number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

bool is_built_in_variable(std::uintptr_t address) {
  const auto within = [&](const auto& variable) {
    return address - to_number(&variable) < sizeof(variable);
  };
  return within(threadIdx) || within(blockIdx) || within(blockDim) || within(gridDim);
}

// The number of distinct units, such as 32-byte sectors, that `count` accesses touch.
unsigned distinct_units(const std::uint64_t* address, unsigned count, unsigned bytes,
                        unsigned unit) {
  std::array<std::uint64_t, 2 * kWarpSize> units;
  unsigned n = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t first = address[i] / unit;
    const std::uint64_t last = (address[i] + bytes - 1) / unit;
    if (n == 0 || units[n - 1] != first) units[n++] = first;
    if (last != first) units[n++] = last;
  }
  std::sort(units.begin(), units.begin() + n);
  return static_cast<unsigned>(std::unique(units.begin(), units.begin() + n) - units.begin());
}

}  // namespace

void BankWords::add(std::uint64_t address, unsigned bytes) {
  for (std::uint64_t word = address / kBankBytes; word <= (address + bytes - 1) / kBankBytes;
       ++word) {
    auto& bank = words[word % kBanks];
    if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
  }
}

std::uint64_t BankWords::wavefronts() const {
  std::size_t most = 0;
  for (const auto& bank : words)
    most = std::max(most, bank.size());
  return most;
}

Recorder& Recorder::instance() {
  static Recorder& recorder = *new Recorder;  // never destroyed: device memory may be freed at exit
  return recorder;
}

// ---- Instructions ----

void Recorder::entered(std::uintptr_t call) {
  Thread& thread = threads_[thread_];
  const auto [found, is_new] =
      path_index_.try_emplace({thread.path, call}, static_cast<std::uint32_t>(paths_.size()));
  if (is_new) paths_.push_back({thread.path, call});
  thread.path = found->second;
}

void Recorder::left() {
  threads_[thread_].path = paths_[threads_[thread_].path].parent;
}

std::uint32_t Recorder::place_of(std::uintptr_t pc, bool is_access, Operation operation,
                                 unsigned bytes) {
  const std::uint32_t path = threads_[thread_].path;
  const PlaceKey key{path, pc, operation, bytes};
  if (recent_places_.empty()) recent_places_.resize(kRecentPlaces);
  auto& [recent, number] = recent_places_[PlaceHash()(key) >> 40 & (kRecentPlaces - 1)];
  if (recent == key) return number;
  const auto [found, is_new] =
      place_index_.try_emplace(key, static_cast<std::uint32_t>(places_.size()));
  if (is_new) {
    Place place;
    for (std::uint32_t at = path; at != 0; at = paths_[at].parent)
      place.calls_and_pc.push_back(paths_[at].call);
    std::reverse(place.calls_and_pc.begin(), place.calls_and_pc.end());
    place.calls_and_pc.push_back(pc);
    place.is_access = is_access;
    place.operation = operation;
    place.bytes = bytes;
    places_.push_back(std::move(place));
  }
  recent = key;
  number = found->second;
  return found->second;
}

bool Recorder::before(std::uint32_t a, std::uint32_t b) const {
  return places_[a].calls_and_pc < places_[b].calls_and_pc;
}

void Recorder::passed(std::uintptr_t pc) {
  count_event();
  Thread& thread = threads_[thread_];
  const std::uint32_t place = place_of(pc, false, Operation::kLoad, 0);
  auto& last = thread.last_places;
  last = {place, last[0], last[1], last[2]};
  hold({place, 0});
}

// Basic blocks count too, so that an endless loop without accesses is also stopped.
void Recorder::count_event() {
  if (++events_ > access_limit_)
    stop_too_large(fmt::format("after {} accesses and basic blocks", access_limit_));
}

void Recorder::hold(const Event& event) {
  if (++held_ > kMostHeld) {
    stop_too_large(
        fmt::format("because one block makes more than {} accesses without a barrier", kMostHeld));
  }
  threads_[thread_].events.push_back(event);
}

void Recorder::stop_too_large(const std::string& why) {
  recording_->kernel.too_large = true;
  abandon_block(cudaErrorLaunchTimeout, "the X-ray stopped the launch " + why);
}

// ---- Memory ----

void Recorder::allocated(const void* begin, std::size_t bytes) {
  const std::uintptr_t address = to_number(begin);
  // Its name in the source is looked up only when a report shows it.
  std::array<void*, kMostCalls> calls{};
  const auto depth = static_cast<std::size_t>(backtrace(calls.data(), kMostCalls));
  std::vector<std::uintptr_t> allocated_by(depth);
  std::transform(calls.begin(), calls.begin() + depth, allocated_by.begin(), to_number);
  const std::uint64_t age = ++regions_;
  retire(std::move(allocations_[address].region));
  allocations_[address] = {address + bytes, false,
                           std::make_unique<Region>(Region{
                               age,
                               address,
                               address + bytes,
                               fmt::format("an allocation of {} bytes{}{}", bytes, kUnnamed, age),
                               kUnnamedElement,
                               Shadow(bytes, 1, false),
                               {},
                               std::move(allocated_by)})};
}

void Recorder::freed(const void* begin) {
  const auto found = allocations_.find(to_number(begin));
  if (found == allocations_.end()) return;
  found->second.freed = true;
  found->second.region->shadow = Shadow(0, 1, false);
  last_region_ = nullptr;
}

void Recorder::written_by_host(const void* begin, std::size_t bytes) {
  host_bytes_ += bytes;
  mark_written(begin, bytes);
}

void Recorder::mark_written(const void* begin, std::size_t bytes) {
  const std::uintptr_t first = to_number(begin);
  auto after = allocations_.upper_bound(first);
  if (after == allocations_.begin()) return;
  Region& region = *std::prev(after)->second.region;
  const std::uintptr_t from = std::max(first, region.begin);
  const std::uintptr_t to = std::min(first + bytes, region.end);
  if (from < to) region.shadow.mark(from - region.begin, to - from, true);
}

void Recorder::named(const MemoryName& name) {
  const std::uintptr_t begin = to_number(name.begin);
  auto after = allocations_.upper_bound(begin);
  if (after == allocations_.begin() || name.bytes == 0) return;
  Allocation& allocation = std::prev(after)->second;
  if (begin + name.bytes > allocation.end) return;
  retire(std::move(allocation.region));
  allocation.region = std::make_unique<Region>(Region{
      ++regions_, begin, begin + name.bytes, name.name, name.element_bytes,
      Shadow(name.bytes, static_cast<unsigned>(name.element_bytes), name.written), name.axes});
}

void Recorder::retire(std::unique_ptr<Region> region) {
  last_region_ = nullptr;
  if (!region || recordings_.empty()) return;
  region->shadow = Shadow(0, 1, false);
  retired_.push_back(std::move(region));
}

Recorder::Region* Recorder::region_at(std::uintptr_t address, unsigned bytes) {
  const auto holds = [&](const Region& region) {
    return address >= region.begin && address + bytes <= region.end;
  };
  if (last_region_ != nullptr && holds(*last_region_)) return last_region_;
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation& allocation = std::prev(after)->second;
  if (allocation.freed || !holds(*allocation.region)) return nullptr;
  return last_region_ = allocation.region.get();
}

// Whether the address is in a stack, in a variable of the program or in the kernel's arguments. A
// GPU keeps these in registers, local or constant memory.
bool Recorder::is_private(std::uintptr_t address) const {
  if (address >= to_number(arguments_.begin) && address < to_number(arguments_.end)) return true;
  const auto after = stacks_.upper_bound(address);
  if (after != stacks_.begin() && address < std::prev(after)->second) return true;
  return is_built_in_variable(address) || in_program_data(address);
}

// ---- One access ----

void Recorder::accessed(std::uintptr_t pc, std::uintptr_t address, unsigned bytes,
                        Operation operation, Through through) {
  if (address >= stack_begin_ && address < stack_end_) {
    Thread& thread = threads_[thread_];
    if (!thread.results.empty()) use_register(pc, address, bytes, operation);
    for (Thread::Lent& each : thread.lent) {
      if (operation != Operation::kLoad && address < each.end && address + bytes > each.begin)
        each.stored_by = pc;
    }
    return;
  }
  const bool in_shared = is_shared(address);
  Region* const region = in_shared ? nullptr : region_at(address, bytes);
  if (!in_shared && region == nullptr && is_private(address)) return;

  settle_values();
  count_event();
  ++threads_[thread_].work;
  const std::uint32_t place = place_of(pc, true, operation, bytes);
  places_[place].through = through;
  const bool pending = through == Through::kAsyncCopy;
  Stamp now = stamp_of(place);
  now.atomic = operation == Operation::kAtomic;
  now.pending = pending;

  if (in_shared) {
    const auto site =
        std::find_if(shared_sites_.begin(), shared_sites_.end(), [&](const SharedSite& each) {
          return address >= each.begin && address + bytes <= each.end;
        });
    if (site == shared_sites_.end()) stray(now, address, bytes);
    const auto hit = static_cast<std::size_t>(site - shared_sites_.begin());
    Place& hits = places_[place];
    hits.several_sites = hits.several_sites || hits.site.value_or(hit) != hit;
    hits.site = hit;
    const SharedSite& last = shared_sites_.back();
    check(*shared_shadow_, address - shared_sites_.front().begin, {place, address},
          {Space::kShared, kNoName, shared_offset(address), bytes,
           last.offset + last.end - last.begin},
          now);
  } else {
    if (region == nullptr) stray(now, address, bytes);
    Place& hits = places_[place];
    hits.several_regions =
        hits.launch == launch_ && (hits.several_regions || hits.region != region);
    hits.region = region;
    hits.launch = launch_;
    const std::uint64_t offset = address - region->begin;
    region->touched = launch_;
    if (region->by_async.launch == launch_) {
      const auto conflict = order_.accessed_in_array(region->by_async, now, offset, bytes,
                                                     operation != Operation::kLoad);
      if (conflict) note_conflict(*region, now, *conflict);
    }
    check(region->shadow, offset, {place, address},
          {Space::kGlobal, region->name, static_cast<std::int64_t>(offset), bytes,
           region->end - region->begin},
          now);
  }
  if (!pending) {
    hold({place, address});
    log_value(place, address, bytes, region);
  }
}

// Skips unnamed shared memory.
void Recorder::log_value(std::uint32_t place, std::uintptr_t address, unsigned bytes,
                         const Region* region) {
  if (!value_log_) return;
  const ValueTouch touch{places_[place].operation, 0, block_, thread_, place, 0, 0, 0};
  if (region != nullptr) {
    value_log_->touched(touch, {region->name, region->element_bytes, false, region->axes},
                        region->begin, address, bytes);
    return;
  }
  const std::int64_t offset = shared_offset(address);
  const auto after = shared_names_.upper_bound(offset);
  if (after == shared_names_.begin()) return;
  const auto& [begin, variable] = *std::prev(after);
  std::string axes;
  for (const std::size_t extent : variable.extents)
    axes += extent == 0 ? "" : fmt::format("[]={} ", extent);
  value_log_->touched(touch, {variable.name, variable.element_bytes, true, axes},
                      address - static_cast<std::uintptr_t>(offset - begin), address, bytes);
}

void Recorder::copy_starts(const void* pc, const void* to, std::size_t bytes, const void* from,
                           std::size_t read) {
  ++recording_->kernel.counters[kAsyncCopies];
  Thread& thread = threads_[thread_];
  thread.copies.push_back({thread.work, epoch_});
  if (read > 0) {
    accessed(to_number(pc), to_number(from), static_cast<unsigned>(read), Operation::kLoad);
  }
  Stamp now;
  now.launch = launch_;
  now.block = block_;
  const bool is_used =
      is_shared(to_number(to)) &&
      (shared_shadow_->was_read(in_window(to), static_cast<unsigned>(bytes), now) ||
       was_read_by_product(in_window(to) / Order::kUnit));
  recording_->kernel.copies_to_used_places += is_used;
  accessed(to_number(pc), to_number(to), static_cast<unsigned>(bytes), Operation::kStore,
           Through::kAsyncCopy);
  if (value_log_) {
    copies_[to_number(to)] =
        place_of(to_number(pc), true, Operation::kStore, static_cast<unsigned>(bytes));
  }
  thread.work = thread.copies.back().work;
}

void Recorder::copy_arrives(const void* to, std::size_t bytes, Site where) {
  Thread& thread = threads_[thread_];
  if (where.line != 0) {
    const Thread::Copy& copy = thread.copies.front();
    recording_->kernel.counters[kAsyncCopiesBeforeBarrier] += copy.epoch == epoch_;
    if (copy.work == thread.work) {
      ++recording_->kernel.counters[kAsyncCopiesAtOnce];
      ++recording_->at_once[{where.file, where.line}];
    }
  }
  thread.copies.pop_front();
  if (value_log_) {
    const auto copy = copies_.find(to_number(to));
    if (copy != copies_.end())
      log_value(copy->second, to_number(to), static_cast<unsigned>(bytes), nullptr);
  }
  Stamp now;
  now.epoch = epoch_;
  now.clock = clock_of(thread_);
  now.thread = static_cast<std::uint16_t>(thread_);
  shared_shadow_->arrived(to_number(to) - shared_sites_.front().begin, bytes, now);
}

void Recorder::matrix_row_loaded(const void* pc, const void* row, std::size_t bytes) {
  accessed(to_number(pc), to_number(row), static_cast<unsigned>(bytes), Operation::kLoad,
           Through::kMatrixLoad);
}

void Recorder::matrix_row_stored(const void* pc, const void* row, std::size_t bytes) {
  accessed(to_number(pc), to_number(row), static_cast<unsigned>(bytes), Operation::kStore);
}

void Recorder::matrices_multiplied(unsigned multiply_adds) {
  ++recording_->kernel.counters[kTensorOperations];
  recording_->kernel.counters[kTensorMultiplyAdds] += multiply_adds;
  const unsigned first = thread_ / kWarpSize * kWarpSize;
  for (unsigned thread = first; thread < std::min(first + kWarpSize, threads_in_block_); ++thread)
    ++threads_[thread].work;
}

// Includes the gaps between the arrays and 128 bytes on either side.
bool Recorder::is_shared(std::uintptr_t address) const {
  return !shared_sites_.empty() && address >= shared_sites_.front().begin - kBanks * kBankBytes &&
         address < shared_sites_.back().end + kBanks * kBankBytes;
}

std::int64_t Recorder::shared_offset(std::uintptr_t address) const {
  const auto after = std::find_if(shared_sites_.begin(), shared_sites_.end(),
                                  [&](const SharedSite& each) { return address < each.begin; });
  const SharedSite& site = after == shared_sites_.begin() ? *after : *std::prev(after);
  return static_cast<std::int64_t>(site.offset + address - site.begin);
}

// The element of a __shared__ variable as the source would write it, such as kv_smem[1]. Empty if
// nothing there has a name.
std::string Recorder::shared_element(std::int64_t offset) const {
  return shared_element(offset, offset);
}

// The same for the array that contains the offset `in`. The element may be outside that array.
std::string Recorder::shared_element(std::int64_t offset, std::int64_t in) const {
  const auto after = shared_names_.upper_bound(in);
  if (after == shared_names_.begin()) return "";
  const auto& [begin, variable] = *std::prev(after);
  if (offset < begin) return variable.name;  // before the first element
  const auto bytes = static_cast<std::int64_t>(variable.element_bytes);
  const std::int64_t within = (offset - begin) % bytes;
  std::int64_t index = (offset - begin) / bytes;
  std::string indices;
  for (std::size_t axis = variable.extents.size(); axis-- > 0;) {
    const auto extent = static_cast<std::int64_t>(variable.extents[axis]);
    if (extent == 0) continue;
    indices = fmt::format("[{}]", axis > 0 ? index % extent : index) + indices;
    index /= extent;
  }
  return variable.name + indices + (within == 0 ? "" : fmt::format(" from its byte {} on", within));
}

// Ends the launch at an access whose error has been noted. Its request is drawn, but not counted.
void Recorder::stop_at(const Event& access, const std::string& kind) {
  hold(access);
  stopped_ = true;
  abandon_block(cudaErrorIllegalAddress, fmt::format("the X-ray found: {}", kind));
}

void Recorder::check(Shadow& shadow, std::uint64_t offset, const Event& access,
                     const Target& target, const Stamp& now) {
  const Operation operation = places_[access.place].operation;
  // Shared arrays begin at multiples of 128 bytes, so their offsets have the addresses' alignment.
  // A copy that zfill shortens can have another size; the emulator checks the alignment of copies.
  const std::uint64_t at = target.space == Space::kGlobal ? access.address : offset;
  if (std::has_single_bit(target.bytes) && at % target.bytes != 0) {
    note("misaligned access", target, now);
    stop_at(access, "misaligned access");
  }
  if (operation != Operation::kStore && !shadow.was_written(offset, target.bytes)) {
    // A wide access may include written bytes, so only the first unwritten ones are reported.
    unsigned first = 0;
    while (shadow.was_written(offset + first, 1))
      ++first;
    unsigned end = first + 1;
    while (end < target.bytes && !shadow.was_written(offset + end, 1))
      ++end;
    note("uninitialised read",
         {target.space, target.buffer, target.offset + first, end - first, target.size,
          target.counts_from},
         now);
  }
  Seen seen = seen_by(thread_);
  // Keeping all readers of global memory would be slow, and they are rarely ordered individually.
  if (target.space == Space::kGlobal) seen.all_readers = false;
  if (order_.is_followed() && target.space == Space::kShared) {
    const auto conflict =
        order_.accessed(thread_, offset, target.bytes, operation != Operation::kLoad);
    if (conflict) note_conflict(now, *conflict);
  }
  const std::optional<Race> race = operation == Operation::kLoad
                                       ? shadow.load(offset, target.bytes, now, seen)
                                       : shadow.store(offset, target.bytes, now, seen);
  if (race) {
    const std::uint64_t first = std::max(offset, race->offset);
    const std::uint64_t end = std::min(offset + target.bytes, race->offset + race->bytes);
    Target both = target;
    both.offset += static_cast<std::int64_t>(first - offset);
    both.bytes = static_cast<unsigned>(end - first);
    const bool more_orders = order_.is_followed() && !now.pending && !race->with.pending &&
                             relation_of(now, race->with) == Relation::kSameBlock;
    note("race", both, now, race->with,
         more_orders ? "no __syncthreads(), mbarrier or named barrier orders them" : "");
  }
}

// Ends the launch at an access that hits no array. If the instruction has accessed exactly one
// array before in this launch, that array was meant. Otherwise the nearest one is the guess.
void Recorder::stray(const Stamp& now, std::uintptr_t address, unsigned bytes) {
  const auto report = [&](const char* kind, Space space, const std::string& buffer,
                          std::uintptr_t begin, std::uintptr_t end, std::uint64_t counts_from = 0,
                          bool meant = true) {
    note(kind,
         {space, buffer, static_cast<std::int64_t>(address - begin), bytes, end - begin,
          counts_from, meant},
         now);
    stop_at({now.place, address}, kind);
  };
  const auto distance = [&](std::uintptr_t begin, std::uintptr_t end) {
    return address < begin ? begin - address : address >= end ? address - end : 0;
  };
  const Place& hits = places_[now.place];
  const bool known_site = hits.site && !hits.several_sites && *hits.site < shared_sites_.size();
  if (!shared_sites_.empty() &&
      (known_site ||
       distance(shared_sites_.front().begin, shared_sites_.back().end) <= kBanks * kBankBytes)) {
    const SharedSite& nearest = *std::min_element(
        shared_sites_.begin(), shared_sites_.end(), [&](const SharedSite& a, const SharedSite& b) {
          return distance(a.begin, a.end) < distance(b.begin, b.end);
        });
    const SharedSite& site = known_site ? shared_sites_[*hits.site] : nearest;
    report("out of bounds", Space::kShared, kNoName, site.begin, site.end, site.offset,
           known_site || shared_sites_.size() == 1);
  }
  const bool in_arena =
      !shared_sites_.empty() && address - shared_sites_.front().begin < kMostSharedBytes;
  if (!in_arena && is_host_memory(reinterpret_cast<const void*>(address)))
    report("host memory", Space::kGlobal, kNoName, address, address);
  const Allocation* nearest = nullptr;
  for (const auto& [begin, allocation] : allocations_) {
    if (allocation.freed && address >= begin && address < allocation.end) {
      report("use after free", Space::kGlobal, allocation.region->name, allocation.region->begin,
             allocation.region->end);
    }
    const Region& region = *allocation.region;
    if (!allocation.freed &&
        (nearest == nullptr || distance(region.begin, region.end) <
                                   distance(nearest->region->begin, nearest->region->end))) {
      nearest = &allocation;
    }
  }
  if (hits.region != nullptr && hits.launch == launch_ && !hits.several_regions)
    report("out of bounds", Space::kGlobal, hits.region->name, hits.region->begin,
           hits.region->end);
  if (nearest != nullptr && distance(nearest->region->begin, nearest->region->end) <= kNearby) {
    const Region& region = *nearest->region;
    report("out of bounds", Space::kGlobal, region.name, region.begin, region.end, 0, false);
  }
  report("out of bounds", Space::kGlobal, kNoName, address, address);
  std::abort();  // report() does not return
}

void Recorder::note(const char* kind, const Target& target, const Stamp& party, const Stamp& other,
                    const std::string& missing) {
  // The schedule decides which of the two comes first.
  const std::pair<std::uint32_t, std::uint32_t> places = std::minmax(party.place, other.place);
  for (Finding& each : recording_->findings) {
    const auto [low, high] = std::minmax(each.party.place, each.other.place);
    if (each.kind == kind && std::pair(low, high) == places &&
        (each.other.launch == 0) == (other.launch == 0) &&
        (other.launch == 0 || relation_of(each.party, each.other) == relation_of(party, other))) {
      ++each.count;
      return;
    }
  }
  std::string element;
  if (target.space == Space::kShared) {
    const auto from = static_cast<std::int64_t>(target.counts_from);
    const std::int64_t last = std::max(from, from + static_cast<std::int64_t>(target.size) - 1);
    const std::int64_t in = std::clamp(from + target.offset, from, last);
    element = target.meant ? shared_element(from + target.offset, in) : shared_element(-1, in);
  }
  recording_->findings.push_back({kind, target.space, target.buffer, element, target.offset,
                                  target.bytes, target.size, 1, target.meant, party, other,
                                  missing});
  // No request contains the shared end of an asynchronous copy or an access by the async proxy.
  const std::size_t finding = recording_->findings.size() - 1;
  if (!party.pending && !target.in_registers && places_[party.place].through < Through::kBulkCopy) {
    unmerged_.push_back({finding, thread_, threads_[thread_].events.size()});
  } else if (play_) {
    // The copy's other end, the operation that has just begun, or what its thread does next.
    const std::vector<Event>& events = threads_[party.thread].events;
    const bool is_last = !events.empty() && (party.pending || happens(events.back()));
    unmerged_.push_back({finding, party.thread, events.size() - is_last});
  }
}

Recorder::Relation Recorder::relation_of(const Stamp& a, const Stamp& b) {
  if (a.block != b.block) return Relation::kOtherBlock;
  return a.thread / kWarpSize == b.thread / kWarpSize ? Relation::kSameWarp : Relation::kSameBlock;
}

// ---- Launches and blocks ----

void Recorder::launch_starts(const char* kernel, dim3 grid, dim3 block, std::size_t dynamic_shared,
                             AddressRange arguments) {
  auto found = std::find_if(recordings_.begin(), recordings_.end(),
                            [&](const Recording& each) { return each.kernel.name == kernel; });
  if (found == recordings_.end()) {
    recordings_.emplace_back();
    found = std::prev(recordings_.end());
    found->kernel.name = kernel;
  }
  recording_ = &*found;
  ++recording_->kernel.launches;
  recording_->kernel.grid = grid;
  recording_->kernel.block = block;
  recording_->kernel.dynamic_shared_bytes = dynamic_shared;
  ++launch_;
  if (value_log_) value_log_->launch_starts({kernel, grid, block});
  events_ = 0;
  threads_in_block_ = block.x * block.y * block.z;
  threads_.resize(std::max<std::size_t>(threads_.size(), threads_in_block_));
  arguments_ = arguments;
}

void Recorder::launch_ends(std::size_t static_shared) {
  Kernel& kernel = recording_->kernel;
  kernel.static_shared_bytes = std::max(kernel.static_shared_bytes, static_shared);
  kernel.largest_launch = std::max(kernel.largest_launch, events_);
  kernel.counters[kSharedBytes] = kernel.static_shared_bytes + kernel.dynamic_shared_bytes;
}

void Recorder::block_starts(std::uint64_t linear_block) {
  block_ = linear_block;
  if (value_log_) value_log_->block_starts();
  if (play_) play_->running = {linear_block};
  epoch_ = 0;
  held_ = 0;
  unmerged_.clear();
  stopped_ = false;
  for (Thread& thread : threads_) {
    thread.path = 0;
    thread.events.clear();
    thread.copies.clear();
    thread.results.clear();
    thread.last_places = kNowhere;
  }
  read_by_products_.clear();
  clocks_.assign(std::size_t{threads_in_block_} * kWarpSize, 0);
  for (unsigned thread = 0; thread < threads_in_block_; ++thread)
    clocks_[thread * kWarpSize + thread % kWarpSize] = 1;
  met_.assign(threads_in_block_, 0);
  order_.begin_block(threads_in_block_);
  shared_sites_.clear();
  shared_names_.clear();
  timeline_.begin(recording_->kernel.timeline, threads_in_block_);
}

void Recorder::block_ends() {
  settle_values();
  for (unsigned thread = 0; value_log_ && thread < threads_in_block_; ++thread)
    value_log_->ended({0, block_, thread, threads_[thread].last_places});
  merge_warps();
  if (play_) keep_played_block();
}

void Recorder::shared_declared(const void* begin, std::size_t bytes) {
  const std::uintptr_t address = to_number(begin);
  std::uint64_t offset = 0;
  if (shared_sites_.empty()) {
    shared_shadow_ = std::make_unique<Shadow>(kMostSharedBytes, 1, false);
  } else {
    const SharedSite& last = shared_sites_.back();
    constexpr std::uint64_t kAllBanks = kBanks * kBankBytes;
    offset = (last.offset + last.end - last.begin + kAllBanks - 1) / kAllBanks * kAllBanks;
  }
  shared_sites_.push_back({address, address + bytes, offset});
}

void Recorder::shared_named(const SharedName& name) {
  shared_names_.try_emplace(shared_offset(to_number(name.begin)), name);
}

void Recorder::thread_runs(unsigned linear, AddressRange stack) {
  settle_values();
  thread_ = linear;
  stack_begin_ = to_number(stack.begin);
  stack_end_ = to_number(stack.end);
  stacks_[stack_begin_] = stack_end_;
  if (!play_) return;
  play_->turns.resize(threads_.size());
  play_->turns[linear].emplace_back(threads_[linear].events.size(), ++play_->turn);
}

void Recorder::block_met() {
  settle_values();
  ++recording_->kernel.counters[kBarriers];
  ++epoch_;
  if (order_.is_followed()) {
    order_.all_met();
  } else {
    for (unsigned thread = 0; thread < threads_in_block_; ++thread)
      met_[thread] = clocks_[thread * kWarpSize + thread % kWarpSize]++;
  }
  merge_warps();
  if (play_) play_barrier();
}

void Recorder::bulk_stored(const std::vector<AddressRange>& rows) {
  ++recording_->kernel.counters[kBulkStores];
  for (const AddressRange& row : rows) {
    const std::size_t bytes = to_number(row.end) - to_number(row.begin);
    recording_->kernel.counters[kBulkStoreBytes] += bytes;
    mark_written(row.begin, bytes);
  }
}

void Recorder::happened(const Happening& what) {
  std::array<std::uint64_t, kCounters>& counters = recording_->kernel.counters;
  const std::string_view operation = what.operation;
  const bool first_lane = what.thread % kWarpSize == 0;
  if (what.kind == Happening::kProductStarts) counters[kProductBytes] += what.number;
  if (what.kind == Happening::kWaitStarts && operation == "wait") ++counters[kBarrierWaits];
  if (what.kind == Happening::kWaitStarts && operation == "wgmma_wait_group" && first_lane) {
    ++counters[kProductWaits];
    if (what.number == 0) ++counters[kProductWaitsForAll];
  }
  if (what.kind != Happening::kWaitEnds && first_lane &&
      (operation == "named_barrier_sync" || operation == "named_barrier_arrive"))
    ++counters[kNamedBarriers];
  timeline_.happened(what);
  if (play_) play_happening(what);
}

void Recorder::lanes_met(unsigned warp, unsigned lanes, const char* name) {
  settle_values();
  if (std::string_view(name).substr(0, 6) == "__shfl") ++recording_->kernel.counters[kShuffles];
  // Only __syncwarp orders memory. Shuffles and votes exchange registers.
  if (std::string_view(name) != "__syncwarp") return;
  if (order_.is_followed()) return order_.lanes_met(warp, lanes);
  std::array<std::uint32_t, kWarpSize> joined{};
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    const std::uint32_t* const clocks = &clocks_[(warp * kWarpSize + lane) * kWarpSize];
    for (unsigned i = 0; i < kWarpSize; ++i)
      joined[i] = std::max(joined[i], clocks[i]);
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    std::uint32_t* const clocks = &clocks_[(warp * kWarpSize + lane) * kWarpSize];
    std::copy(joined.begin(), joined.end(), clocks);
    ++clocks[lane];
  }
}

void Recorder::lane_takes(const void* pc, unsigned source) {
  if (!value_log_) return;
  settle_values();
  const std::uint32_t place = place_of(to_number(pc), false, Operation::kLoad, 0);
  value_log_->taken({0, block_, thread_, place, source, 0});
}

// ---- Order within a block, and the async proxy ----

void Recorder::follow_order() {
  if (!order_.is_followed()) order_.follow(clocks_, met_);
}

Seen Recorder::seen_by(unsigned thread) const {
  if (order_.is_followed()) return order_.seen(thread);
  return {&clocks_[thread * kWarpSize], thread / kWarpSize * kWarpSize, kWarpSize, false};
}

std::uint32_t Recorder::place_of(Site where, Through through, Operation operation, unsigned bytes) {
  // The kernel's line identifies the instruction, together with the chain of calls.
  const std::uintptr_t key = to_number(where.file) ^
                             (static_cast<std::uintptr_t>(where.line) << 8) ^
                             static_cast<std::uintptr_t>(through);
  const std::uint32_t number = place_of(key, true, operation, bytes);
  Place& place = places_[number];
  if (place.where.line != 0) return number;
  place.calls_and_pc.pop_back();
  place.through = through;
  place.where = where;
  return number;
}

Stamp Recorder::stamp_of(std::uint32_t place) const {
  return {block_, launch_, epoch_, clock_of(thread_), place, static_cast<std::uint16_t>(thread_)};
}

void Recorder::note_conflict(const Stamp& party, const Conflict& conflict) {
  Stamp now = party;
  now.thread = static_cast<std::uint16_t>(conflict.thread);
  const SharedSite& last = shared_sites_.back();
  note("race",
       {Space::kShared, kNoName, shared_offset(shared_sites_.front().begin + conflict.offset),
        static_cast<unsigned>(conflict.bytes), last.offset + last.end - last.begin},
       now, conflict.other, missing_between(now, conflict));
}

void Recorder::note_conflict(const Region& region, const Stamp& party, const Conflict& conflict) {
  note("race",
       {Space::kGlobal, region.name, static_cast<std::int64_t>(conflict.offset),
        static_cast<unsigned>(conflict.bytes), region.end - region.begin},
       party, conflict.other, missing_in_global(party, conflict));
}

// Reports rows of equal length and equal distance together.
void Recorder::starts_in_global(std::uint32_t operation, const std::vector<AddressRange>& rows,
                                bool writes, const Stamp& by) {
  if (rows.empty()) return;
  const std::uintptr_t first = to_number(rows.front().begin);
  Region* const region = region_at(first, 1);
  if (region == nullptr) return;
  const auto told = [&](const Rows& together) {
    order_.starts_in_array(region->by_async, operation, together, writes, by,
                           region->touched == launch_ ? &region->shadow : nullptr,
                           [&](const Conflict& conflict) { note_conflict(*region, by, conflict); });
  };
  Rows together{first - region->begin, to_number(rows.front().end) - first};
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::uint64_t begin = to_number(rows[i].begin) - region->begin;
    const std::uint64_t bytes = to_number(rows[i].end) - to_number(rows[i].begin);
    const std::uint64_t last = together.begin + (together.count - 1) * together.stride;
    const std::uint64_t stride = begin - last;
    if (bytes == together.bytes && begin >= last + bytes &&
        (together.count == 1 || stride == together.stride)) {
      together.stride = stride;
      ++together.count;
    } else {
      told(together);
      together = {begin, bytes};
    }
  }
  told(together);
}

void Recorder::barrier_begins(unsigned barrier, const void* at, Site where) {
  follow_order();
  barriers_at_[barrier] = in_window(at);
  order_.barrier_begins(
      barrier, stamp_of(place_of(where, Through::kBarrier, Operation::kStore, sizeof(Barrier))));
}

void Recorder::barriers_fenced() {
  follow_order();
  order_.barriers_fenced(thread_);
}

// Checks that the barrier's initialisation comes before this use and has been fenced.
void Recorder::use_barrier(unsigned barrier, Site where) {
  if (const auto begun = order_.unordered_begin(barrier, thread_)) {
    const Stamp now =
        stamp_of(place_of(where, Through::kBarrier, Operation::kAtomic, sizeof(Barrier)));
    note_conflict(now, {*begun, barriers_at_[barrier], sizeof(Barrier), thread_});
  } else if (const auto unfenced = order_.unfenced_begin(barrier, thread_)) {
    const Site begun_at = places_[unfenced->place].where;
    recording_->notes[{begun_at.file, begun_at.line}] =
        "no fence_barrier_init (fence.mbarrier_init) lies between this and the barrier behind it. "
        "Within a "
        "block __syncthreads is enough; a cluster needs the fence";
  }
}

void Recorder::barrier_arrived(unsigned barrier, Site where) {
  use_barrier(barrier, where);
  order_.barrier_arrived(barrier, thread_);
}

void Recorder::barrier_waited(unsigned barrier, Site where) {
  use_barrier(barrier, where);
  order_.phase_seen(barrier, thread_);
}

void Recorder::phase_ended(unsigned barrier) {
  order_.phase_ended(barrier);
}

void Recorder::named_reached(unsigned name) {
  follow_order();
  order_.named_reached(name, thread_);
}

void Recorder::named_taken(unsigned name, unsigned warp) {
  order_.named_taken(name, warp);
}

void Recorder::named_complete(unsigned name, std::uint32_t waiting_warps) {
  order_.named_complete(name, waiting_warps);
}

void Recorder::proxies_fenced(bool of_global) {
  follow_order();
  order_.proxies_fenced(thread_, of_global);
}

void Recorder::bulk_copy_starts(std::uint64_t copy, unsigned barrier, const void* to,
                                std::size_t bytes, const std::vector<AddressRange>& from,
                                Site where) {
  follow_order();
  use_barrier(barrier, where);
  const auto place = [&](Operation operation) {
    return place_of(where, Through::kBulkCopy, operation, static_cast<unsigned>(bytes));
  };
  const Stamp now = stamp_of(place(Operation::kStore));
  const std::uint32_t operation =
      order_.copy_starts(copy, thread_, in_window(to), bytes, now, *shared_shadow_,
                         [&](const Conflict& conflict) { note_conflict(now, conflict); });
  shared_shadow_->mark(in_window(to), bytes, true);
  starts_in_global(operation, from, false, stamp_of(place(Operation::kLoad)));
}

void Recorder::bulk_copied(std::uint64_t copy, unsigned barrier, const void*, std::size_t bytes) {
  ++recording_->kernel.counters[kBulkCopies];
  recording_->kernel.counters[kBulkCopyBytes] += bytes;
  order_.copy_complete(copy, barrier);
}

void Recorder::bulk_store_starts(std::uint64_t group, const void* from, std::size_t bytes,
                                 const std::vector<AddressRange>& to, Site where) {
  follow_order();
  const auto place = [&](Operation operation) {
    return place_of(where, Through::kBulkStore, operation, static_cast<unsigned>(bytes));
  };
  const Stamp now = stamp_of(place(Operation::kLoad));
  const std::uint32_t operation =
      order_.store_starts(group, thread_, in_window(from), bytes, now, *shared_shadow_,
                          [&](const Conflict& conflict) { note_conflict(now, conflict); });
  starts_in_global(operation, to, true, stamp_of(place(Operation::kStore)));
}

void Recorder::bulk_stores_waited(std::uint64_t end, bool only_read) {
  if (order_.is_followed()) order_.stores_waited(thread_, end, only_read);
}

void Recorder::warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number) {
  follow_order();
  order_.warp_issues_product(warpgroup, warp, number);
}

void Recorder::product_starts(unsigned warpgroup, std::uint64_t number,
                              const std::vector<OperandPart>& parts, Site where) {
  operand_units_.clear();
  read_by_products_.resize(kMostSharedBytes / Order::kUnit);
  for (const OperandPart& part : parts) {
    operand_units_.push_back({in_window(part.at), part.warps});
    read_by_products_[in_window(part.at) / Order::kUnit] = true;
  }
  const Stamp now = stamp_of(place_of(where, Through::kProduct, Operation::kLoad, Order::kUnit));
  order_.product_starts(warpgroup, number, operand_units_, now, *shared_shadow_,
                        [&](const Conflict& conflict) { note_conflict(now, conflict); });
}

void Recorder::products_waited(std::uint64_t end) {
  if (order_.is_followed()) order_.products_waited(thread_, end);
}

void Recorder::registers_lent(const void* begin, std::size_t bytes) {
  std::vector<Thread::Lent>& lent = threads_[thread_].lent;
  for (Thread::Lent& each : lent) {
    if (each.begin != to_number(begin)) continue;
    ++each.products;
    return;
  }
  lent.push_back({to_number(begin), to_number(begin) + bytes, 1, 0});
}

std::string Recorder::registers_returned(const void* begin) {
  std::vector<Thread::Lent>& lent = threads_[thread_].lent;
  const auto found = std::find_if(lent.begin(), lent.end(), [&](const Thread::Lent& each) {
    return each.begin == to_number(begin);
  });
  if (found == lent.end()) return "";
  const std::string stored =
      found->stored_by == 0 ? "" : source_of({reinterpret_cast<const void*>(found->stored_by)});
  if (--found->products == 0) lent.erase(found);
  return stored;
}

void Recorder::results_arrive(const void* d, std::size_t bytes, Site where) {
  pinned(d, bytes);  // the newest wait replaces earlier ones for these registers
  threads_[thread_].results.push_back({to_number(d), to_number(d) + bytes, where});
}

void Recorder::pinned(const void* d, std::size_t bytes) {
  std::erase_if(threads_[thread_].results, [&](const Thread::Result& each) {
    return each.begin < to_number(d) + bytes && each.end > to_number(d);
  });
}

void Recorder::use_register(std::uintptr_t pc, std::uintptr_t address, unsigned bytes,
                            Operation operation) {
  for (const Thread::Result& result : threads_[thread_].results) {
    if (address >= result.end || address + bytes <= result.begin) continue;
    const Stamp wait =
        stamp_of(place_of(result.waited, Through::kRegisters, Operation::kLoad, sizeof(float)));
    note("unpinned result",
         {.space = Space::kGlobal,
          .buffer = kNoName,
          .offset = 0,
          .bytes = bytes,
          .size = 0,
          .in_registers = true},
         stamp_of(place_of(pc, true, operation, bytes)), wait);
  }
}

// ---- Warps ----

BankWords Recorder::words_of_lanes(const Request& request, unsigned begin, unsigned end,
                                   unsigned bytes, std::uintptr_t base) {
  BankWords words;
  for (unsigned i = 0; i < request.lanes; ++i) {
    if (request.lane[i] >= begin && request.lane[i] < end)
      words.add(request.address[i] - base, bytes);
  }
  return words;
}

// Whether all pairs of active lanes at distance 1, or all pairs at distance 2, access the same
// address.
bool Recorder::lanes_pair_up(const Request& request, unsigned begin, unsigned count) {
  std::array<std::uint64_t, kWarpSize> wanted{};  // 0: idle
  for (unsigned i = 0; i < request.lanes; ++i)
    wanted[request.lane[i]] = request.address[i];
  const auto pair_up = [&](unsigned distance) {
    for (unsigned lane = begin; lane < std::min(begin + count, kWarpSize); ++lane) {
      const std::uint64_t other = wanted[lane ^ distance];
      if (wanted[lane] != 0 && other != 0 && wanted[lane] != other) return false;
    }
    return true;
  };
  return pair_up(1) || pair_up(2);
}

void Recorder::merge_warps() {
  for (Unmerged& each : unmerged_) {
    const std::size_t events = threads_[each.thread].events.size();
    if (events > 0) each.event = std::min(each.event, events - 1);
  }
  for (unsigned warp = 0; warp * kWarpSize < threads_in_block_; ++warp)
    merge_warp(warp);
  for (Thread& thread : threads_)
    thread.events.clear();
  unmerged_.clear();
  held_ = 0;
  if (play_) sort_played();
}

void Recorder::merge_warp(unsigned warp) {
  const unsigned first = warp * kWarpSize;
  const unsigned lanes = std::min(kWarpSize, threads_in_block_ - first);
  std::array<std::size_t, kWarpSize> next{};
  const auto has_more = [&](unsigned lane) {
    return next[lane] < threads_[first + lane].events.size();
  };
  const auto event = [&](unsigned lane) -> const Event& {
    return threads_[first + lane].events[next[lane]];
  };
  std::vector<std::size_t> left;  // findings at a basic block, for the next step
  while (true) {
    Request request;
    bool any = false;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!has_more(lane)) continue;
      const std::uint32_t place = event(lane).place;
      if (!any || (place != request.place && before(place, request.place))) request.place = place;
      any = true;
    }
    if (!any) return;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (!has_more(lane) || event(lane).place != request.place) continue;
      const unsigned thread = first + lane;
      if (play_) request.turn = std::max(request.turn, turn_of(thread, next[lane]));
      for (const Unmerged& each : unmerged_) {
        if (each.thread == thread && each.event == next[lane])
          request.findings.push_back(each.finding);
      }
      if (stopped_ && thread == thread_ && next[lane] + 1 == threads_[thread].events.size()) {
        request.stopped_lane = lane;
        request.stopped_address = event(lane).address;
      } else {
        request.lane[request.lanes] = lane;
        request.address[request.lanes++] = event(lane).address;
      }
      ++next[lane];
    }
    const Place& place = places_[request.place];
    if (!place.is_access && place.happening == nullptr) {
      left.insert(left.end(), request.findings.begin(), request.findings.end());
      continue;
    }
    request.findings.insert(request.findings.end(), left.begin(), left.end());
    left.clear();
    if (place.is_access) {
      ++request_;
      count(request, warp);
    } else {
      Sample sample{};
      sample.place = request.place;
      sample.warp = warp;
      play(request, sample);
    }
  }
}

void Recorder::count(const Request& request, unsigned warp) {
  PlaceCounts& counts = recording_->places[request.place];
  Sample sample{};
  sample.place = request.place;
  sample.block = block_;
  sample.warp = warp;
  const bool shared = is_shared(request.lanes > 0 ? request.address[0] : request.stopped_address);
  counts.space = shared ? Space::kShared : Space::kGlobal;
  if (request.lanes > 0) {
    ++counts.requests;
    if (shared) {
      count_shared(request, counts, sample);
    } else {
      count_global(request, counts, sample);
    }
  }
  const bool of_first_warp =
      request.lanes > 0 && block_ == 0 && warp == 0 && recording_->kernel.launches == 1;
  const std::size_t most = counts.requests == 1 ? 2 * kMostSteps : kMostSteps;
  const bool first_conflict =
      sample.bank_conflicts > 0 && counts.bank_conflicts == sample.bank_conflicts;
  const bool is_kept = (of_first_warp && recording_->samples.size() < most) || first_conflict ||
                       !request.findings.empty();
  if (is_kept || play_) locate(request, sample, shared);
  if (play_) play(request, sample);
  if (is_kept) keep(request, std::move(sample));
}

// Fills in the array and the lanes' offsets.
void Recorder::locate(const Request& request, Sample& sample, bool shared) {
  std::uintptr_t begin = 0;  // of the array
  if (!shared && request.lanes > 0) {
    const Region& region = *region_at(request.address[0], places_[request.place].bytes);
    begin = region.begin;
    sample.buffer = region.name;
  } else if (!shared) {
    const Finding& missed = recording_->findings[request.findings.front()];
    begin = request.stopped_address - static_cast<std::uintptr_t>(missed.offset);
    sample.buffer = missed.buffer;
  }
  const auto offset = [&](std::uintptr_t address) {
    return shared ? shared_offset(address) : static_cast<std::int64_t>(address - begin);
  };
  sample.offset.fill(Step::kIdle);
  for (unsigned i = 0; i < request.lanes; ++i)
    sample.offset[request.lane[i]] = offset(request.address[i]);
  if (request.stopped_lane) sample.offset[*request.stopped_lane] = offset(request.stopped_address);
}

// Keeps the request as a step of the picture.
void Recorder::keep(const Request& request, Sample&& sample) {
  for (const std::size_t finding : request.findings)
    recording_->findings[finding].sample = static_cast<int>(recording_->samples.size());
  recording_->samples.push_back(std::move(sample));
}

// Lanes with atomics to the same address take turns, and each turn moves its sectors again.
std::uint64_t Recorder::sectors_of(const Request& request) const {
  const Place& place = places_[request.place];
  if (place.operation != Operation::kAtomic)
    return distinct_units(request.address.data(), request.lanes, place.bytes, kSectorBytes);
  std::uint64_t sectors = 0;
  std::vector<std::uint64_t> waiting(request.address.begin(),
                                     request.address.begin() + request.lanes);
  while (!waiting.empty()) {
    std::vector<std::uint64_t> turn, later;
    for (const std::uint64_t address : waiting) {
      const bool taken = std::find(turn.begin(), turn.end(), address) != turn.end();
      (taken ? later : turn).push_back(address);
    }
    sectors +=
        distinct_units(turn.data(), static_cast<unsigned>(turn.size()), place.bytes, kSectorBytes);
    waiting = std::move(later);
  }
  return sectors;
}

void Recorder::count_global(const Request& request, PlaceCounts& counts, Sample& sample) {
  const Place& place = places_[request.place];
  const std::uint64_t sectors = sectors_of(request);
  const std::uint64_t asked = std::uint64_t{request.lanes} * place.bytes;
  auto& counters = recording_->kernel.counters;
  switch (place.operation) {
    case Operation::kLoad:
      ++counters[kGlobalLoadRequests];
      counters[kGlobalLoadSectors] += sectors;
      counters[kGlobalLoadBytesAsked] += asked;
      counters[kGlobalLoadBytesMoved] += sectors * kSectorBytes;
      break;
    case Operation::kStore:
      ++counters[kGlobalStoreRequests];
      counters[kGlobalStoreSectors] += sectors;
      counters[kGlobalStoreBytesAsked] += asked;
      counters[kGlobalStoreBytesMoved] += sectors * kSectorBytes;
      break;
    case Operation::kAtomic:
      counters[kAtomics] += request.lanes;
      ++counters[kAtomicRequests];
      counters[kAtomicSectors] += sectors;
      counters[kAtomicCollisions] +=
          request.lanes -
          distinct_units(request.address.data(), request.lanes, place.bytes, place.bytes);
      break;
  }
  counts.sectors += sectors;
  sample.sectors = sectors;
  const Region* const region = region_at(request.address[0], place.bytes);
  if (std::find(counts.regions.begin(), counts.regions.end(), region) == counts.regions.end())
    counts.regions.push_back(region);
  touch(request, sectors);
}

void Recorder::touch(const Request& request, std::uint64_t sectors) {
  const auto operation = static_cast<std::size_t>(places_[request.place].operation);
  const unsigned bytes = places_[request.place].bytes;
  for (unsigned i = 0; i < request.lanes; ++i) {
    const Region* const region = region_at(request.address[i], bytes);
    Touches& touches = recording_->touches[region][operation];
    if (touches.accesses_of.empty()) {
      const std::size_t elements =
          (region->end - region->begin + region->element_bytes - 1) / region->element_bytes;
      touches.accesses_of.resize(elements);
      touches.requests.resize(elements);
      touches.last_request.resize(elements);
    }
    const std::uintptr_t offset = request.address[i] - region->begin;
    for (std::size_t element = offset / region->element_bytes;
         element <= (offset + bytes - 1) / region->element_bytes; ++element) {
      ++touches.accesses_of[element];
      if (touches.last_request[element] == request_) continue;
      touches.last_request[element] = request_;
      ++touches.requests[element];
    }
    ++touches.accesses;
    touches.bytes_asked += bytes;
    if (i == 0) {
      ++touches.request_count;
      touches.sectors += sectors;
    }
  }
}

// Lanes are served together up to 128 bytes: all 32 for words of 4 bytes, halves for 8 bytes,
// quarters for 16 bytes. The two halves (and the two quarters of each half) share a wavefront if
// neighbouring lanes access the same words, but the four matrices of a matrix load never do. This
// follows from Nsight Compute's counts.
std::vector<BankWords> Recorder::served_together(const Request& request) const {
  const Place& place = places_[request.place];
  const std::uintptr_t base = shared_sites_.front().begin;
  const auto words_of = [&](unsigned begin, unsigned lanes) {
    return words_of_lanes(request, begin, begin + lanes, place.bytes, base);
  };
  const unsigned together = place.bytes <= kBankBytes ? kWarpSize
                            : place.bytes == 8        ? kWarpSize / 2
                                                      : kWarpSize / 4;
  std::vector<BankWords> groups;
  for (unsigned begin = 0; begin < kWarpSize; begin += 2 * together) {
    BankWords first = words_of(begin, together);
    BankWords second = words_of(begin + together, together);
    BankWords both = words_of(begin, 2 * together);
    if (both.empty()) continue;
    const bool merge = first.empty() || second.empty() ||
                       (place.through != Through::kMatrixLoad && both.wavefronts() == 1 &&
                        lanes_pair_up(request, begin, 2 * together));
    if (merge) {
      groups.push_back(std::move(both));
    } else {
      groups.push_back(std::move(first));
      groups.push_back(std::move(second));
    }
  }
  return groups;
}

void Recorder::count_shared(const Request& request, PlaceCounts& counts, Sample& sample) {
  const Place& place = places_[request.place];
  auto& kernel = recording_->kernel;
  if (place.operation == Operation::kAtomic) {
    kernel.counters[kSharedAtomics] += request.lanes;
    return;
  }
  const std::vector<BankWords> groups = served_together(request);
  std::uint64_t wavefronts = 0;
  for (const BankWords& words : groups) {
    wavefronts += words.wavefronts();
    for (unsigned bank = 0; bank < kBanks; ++bank) {
      const std::size_t wanted = words.words[bank].size();
      kernel.bank_accesses[bank] += wanted;
      if (wanted > 1) kernel.bank_conflicts[bank] += wanted - 1;
    }
  }
  const std::uint64_t conflicts = wavefronts - groups.size();
  const bool is_load = place.operation == Operation::kLoad;
  ++kernel.counters[place.through == Through::kMatrixLoad ? kSharedMatrixLoadRequests
                    : is_load                             ? kSharedLoadRequests
                                                          : kSharedStoreRequests];
  kernel.counters[is_load ? kSharedLoadWavefronts : kSharedStoreWavefronts] += wavefronts;
  kernel.counters[is_load ? kSharedLoadBankConflicts : kSharedStoreBankConflicts] += conflicts;
  counts.wavefronts += wavefronts;
  counts.bank_conflicts += conflicts;
  sample.wavefronts = wavefronts;
  sample.bank_conflicts = conflicts;
}

}  // namespace emulator::xray
