#include "device_memory.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "asan.hpp"
#include "facts.hpp"
#include "observed.hpp"

namespace emulator {
namespace detail {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 40, kLeastBytes = std::size_t{1} << 30;
// The opened range grows in steps of this size, to save a mapping per allocation.
constexpr std::size_t kStep = std::size_t{1} << 26;

struct Range {
  std::mutex mutex;
  unsigned char* begin = nullptr;   // for kernels
  unsigned char* always = nullptr;  // the same memory, always open
  std::size_t bytes = 0;
  std::size_t used = 0;
  unsigned open = 0;
  struct sigaction before {};  // the previous handler of SIGSEGV
};

void on_fault(int, siginfo_t* info, void* context);

// A file, so that the memory can be mapped twice.
int memory_file() {
#ifdef __linux__
  return memfd_create("device memory", MFD_CLOEXEC);
#else
  const std::string name = "/emulator-" + std::to_string(getpid());
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  shm_unlink(name.c_str());
  return file;
#endif
}

bool reserve(Range& range, int file, std::size_t bytes) {
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return false;
  const auto map = [&](int protection) {
    return mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  };
  void* const begin = map(PROT_NONE);
  if (begin == MAP_FAILED) return false;
  void* const always = map(PROT_READ | PROT_WRITE);
  if (always == MAP_FAILED) {
    munmap(begin, bytes);
    return false;
  }
  range.begin = static_cast<unsigned char*>(begin);
  range.always = static_cast<unsigned char*>(always);
  range.bytes = bytes;
  return true;
}

// Never destroyed, because objects with static storage may free device memory at exit.
Range& range() {
  static Range& instance = *[] {
    auto* const range = new Range;
    const int file = memory_file();
    for (std::size_t bytes = kMostBytes; bytes >= kLeastBytes; bytes /= 2) {
      if (file < 0 || reserve(*range, file, bytes)) break;
    }
    if (file >= 0) close(file);
    return range;
  }();
  static const bool handled = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGSEGV, &action, &instance.before) == 0;
  }();
  static_cast<void>(handled);
  return instance;
}

void protect(unsigned char* begin, std::size_t bytes, int protection) {
  if (bytes == 0 || mprotect(begin, bytes, protection) == 0) return;
  std::perror("emulator: device memory cannot be opened or closed: mprotect");
  std::abort();
}

const char* what_is_done(const mcontext_t& machine) {
#if defined(__linux__) && defined(__x86_64__)
  return (machine.gregs[REG_ERR] & 2) != 0 ? "writes" : "reads";
#else
  static_cast<void>(machine);
  return "reads or writes";
#endif
}

// The return addresses of the calls that led to the fault, after the faulting instruction's end.
std::vector<const void*> calls_to(const mcontext_t& machine) {
  std::vector<void*> calls(64);
  calls.resize(static_cast<std::size_t>(backtrace(calls.data(), static_cast<int>(calls.size()))));
#if defined(__linux__) && defined(__x86_64__)
  auto* const fault = reinterpret_cast<char*>(machine.gregs[REG_RIP]);
  calls.erase(calls.begin(), std::find(calls.begin(), calls.end(), static_cast<void*>(fault)));
  if (!calls.empty()) calls.front() = fault + 1;
#else
  static_cast<void>(machine);
#endif
  return {calls.begin(), calls.end()};
}

void on_fault(int, siginfo_t* info, void* context) {
  const Range& all = range();
  const auto offset =
      static_cast<std::size_t>(static_cast<unsigned char*>(info->si_addr) - all.begin);
  ThreadIdentity kernel;
  if (offset < all.bytes && !current_thread(&kernel)) {
    const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    const std::string where = observer() != nullptr ? observer()->source_of(calls_to(machine)) : "";
    const std::string message = where + (where.empty() ? "" : ": ") + "the host " +
                                what_is_done(machine) + " device memory; copy it with cudaMemcpy";
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", message.c_str());
    write_fact({{"fact", "host access"},
                {"message", message},
                {"access", what_is_done(machine)},
                {"place", where}});
  }
  // The access is repeated with the previous handler, which usually ends the program.
  sigaction(SIGSEGV, &all.before, nullptr);
}

}  // namespace

AddressRange device_range() {
  const Range& all = range();
  return {all.begin, all.begin + all.bytes};
}

void* within_reach(const void* pointer) {
  const Range& all = range();
  auto* const at = static_cast<unsigned char*>(const_cast<void*>(pointer));
  const auto offset = static_cast<std::size_t>(at - all.begin);
  return offset < all.bytes ? all.always + offset : at;
}

void give_back_to_system(const void* begin, std::size_t bytes) {
#ifdef MADV_REMOVE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGE_SIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(within_reach(begin));
  const std::uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_REMOVE);
#endif
}

void use_device_range_to(std::uintptr_t end) {
  Range& all = range();
  const std::lock_guard<std::mutex> guard(all.mutex);
  const std::size_t wanted = std::min(
      all.bytes, (end - reinterpret_cast<std::uintptr_t>(all.begin) + kStep - 1) / kStep * kStep);
  if (wanted <= all.used) return;
  if (all.open > 0) protect(all.begin + all.used, wanted - all.used, PROT_READ | PROT_WRITE);
  all.used = wanted;
}

DeviceMemoryOpen::DeviceMemoryOpen() {
  Range& all = range();
  const std::lock_guard<std::mutex> guard(all.mutex);
  if (all.open++ == 0) protect(all.begin, all.used, PROT_READ | PROT_WRITE);
}

DeviceMemoryOpen::~DeviceMemoryOpen() {
  Range& all = range();
  const std::lock_guard<std::mutex> guard(all.mutex);
  if (--all.open == 0) protect(all.begin, all.used, PROT_NONE);
}

}  // namespace detail

AddressRange device_memory() {
  return detail::device_range();
}

void leave_device_memory_open() {
  static const auto& open = *new detail::DeviceMemoryOpen;
  static_cast<void>(open);
}

}  // namespace emulator
