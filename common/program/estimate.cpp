#include "common/program/estimate.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

namespace ladder::program {
namespace {

// The most FMAs of a part, one or two seconds in the emulator.
constexpr double kPartFma = 5e7;
// Few machines judge more FMAs than this per second.
constexpr double kMostFmaPerSecond = 2e9;

std::unique_ptr<Case> case_on(const Shape& shape, Selection selection) {
  selection.shape = shape;
  return case_of(selection);
}

double fma_of(const Case& c) {
  return std::max(1.0, c.cost().fma_count);
}

double judged_fma(const Case& c) {
  return std::max(1.0, c.judged_fma());
}

// Must not be below the peak of measured runs (Memory.NeedsNoMoreThanItSays).
constexpr double kBytesOfTruth = 24;     // per element, doubles and copies for the judge
constexpr double kBaseBytes = 64 << 20;  // of the program, its threads and its libraries

// The number after `key` in a text file of the kernel (without key the first), or infinity.
double number_in(const char* file, const std::string& key = "") {
  std::ifstream in(file);
  double value = 0;
  if (key.empty() && in >> value) return value;
  for (std::string word; in >> word;) {
    if (word == key && in >> value) return value;
  }
  return std::numeric_limits<double>::infinity();
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e12) return fmt::format("{:.3g} TB", bytes * 1e-12);
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes * 1e-9);
  return fmt::format("{:.3g} MB", bytes * 1e-6);
}

}  // namespace

Shape part_of(const Selection& selection) {
  const auto fma = [&](const Shape& shape) { return fma_of(*case_on(shape, selection)); };
  return find_operator(selection.op).part(case_of(selection)->shape(), fma, kPartFma);
}

Shape larger_part(const Shape& part, const Selection& selection) {
  return find_operator(selection.op).larger(part, case_of(selection)->shape());
}

Spent scaled(const Spent& spent, const Shape& part, const Selection& selection) {
  const auto whole = case_of(selection), small = case_on(part, selection);
  const double fma = fma_of(*whole) / fma_of(*small);
  const double judged = judged_fma(*whole) / judged_fma(*small);
  const double bytes = whole->cost().bytes / small->cost().bytes;
  const double drawn = find_operator(selection.op).draws_with_work ? std::max(fma, bytes) : bytes;
  return {spent.problem * drawn, spent.launch * fma, spent.judge * judged};
}

double least_seconds(const Selection& selection) {
  return judged_fma(*case_of(selection)) / kMostFmaPerSecond;
}

std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} seconds", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 100 * 3600) return fmt::format("{:.2g} hours", seconds / 3600);
  if (seconds < 1000.0 * 86400) return fmt::format("{:.0f} days", seconds / 86400);
  return fmt::format("{:.0f} years", seconds / (365.0 * 86400));
}

Memory needed_memory(const Selection& selection, bool host_is_device) {
  const auto asked = case_of(selection);
  const double stored = asked->cost().bytes;
  Memory needed;
  needed.device = host_is_device ? 0 : stored;
  needed.host = kBaseBytes + asked->elements() * (sizeof(float) + kBytesOfTruth) +
                asked->truth_bytes() + stored * (host_is_device ? 2 : 1);
  return needed;
}

double available_host_bytes() {
  double available = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  if (std::isinf(available))  // not Linux
    available = 1.0 * sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const double used = number_in("/proc/self/statm") * sysconf(_SC_PAGESIZE);
    available = std::min(available, std::max(0.0, static_cast<double>(limit.rlim_cur) - used));
  }
  const double most = number_in("/sys/fs/cgroup/memory.max");
  const double used = number_in("/sys/fs/cgroup/memory.current");
  const double cache = number_in("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (std::isfinite(most) && std::isfinite(used)) {
    const double reclaimable = std::isfinite(cache) ? cache : 0;
    available = std::min(available, std::max(0.0, most - used + reclaimable));
  }
  return available;
}

void require_memory(const Selection& selection, const Memory& needed, const Memory& available) {
  const auto check = [&](const char* whose, double needs, double has) {
    require(
        needs <= has,
        fmt::format("--shape is {}: checking one kernel on it takes about {} of the {}'s memory; "
                    "allowed: a shape that needs at most {}, which are free",
                    to_string(selection.shape), bytes_text(needs), whose, bytes_text(has)));
  };
  check("host", needed.host, available.host);
  check("device", needed.device, available.device);
}

void require_memory(const Selection& selection, Device& device) {
  const std::size_t own = device.free_bytes();
  require_memory(selection, needed_memory(selection, own == 0),
                 {available_host_bytes(), static_cast<double>(own)});
}

}  // namespace ladder::program
