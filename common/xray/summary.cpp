// Turns recordings into reports: source lines, sentences, and counts per buffer.
#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recorder.hpp"
#include "symbols.hpp"

namespace emulator::xray {
namespace {

uint3 index_in(std::uint64_t linear, const dim3& extent) {
  return {static_cast<unsigned>(linear % extent.x),
          static_cast<unsigned>(linear / extent.x % extent.y),
          static_cast<unsigned>(linear / extent.x / extent.y)};
}

Spread spread_of(const std::vector<std::uint32_t>& counts) {
  if (counts.empty()) return {};
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  return {*least, *most, sum / static_cast<double>(counts.size())};
}

std::string words_of(const Party& party, bool with_places) {
  std::string at;
  if (with_places) {
    at = " at " + party.where.text();
    for (const Source& caller : party.called_at)
      at += ", called at " + caller.text();
    if (!party.called_at.empty()) at += ",";
  }
  return fmt::format("{}{} by thread ({}, {}, {}) of block ({}, {}, {})",
                     !party.by.empty()    ? party.by
                     : party.asynchronous ? "asynchronous copy"
                                          : to_string(party.operation),
                     at, party.thread.x, party.thread.y, party.thread.z, party.block.x,
                     party.block.y, party.block.z);
}

std::string name_of(Through through, Operation operation) {
  switch (through) {
    case Through::kBulkCopy: return "bulk copy";
    case Through::kBulkStore: return "bulk store";
    case Through::kProduct: return "product";
    case Through::kBarrier: return operation == Operation::kStore ? "init" : "use";
    default: return "";
  }
}

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
}

std::string sentence_of(const Error& error, bool with_places) {
  const std::string memory = error.space == Space::kShared ? "shared memory"
                             : error.buffer.empty()        ? "memory that is no array of the device"
                                                           : error.buffer;
  const std::string at =
      error.element.empty()
          ? fmt::format("{} of {} at byte {}", bytes_text(error.bytes), memory, error.offset)
          : fmt::format("{} of {}", bytes_text(error.bytes), error.element);
  const std::string start = fmt::format("{}: {}", error.kind, words_of(error.party, with_places));
  if (error.kind == "race") {
    return fmt::format("{}, and {} touch {}: {}", start, words_of(error.other, with_places), at,
                       error.missing);
  }
  if (error.kind == "unpinned result")
    return fmt::format(
        "{}, of a product's D: no pin(D) lies between it and the wgmma_wait_group{}, and the "
        "compiler may move it in front of that wait",
        start, with_places ? " at " + error.other.where.text() : "");
  if (error.kind == "misaligned access")
    return fmt::format("{}, {}; allowed: multiples of {}", start, at, error.bytes);
  if (error.kind == "uninitialised read" && error.party.operation == Operation::kAtomic)
    return fmt::format("{}, {}: an atomic adds to what is there; nothing has written it", start,
                       at);
  if (error.kind == "uninitialised read")
    return fmt::format("{}, {}, which nothing has written yet", start, at);
  if (error.kind == "host memory")
    return fmt::format(
        "{}, {} of the host's memory; a kernel needs device memory: cudaMalloc and cudaMemcpy",
        start, bytes_text(error.bytes));
  if (error.kind == "use after free")
    return fmt::format("{}, {}, which the host has freed", start, at);
  if (error.size == 0) return fmt::format("{}, {} of {}", start, bytes_text(error.bytes), memory);
  const auto size = static_cast<std::int64_t>(error.size);
  // So far away, the access may belong to another array.
  constexpr std::int64_t kFar = 4096;
  if (!error.meant && (-error.offset > kFar || error.offset - size > kFar)) {
    return fmt::format("{}, {} outside all arrays: {} {} of {}, the nearest; another may be meant",
                       start, bytes_text(error.bytes),
                       bytes_text(error.offset < 0 ? -error.offset : error.offset - size),
                       error.offset < 0 ? "before the start" : "behind the end", memory);
  }
  const std::string side = error.offset < 0 ? "start" : "end";
  const std::string miss = error.offset < 0
                               ? bytes_text(-error.offset) + " before"
                               : "up to " + bytes_text(error.offset + error.bytes - size) + " past";
  if (!error.meant && error.space == Space::kShared)
    return fmt::format("{}, {} of {}, {} the {} of {}, the nearest array (it has {})", start,
                       bytes_text(error.bytes), memory, miss, side, error.element,
                       bytes_text(size));
  return fmt::format("{}, {}, {} its {} (it has {})", start, at, miss, side, bytes_text(size));
}

// All matches of the pattern's first group. POSIX, because <regex> compiles longer than this file.
std::vector<std::string> matches(const char* pattern, const std::string& text) {
  regex_t form;
  regcomp(&form, pattern, REG_EXTENDED);
  std::vector<std::string> found;
  std::array<regmatch_t, 2> groups;
  for (const char* at = text.c_str(); regexec(&form, at, groups.size(), groups.data(), 0) == 0;
       at += groups[0].rm_eo)
    found.emplace_back(at + groups[1].rm_so, at + groups[1].rm_eo);
  regfree(&form);
  return found;
}

// A line's allocated variables: x of cudaMalloc(&x, 4), a and b of Scratch<float> a(4), b(4);
std::vector<std::string> variables_in(const std::string& line) {
  const std::vector<std::string> pointers = matches(R"(cudaMalloc\w*\([^&]*&(\w+))", line);
  if (!pointers.empty()) return {pointers.front()};
  std::string outside;  // of brackets
  int depth = 0;
  for (const char c : line) {
    depth -= c == ')' || c == '}' ? 1 : 0;
    if (depth == 0) outside += c;
    depth += c == '(' || c == '{' ? 1 : 0;
  }
  return matches(R"([>,]\s*(\w+)\s*[({])", outside);
}

bool is_emulator(const Source& source) {
  return source.file.find("common/emulator/include/") != std::string::npos;
}

bool is_of_kernel_file(const Source& source) {
  const std::string_view ending = ".cu";
  return source.file.size() > ending.size() &&
         source.file.compare(source.file.size() - ending.size(), ending.size(), ending) == 0;
}

// The same file in this copy of the repository, because a compiler's cache may name another copy.
std::string in_this_copy(const std::string& file) {
  static std::map<std::string, std::string> found;
  const auto [known, is_new] = found.try_emplace(file, file);
  for (std::size_t slash = file.find('/'); is_new && slash != std::string::npos;
       slash = file.find('/', slash + 1)) {
    const std::string end = file.substr(slash + 1);
    if (!std::filesystem::is_regular_file(std::filesystem::path(EMULATOR_XRAY_ROOT) / end))
      continue;
    known->second = end;
    break;
  }
  return known->second;
}

// Relative to the repository's root. The compiler names some lines by the rewritten copy,
// .../emulated/03_x/kernel.cu.cpp.
Source relative(Source source) {
  const std::string copies = "/emulated/", ending = ".cu.cpp";
  source.file = std::filesystem::path(source.file).lexically_normal().string();
  const std::size_t copy = source.file.find(copies);
  if (copy != std::string::npos && source.file.size() > ending.size() &&
      source.file.compare(source.file.size() - ending.size(), ending.size(), ending) == 0) {
    source.file = source.file.substr(copy + copies.size());
    source.file.resize(source.file.size() - std::string_view(".cpp").size());
  } else {
    source.file = in_this_copy(source.file);
  }
  return source;
}

// Without surrounding blanks; empty if the file does not exist.
std::string line_of(const Source& source) {
  std::ifstream file(std::filesystem::path(EMULATOR_XRAY_ROOT) / source.file);
  std::string line;
  for (int number = 0; number < source.line; ++number) {
    if (!std::getline(file, line)) return {};
  }
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

// The lines outside the emulator's headers, innermost (inlined) first, then the callers.
std::vector<Source> Recorder::sources_of(std::uint32_t place, const Lines& lines) const {
  std::vector<Source> sources;
  const auto& calls = places_[place].calls_and_pc;
  const Site& where = places_[place].where;
  if (where.line != 0) sources.push_back(relative({where.file, where.line}));
  for (auto pc = calls.rbegin(); pc != calls.rend(); ++pc) {
    const auto found = lines.find(*pc);
    if (found == lines.end()) continue;
    for (const Source& source : found->second) {
      if (!is_emulator(source)) sources.push_back(relative(source));
    }
  }
  if (sources.empty()) sources.push_back({"(unknown)", 0});
  return sources;
}

std::string Recorder::missing_between(const Stamp& party, const Stamp& other) {
  const Relation relation = relation_of(party, other);
  if (relation == Relation::kOtherBlock) return "nothing orders blocks of one launch";
  if (other.pending && other.thread == party.thread && party.pending)
    return "the same thread copies there twice: is it asked for twice, or does no "
           "__pipeline_wait_prior() with a small enough number lie between, is a "
           "__pipeline_commit() missing, or does one go to a place that is still in use?";
  if (other.pending && other.thread == party.thread)
    return "no __pipeline_wait_prior() with a small enough number waits for the copy, or a "
           "__pipeline_commit() is missing before; or, where what lay there before is meant, the "
           "copy is asked for too early";
  if (other.replaces && other.epoch == party.epoch)
    return "the copy is asked for before the barrier that ends these reads";
  if (other.pending)
    return "no __pipeline_wait_prior() with a small enough number, and __syncthreads() behind it, "
           "orders them, or a __pipeline_commit() is missing before";
  if (relation == Relation::kSameWarp) return "no __syncwarp() or __syncthreads() orders them";
  return "no __syncthreads() orders them";
}

// For two accesses of which the async proxy makes one.
std::string Recorder::missing_between(const Stamp& party, const Conflict& conflict) const {
  const Stamp& other = conflict.other;
  const Through by = places_[party.place].through, other_by = places_[other.place].through;
  if (by == Through::kBarrier)
    return "no barrier orders the mbarrier's init before its use (fence_barrier_init and "
           "__syncthreads)";
  if (conflict.unfenced)
    return "they are ordered, but the asynchronous proxy does not see what threads did without a "
           "proxy fence: no fence_proxy_async by the thread of the earlier access lies between "
           "that and the barrier";
  if (conflict.unfinished && other_by == Through::kBulkCopy)
    return "the thread has not waited for the phase of the mbarrier that the copy's bytes complete";
  if (conflict.unfinished && other_by == Through::kBulkStore)
    return "the bulk store may still be reading: no tma_store_wait_read with a small enough number "
           "in its thread, and a barrier behind it for other threads, comes before, or a "
           "tma_store_commit() is missing";
  if (conflict.unfinished)
    return "the product may still be reading: no wgmma_wait_group with a small enough number, and "
           "a barrier behind it where the thread is of another warpgroup, comes before, or a "
           "wgmma_commit_group() is missing";
  if (by == Through::kBulkCopy)
    return "no mbarrier or other barrier tells the copying thread that the bytes may be written "
           "again; or, where what the copy brings is "
           "meant, the other thread does not wait for its phase";
  return "no mbarrier or other barrier orders them";
}

// The same for global memory.
std::string Recorder::missing_in_global(const Stamp& party, const Conflict& conflict) const {
  if (party.block != conflict.other.block) return "nothing orders blocks of one launch";
  if (conflict.unfenced)
    return "they are ordered, but the asynchronous proxy does not see what threads did without a "
           "proxy fence: no fence_proxy_async_global by the thread of the earlier access lies "
           "between "
           "that and the barrier";
  if (!conflict.unfinished && places_[party.place].through == Through::kBulkStore)
    return "no mbarrier or other barrier tells the storing thread that the bytes may be written; "
           "or, where what the store brings is meant, the other thread does not wait for it "
           "(tma_store_wait in the storing thread, and a barrier)";
  if (!conflict.unfinished) return "no mbarrier or other barrier orders them";
  if (places_[conflict.other.place].through == Through::kBulkCopy)
    return "the copy may still be reading: the thread has not waited for the phase of the mbarrier "
           "that the copy's bytes complete";
  return "the bulk store may still be writing: no tma_store_wait with a small enough number in its "
         "thread, and a barrier behind it for other threads, comes before (tma_store_wait_read "
         "waits "
         "for shared memory only), or a tma_store_commit() is missing";
}

const Recorder::Lines& Recorder::lines_of(const std::set<std::uint32_t>& places) const {
  std::set<std::uintptr_t> addresses;
  for (const std::uint32_t place : places)
    addresses.insert(places_[place].calls_and_pc.begin(), places_[place].calls_and_pc.end());
  return source_lines({addresses.begin(), addresses.end()});
}

Buffer Recorder::buffer_of(const Region& region, const std::array<Touches, 3>& by_operation) const {
  Buffer buffer;
  buffer.name = shown(region.name);
  buffer.element_bytes = region.element_bytes;
  buffer.elements = (region.end - region.begin) / region.element_bytes;
  for (std::size_t operation = 0; operation < by_operation.size(); ++operation) {
    const Touches& touches = by_operation[operation];
    buffer.traffic[operation] = {
        touches.accesses,    touches.request_count,          touches.sectors,
        touches.bytes_asked, spread_of(touches.accesses_of), spread_of(touches.requests)};
  }
  return buffer;
}

// The kernel's access at the line of `place`. Adds the line's first one.
Access& Recorder::access_at(std::uint32_t place, Space space, Kernel& kernel,
                            const Lines& lines) const {
  const Source where = sources_of(place, lines).front();
  const Place& instruction = places_[place];
  const auto found =
      std::find_if(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& each) {
        return each.where.file == where.file && each.where.line == where.line &&
               each.operation == instruction.operation && each.space == space &&
               each.bytes == instruction.bytes;
      });
  if (found != kernel.accesses.end()) return *found;
  Access access;
  access.where = where;
  access.code = line_of(where);
  access.operation = instruction.operation;
  access.space = space;
  access.bytes = instruction.bytes;
  return kernel.accesses.emplace_back(std::move(access));
}

void Recorder::add_accesses_and_steps(Kernel& kernel, const Recording& recording,
                                      const Lines& lines) const {
  std::map<std::uint32_t, std::size_t> access_of;
  for (const auto& [place, counts] : recording.places) {
    Access& access = access_at(place, counts.space, kernel, lines);
    for (const Region* region : counts.regions) {
      if (std::find(access.buffers.begin(), access.buffers.end(), shown(region->name)) ==
          access.buffers.end()) {
        access.buffers.push_back(shown(region->name));
      }
    }
    access.requests += counts.requests;
    access.sectors += counts.sectors;
    access.wavefronts += counts.wavefronts;
    access.bank_conflicts += counts.bank_conflicts;
    access_of[place] = static_cast<std::size_t>(&access - kernel.accesses.data());
  }
  for (const Sample& sample : recording.samples) {
    kernel.steps.push_back({access_of.at(sample.place), index_in(sample.block, kernel.grid),
                            sample.warp, shown(sample.buffer), sample.offset, sample.sectors,
                            sample.wavefronts, sample.bank_conflicts});
  }
}

Party Recorder::party_of(const Stamp& stamp, const Kernel& kernel, const Lines& lines) const {
  const std::vector<Source> sources = sources_of(stamp.place, lines);
  const Source& where = sources.front();
  std::vector<Source> called_at;
  for (auto caller = std::next(sources.begin()); caller != sources.end(); ++caller) {
    const Source& before = called_at.empty() ? where : called_at.back();
    if (is_of_kernel_file(*caller) && caller->text() != before.text()) called_at.push_back(*caller);
  }
  return {places_[stamp.place].operation,
          where,
          index_in(stamp.block, kernel.grid),
          index_in(stamp.thread, kernel.block),
          places_[stamp.place].through == Through::kAsyncCopy,
          name_of(places_[stamp.place].through, places_[stamp.place].operation),
          std::move(called_at)};
}

// The innermost line outside of the emulator; line 0 if there is none.
Source Recorder::source_of(const std::vector<std::uintptr_t>& calls) {
  const Lines& lines = source_lines(calls);
  for (const std::uintptr_t address : calls) {
    for (const Source& source : lines.at(address)) {
      const Source here = relative(source);
      if (!is_emulator(source) && here.file.front() != '/') return here;
    }
  }
  return {};
}

std::string Recorder::source_of(const std::vector<const void*>& calls) {
  std::vector<std::uintptr_t> addresses;
  for (const void* call : calls)
    addresses.push_back(reinterpret_cast<std::uintptr_t>(call));
  const Source source = source_of(addresses);
  return source.line == 0 ? "" : source.text();
}

const std::string& Recorder::shown(const std::string& name) const {
  if (name.find(kUnnamed) == std::string::npos) return name;
  if (shown_names_.count(name) == 0) name_allocations();
  return shown_names_[name];
}

// Names an allocation after its variable, if a kernel's file declares it.
void Recorder::name_allocations() const {
  std::vector<const Region*> unnamed;
  for (const auto& [begin, allocation] : allocations_)
    unnamed.push_back(allocation.region.get());
  for (const auto& region : retired_)
    unnamed.push_back(region.get());
  std::set<std::uintptr_t> calls;
  for (const Region* region : unnamed)
    calls.insert(region->allocated_by.begin(), region->allocated_by.end());
  const Lines& lines = source_lines({calls.begin(), calls.end()});

  // The call in a kernel's file that made each allocation, and all calls of each line, in order.
  std::map<const Region*, std::pair<Source, std::uintptr_t>> made_at;
  std::map<std::string, std::set<std::uintptr_t>> calls_at;
  for (const Region* region : unnamed) {
    for (const std::uintptr_t call : region->allocated_by) {
      const std::vector<Source>& sources = lines.at(call);
      const auto of_kernel = std::find_if(sources.begin(), sources.end(), [](const Source& source) {
        return is_of_kernel_file(relative(source));
      });
      if (of_kernel == sources.end()) continue;
      const Source where = relative(*of_kernel);
      calls_at[where.text()].insert(call);
      made_at[region] = {where, call};
      break;
    }
  }
  for (const Region* region : unnamed) {
    std::string& name = shown_names_[region->name];
    name = region->name.substr(0, region->name.find(kUnnamed));
    const auto found = made_at.find(region);
    if (found == made_at.end()) continue;
    const auto& [where, call] = found->second;
    const std::vector<std::string> variables = variables_in(line_of(where));
    const std::set<std::uintptr_t>& of_line = calls_at[where.text()];
    if (variables.size() == of_line.size()) {
      name =
          variables[static_cast<std::size_t>(std::distance(of_line.begin(), of_line.find(call)))];
    } else if (!variables.empty()) {
      name = std::accumulate(std::next(variables.begin()), variables.end(), variables.front(),
                             [](const auto& a, const auto& b) { return a + " or " + b; });
    }
  }
}

Error Recorder::error_of(const Finding& finding, const Kernel& kernel, const Lines& lines) const {
  Error error;
  error.kind = finding.kind;
  error.space = finding.space;
  error.buffer = shown(finding.buffer);
  error.element = finding.element;
  error.meant = finding.meant;
  error.offset = finding.offset;
  error.bytes = finding.bytes;
  error.size = finding.size;
  error.count = finding.count;
  error.step = finding.sample;
  error.party = party_of(finding.party, kernel, lines);
  error.has_other = finding.other.launch != 0;
  if (error.has_other) error.other = party_of(finding.other, kernel, lines);
  return error;
}

// Whether the same line makes both accesses of a race between threads.
bool Recorder::is_of_one_line(const Error& error) {
  return error.kind == "race" && error.party.where.text() == error.other.where.text() &&
         !error.party.asynchronous && !error.other.asynchronous;
}

// `changed_by_several`: lines at which several threads load an element and store it again.
std::string Recorder::missing_in(const Error& error, const Finding& finding,
                                 const std::set<std::string>& changed_by_several) {
  if (!error.has_other) return "";
  if (!finding.missing.empty()) return finding.missing;
  const std::string nothing_between = missing_between(finding.party, finding.other);
  if (error.party.asynchronous && error.other.asynchronous &&
      error.party.where.text() == error.other.where.text() &&
      finding.party.thread != finding.other.thread && finding.party.block == finding.other.block &&
      finding.party.epoch == finding.other.epoch)
    return "should each thread copy to a place of its own?";
  const bool both_store =
      error.party.operation == Operation::kStore && error.other.operation == Operation::kStore;
  if (!is_of_one_line(error)) {
    const bool by_threads = both_store && !error.party.asynchronous && !error.other.asynchronous;
    return nothing_between +
           (by_threads ? ", or should each thread have an element of its own?" : "");
  }
  const std::string blocks = relation_of(finding.party, finding.other) == Relation::kOtherBlock
                                 ? nothing_between + "; "
                                 : "";
  if (changed_by_several.count(error.party.where.text()) > 0)
    return blocks + "is an atomic missing, or should each thread have an element of its own?";
  if (both_store) return blocks + "should each thread have an element of its own?";
  return nothing_between;
}

// The lines that race both with another thread's store and with another thread's load.
std::set<std::string> Recorder::changed_by_several(const std::vector<Error>& errors) {
  std::set<std::string> stored, read, both;
  for (const Error& error : errors) {
    if (!is_of_one_line(error)) continue;
    const bool stores =
        error.party.operation == Operation::kStore && error.other.operation == Operation::kStore;
    (stores ? stored : read).insert(error.party.where.text());
  }
  std::set_intersection(stored.begin(), stored.end(), read.begin(), read.end(),
                        std::inserter(both, both.end()));
  return both;
}

Kernel Recorder::finish(Recording& recording) {
  Kernel kernel = std::move(recording.kernel);
  std::set<std::uint32_t> places;
  for (const auto& [place, counts] : recording.places)
    places.insert(place);
  for (const Finding& finding : recording.findings) {
    places.insert(finding.party.place);
    if (finding.other.launch != 0) places.insert(finding.other.place);
  }
  const Lines& lines = lines_of(places);
  for (const auto& [region, by_operation] : recording.touches)
    kernel.buffers.push_back(buffer_of(*region, by_operation));
  add_accesses_and_steps(kernel, recording, lines);
  for (const auto& [where, at_once] : recording.at_once)
    kernel.waits.push_back({relative({where.first, where.second}), at_once});
  for (Span& span : kernel.timeline.spans)
    span.where = relative(span.where);
  for (const auto& [where, message] : recording.notes) {
    const Source source = relative({where.first, where.second});
    kernel.notes.push_back(
        {fmt::format("note: mbarrier's init at {}: {}", source.text(), message), source});
  }
  for (const Finding& finding : recording.findings)
    kernel.errors.push_back(error_of(finding, kernel, lines));
  const std::set<std::string> several = changed_by_several(kernel.errors);
  for (std::size_t i = 0; i < kernel.errors.size(); ++i) {
    Error& error = kernel.errors[i];
    error.missing = missing_in(error, recording.findings[i], several);
    error.message = sentence_of(error, true);
    error.without_places = sentence_of(error, false);
  }
  if (recording.played) keep_play_of(recording, kernel);
  const auto rank = [](const Error& each) {
    return each.kind == "race" ? 1 : each.kind == "uninitialised read" ? 2 : 0;
  };
  std::stable_sort(kernel.errors.begin(), kernel.errors.end(),
                   [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
  return kernel;
}

std::vector<Kernel> Recorder::take() {
  std::vector<Kernel> kernels;
  for (Recording& recording : recordings_)
    kernels.push_back(finish(recording));
  forget();
  return kernels;
}

Values Recorder::take_values() {
  Values values = value_log_ ? std::move(value_log_->values) : Values{};
  for (Values::Array& array : values.arrays)
    array.name = shown(array.name);
  value_log_.reset();
  std::set<std::uint32_t> places;
  for (const ValueTouch& touch : values.touches)
    places.insert(touch.place);
  for (const LaneTake& take : values.takes)
    places.insert(take.place);
  for (const ThreadEnd& end : values.ends) {
    for (const std::uint32_t place : end.places)
      if (place != kNowhere[0]) places.insert(place);
  }
  const Lines& lines = lines_of(places);
  std::map<std::uint32_t, std::uint32_t> index;
  for (const std::uint32_t place : places) {
    index[place] = static_cast<std::uint32_t>(values.places.size());
    Stamp stamp;
    stamp.place = place;
    const Party party = party_of(stamp, Kernel{}, lines);
    values.places.push_back({party.where, party.called_at});
  }
  for (ValueTouch& touch : values.touches)
    touch.place = index[touch.place];
  for (LaneTake& take : values.takes)
    take.place = index[take.place];
  for (ThreadEnd& end : values.ends) {
    for (std::uint32_t& place : end.places)
      if (place != kNowhere[0]) place = index[place];
  }
  return values;
}

void Recorder::forget() {
  recordings_.clear();
  retired_.clear();
}

}  // namespace emulator::xray
