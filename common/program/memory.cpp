#include "common/program/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

namespace ladder::program {
namespace {

// Measured as the peak of whole runs, which it must not be below: Memory.NeedsNoMoreThanItSays.
constexpr double kBytesOfTruth =
    24;  // for each element of inputs and outputs: doubles, and copies for the judge
constexpr double kBaseBytes = 64 << 20;  // of the program, its threads and its libraries

// A number behind `key` in one of the kernel's text files; infinity where there is none.
double number_in(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    double value = 0;
    if (word == key && in >> value) return value;
  }
  return std::numeric_limits<double>::infinity();
}

double first_number_in(const char* file) {
  double value = 0;
  return std::ifstream(file) >> value ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

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
  if (available == std::numeric_limits<double>::infinity())  // not Linux
    available = 1.0 * sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const double used = first_number_in("/proc/self/statm") * sysconf(_SC_PAGESIZE);
    available = std::min(available, std::max(0.0, static_cast<double>(limit.rlim_cur) - used));
  }
  const double most = first_number_in("/sys/fs/cgroup/memory.max");
  const double used = first_number_in("/sys/fs/cgroup/memory.current");
  const double cache = number_in("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (most < std::numeric_limits<double>::infinity() &&
      used < std::numeric_limits<double>::infinity()) {
    const double reclaimable = cache < std::numeric_limits<double>::infinity() ? cache : 0;
    available = std::min(available, std::max(0.0, most - used + reclaimable));
  }
  return available;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e12) return fmt::format("{:.3g} TB", bytes * 1e-12);
  if (bytes >= 1e9) return fmt::format("{:.3g} GB", bytes * 1e-9);
  return fmt::format("{:.3g} MB", bytes * 1e-6);
}

void require_memory(const Selection& selection, const Memory& needed, const Memory& available) {
  const auto check = [&](const char* whose, double needs, double has) {
    if (needs <= has) return;
    throw std::invalid_argument(
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
