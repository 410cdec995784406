#include "emulator/runtime.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "asan.hpp"
#include "device_memory.hpp"
#include "emulator/emulator.hpp"
#include "observed.hpp"
#include "state.hpp"
#include "streams.hpp"

namespace emulator {
namespace detail {
namespace {

constexpr std::size_t kGuardBytes = 256;  // also keeps cudaMalloc's 256-byte alignment
// Keeps allocations apart with an observer or AddressSanitizer, so that an overrun hits no other.
constexpr std::size_t kGapBytes = 1 << 16;
// Before the first allocation, for negative indices.
constexpr std::size_t kFrontBytes = 1 << 20;
// From this size on, freed memory is returned to the system.
constexpr std::size_t kLargeBytes = 1 << 26;

struct Allocation {
  std::size_t bytes;
  bool on_device;
};

struct State {
  std::recursive_mutex mutex;
  cudaError_t last = cudaSuccess;
  cudaError_t pending = cudaSuccess;  // from a launch, until a waiting call returns it
  cudaError_t reported = cudaSuccess;
  std::string report;
  std::set<std::string> strings;  // cudaGetErrorString's results must stay valid
  std::map<std::uintptr_t, Allocation> allocations;
  std::uintptr_t fresh = 0;  // device memory from here on is unused so far
  std::size_t device_bytes = 0;
  std::map<const void*, std::size_t> dynamic_shared;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  bool host_memory_allowed = false;
  unsigned last_blocks = 0;  // 0: all blocks run
};

// Never destroyed, because objects with static storage may free device memory at exit.
State& state() {
  static State& instance = *new State;
  return instance;
}

std::lock_guard<std::recursive_mutex> lock() {
  return std::lock_guard<std::recursive_mutex>(state().mutex);
}

std::size_t total_memory() {
  static const std::size_t total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / 2 *
                                   static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  return total;
}

std::string address_text(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

cudaError_t pending_or_success() {
  return std::exchange(state().pending, cudaSuccess);
}

// The allocation that contains `pointer`, or ends there, or null.
const std::pair<const std::uintptr_t, Allocation>* find_allocation(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto after = state().allocations.upper_bound(address);
  if (after == state().allocations.begin()) return nullptr;
  const auto& found = *std::prev(after);
  return address <= found.first + found.second.bytes ? &found : nullptr;
}

bool is_device_pointer(const void* pointer) {
  const auto* found = find_allocation(pointer);
  return found != nullptr && found->second.on_device;
}

// Empty if [pointer, pointer + bytes) is inside one device allocation.
std::string check_device_range(const char* call, const char* argument, const void* pointer,
                               std::size_t bytes) {
  const std::string start = std::string(call) + ": " + argument + " " + address_text(pointer);
  const auto* found = find_allocation(pointer);
  if (found == nullptr || !found->second.on_device) return start + " is no device memory";
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - found->first;
  if (bytes <= found->second.bytes - offset) return {};
  return start + " has room for " + std::to_string(found->second.bytes - offset) +
         " bytes of its allocation of " + std::to_string(found->second.bytes) + ", asked for " +
         std::to_string(bytes);
}

// Empty if both guard zones are intact. Restores them.
std::string check_guards(std::uintptr_t address, const Allocation& allocation) {
  auto* const user =
      static_cast<unsigned char*>(within_reach(reinterpret_cast<const void*>(address)));
  std::string text;
  const auto check = [&](unsigned char* zone, bool before) {
    long first = -1;
    long last = -1;
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      if (zone[i] == kGuard) continue;
      if (first < 0) first = static_cast<long>(i);
      last = static_cast<long>(i);
    }
    if (first < 0) return;
    if (!text.empty()) text += "; ";
    text += before ? "memory in front of" : "memory behind";
    text +=
        " the allocation of " + std::to_string(allocation.bytes) + " bytes at " +
        address_text(reinterpret_cast<const void*>(address)) + " was overwritten, " +
        (before ? std::to_string(static_cast<long>(kGuardBytes) - last) + " to " +
                      std::to_string(static_cast<long>(kGuardBytes) - first) +
                      " bytes before its start"
                : std::to_string(first) + " to " + std::to_string(last) + " bytes after its end");
    std::memset(zone, kGuard, kGuardBytes);
  };
  check(user - kGuardBytes, true);
  check(user + allocation.bytes, false);
  return text;
}

// With the guard zones, rounded up to a multiple of their size.
std::size_t whole_bytes(std::size_t bytes) {
  return (bytes + 2 * kGuardBytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
}

// An observer and AddressSanitizer recognise late accesses by the address, so it is not reused.
// Launches that are only noted access nothing, and may ask for most of the device many times.
bool keeps_freed_addresses() {
  return (observer() != nullptr || kAsan) && !notes_launches();
}

// The lowest free device memory of this size, or null. If freed addresses are kept, it is behind
// all earlier memory.
void* place_on_device(std::size_t whole) {
  const AddressRange range = device_range();
  if (range.begin == range.end) return nullptr;
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(range.begin) + kFrontBytes;
  const std::size_t gap = keeps_freed_addresses() ? kGapBytes : 0;
  if (state().fresh == 0) {
    state().fresh = at;
    forbid(reinterpret_cast<void*>(at - gap), gap);
  }
  if (gap > 0) at = state().fresh;
  for (const auto& [user, each] : state().allocations) {
    const std::uintptr_t begin = user - kGuardBytes, after = begin + whole_bytes(each.bytes);
    if (!each.on_device || after <= at) continue;
    if (at + whole + gap <= begin) break;
    at = after + gap;
  }
  const std::uintptr_t end = at + whole + gap;
  if (end > reinterpret_cast<std::uintptr_t>(range.end)) return nullptr;
  use_device_range_to(end);
  if (gap > 0) state().fresh = end;
  allow(reinterpret_cast<void*>(at), whole);
  forbid(reinterpret_cast<void*>(at + whole), gap);
  return reinterpret_cast<void*>(at);
}

// Late reads find poison, or pages without contents.
void release_on_device(unsigned char* base, std::size_t whole) {
  if (keeps_freed_addresses() || whole >= kLargeBytes || notes_launches()) {
    give_back_to_system(base, whole);
  } else {
    std::memset(within_reach(base), kPoison, whole);
  }
  forbid(base, whole);
}

// Whether memory has no contents until written, because run_last_blocks() lets it exceed RAM.
bool is_sparse(std::size_t bytes) {
  return state().last_blocks > 0 && bytes >= kLargeBytes;
}

cudaError_t allocate(const char* call, void** pointer, std::size_t bytes, bool on_device) {
  const auto guard = lock();
  if (pointer == nullptr)
    return set_error(cudaErrorInvalidValue, std::string(call) + ": null pointer");
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* base = nullptr;
  const bool stays_empty = is_sparse(bytes) || notes_launches();
  if (state().last_blocks > 0 || bytes <= total_memory() - state().device_bytes) {
    const std::size_t whole = whole_bytes(bytes);
    base = on_device ? place_on_device(whole) : std::aligned_alloc(kGuardBytes, whole);
  }
  if (base == nullptr) {
    const AddressRange range = device_range();
    return set_error(
        cudaErrorMemoryAllocation,
        std::string(call) + ": " + std::to_string(bytes) + " bytes asked for, " +
            (on_device && range.begin == range.end
                 ? "but the emulator cannot reserve its addresses (ulimit -v); allowed: no limit"
                 : std::to_string(total_memory() - state().device_bytes) + " free"));
  }
  auto* const user = static_cast<unsigned char*>(base) + kGuardBytes;
  auto* const reached = static_cast<unsigned char*>(within_reach(user));
  std::memset(reached - kGuardBytes, kGuard, kGuardBytes);
  if (!stays_empty) std::memset(reached, kPoison, bytes);
  std::memset(reached + bytes, kGuard, kGuardBytes);
  state().allocations[reinterpret_cast<std::uintptr_t>(user)] = {bytes, on_device};
  state().device_bytes += bytes;
  // No kernel uses memory while launches are only noted, and it may exceed the X-ray's shadow.
  if (observer() != nullptr && !notes_launches()) observer()->allocated(user, bytes);
  *pointer = user;
  return cudaSuccess;
}

cudaError_t release(const char* call, void* pointer, bool on_device) {
  const auto guard = lock();
  if (pointer == nullptr) return pending_or_success();
  const auto found = state().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == state().allocations.end() || found->second.on_device != on_device) {
    return set_error(cudaErrorInvalidValue,
                     std::string(call) + ": " + address_text(pointer) + " was not allocated by " +
                         (on_device ? "cudaMalloc" : "cudaMallocHost") + ", or is freed already");
  }
  const Allocation allocation = found->second;
  const std::string damage = check_guards(found->first, allocation);
  state().allocations.erase(found);
  state().device_bytes -= allocation.bytes;
  if (observer() != nullptr && !notes_launches()) observer()->freed(pointer);
  auto* const base = static_cast<unsigned char*>(pointer) - kGuardBytes;
  if (on_device) {
    release_on_device(base, whole_bytes(allocation.bytes));
  } else {
    std::memset(pointer, kPoison, allocation.bytes);
    if (observer() == nullptr) std::free(base);
  }
  if (!damage.empty()) return set_error(cudaErrorIllegalAddress, std::string(call) + ": " + damage);
  return pending_or_success();
}

// Does work in a stream's order. In the default stream, or if it cannot wait, it is done at once.
void in_order(cudaStream_t stream, char letter, bool can_wait, const std::function<void()>& work) {
  if (stream == nullptr) return work();
  put(stream, {.letter = letter, .work = work});
  if (!can_wait) finish_stream(stream);
}

// Whether a copy can wait in a stream. Memory of malloc, a vector or a stack is copied at once.
bool can_wait(const void* to, const void* from) {
  return find_allocation(to) != nullptr && find_allocation(from) != nullptr;
}

// In a stream, or at once without one.
cudaError_t copy(const char* call, void* to, const void* from, std::size_t bytes,
                 cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  const auto guard = lock();
  if (const cudaError_t pending = pending_or_success(); pending != cudaSuccess) return pending;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return set_error(cudaErrorInvalidMemcpyDirection, std::string(call) + ": unknown kind of copy");
  }
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) {
    return set_error(cudaErrorInvalidValue, std::string(call) + ": null pointer");
  }
  const auto check = [&](const char* argument, const void* pointer, bool device) -> std::string {
    if (device) return check_device_range(call, argument, pointer, bytes);
    if (!is_device_pointer(pointer)) return {};
    return std::string(call) + ": " + argument + " " + address_text(pointer) +
           " is device memory, the kind of copy says host";
  };
  const bool any = kind == cudaMemcpyDefault;
  const bool to_device = any ? is_device_pointer(to)
                             : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = any ? is_device_pointer(from)
                               : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  std::string wrong = check("destination", to, to_device);
  if (wrong.empty()) wrong = check("source", from, from_device);
  if (!wrong.empty()) return set_error(cudaErrorInvalidValue, std::move(wrong));
  if (note_copy(stream)) return cudaSuccess;
  in_order(stream, 'c', can_wait(to, from), [=] {
    std::memmove(within_reach(to), within_reach(from), bytes);
    if (to_device && observer() != nullptr) observer()->written_by_host(to, bytes);
  });
  return cudaSuccess;
}

cudaError_t fill(const char* call, void* to, int value, std::size_t bytes,
                 cudaStream_t stream = nullptr) {
  const auto guard = lock();
  if (const cudaError_t pending = pending_or_success(); pending != cudaSuccess) return pending;
  if (bytes == 0) return cudaSuccess;
  std::string wrong;
  if (is_device_pointer(to) || !state().host_memory_allowed)
    wrong = check_device_range(call, "destination", to, bytes);
  if (!wrong.empty()) return set_error(cudaErrorInvalidValue, std::move(wrong));
  if (note_copy(stream)) return cudaSuccess;
  in_order(stream, 'f', true, [=] {
    const std::size_t left_out = is_sparse(bytes) ? bytes - kLargeBytes : 0;
    std::memset(static_cast<unsigned char*>(within_reach(to)) + left_out, value, bytes - left_out);
    if (observer() != nullptr) observer()->written_by_host(to, bytes);
  });
  return cudaSuccess;
}

cudaError_t check_device(const char* call, int device) {
  if (device == 0) return cudaSuccess;
  return set_error(cudaErrorInvalidDevice, std::string(call) + ": device " +
                                               std::to_string(device) + "; there is only device 0");
}

cudaError_t store(const char* call, int* to, int value) {
  if (to == nullptr) return set_error(cudaErrorInvalidValue, std::string(call) + ": null pointer");
  *to = value;
  return cudaSuccess;
}

cudaError_t check_stream(const char* call, cudaStream_t stream) {
  const auto guard = lock();
  if (stream == nullptr || state().streams.count(stream) != 0) return cudaSuccess;
  return set_error(cudaErrorInvalidResourceHandle, std::string(call) + ": no such stream");
}

cudaError_t check_event(const char* call, cudaEvent_t event) {
  const auto guard = lock();
  if (state().events.count(event) != 0) return cudaSuccess;
  return set_error(cudaErrorInvalidResourceHandle, std::string(call) + ": no such event");
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

// A limit that the environment may reduce from `greatest`, the device's own.
std::size_t limit_of(const char* variable, std::size_t least, std::size_t greatest) {
  const char* const wanted = std::getenv(variable);
  if (wanted == nullptr) return greatest;
  const std::string text = wanted;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < least ||
      limit > greatest) {
    std::fprintf(stderr, "emulator: %s is \"%s\"; allowed: %zu to %zu\n", variable, wanted, least,
                 greatest);
    std::exit(2);
  }
  return limit;
}

}  // namespace

void put_kernel(cudaStream_t stream, std::function<void()> work) {
  const auto streams = lock_streams();
  const cudaError_t error = check_stream("a launch", stream);
  if (error != cudaSuccess) return set_launch_error(error, "a launch: no such stream");
  put(stream, {.letter = 'k', .work = std::move(work)});
}

cudaError_t set_error(cudaError_t error, std::string report) {
  const auto guard = lock();
  state().last = error;
  state().reported = error;
  state().report = std::move(report);
  return error;
}

void set_report(cudaError_t error, std::string report) {
  const auto guard = lock();
  state().reported = error;
  state().report = std::move(report);
}

void set_launch_error(cudaError_t error, std::string report) {
  const auto guard = lock();
  set_error(error, std::move(report));
  // A launch that never started is no asynchronous error, so only cudaGetLastError returns it.
  if (error == cudaErrorLaunchFailure || error == cudaErrorLaunchTimeout ||
      error == cudaErrorIllegalAddress)
    state().pending = error;
}

unsigned last_blocks() {
  const auto guard = lock();
  return state().last_blocks;
}

std::size_t max_shared() {
  return limit_of("EMULATOR_SHARED_MEMORY_KB", kDefaultShared / 1024, kMaxShared / 1024) * 1024;
}

std::size_t max_dynamic_shared(const void* address) {
  const auto guard = lock();
  const auto found = state().dynamic_shared.find(address);
  return found == state().dynamic_shared.end() ? kDefaultShared : found->second;
}

std::string wrong_access(const void* pointer, std::size_t bytes, bool written) {
  const auto guard = lock();
  const std::string start = std::string(written ? "writes " : "reads ") + std::to_string(bytes) +
                            " bytes from " + address_text(pointer) + " on, ";
  if (const auto* found = find_allocation(pointer); found != nullptr) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - found->first;
    if (bytes <= found->second.bytes - offset) return {};
    return start + "of which the allocation has " + std::to_string(found->second.bytes - offset);
  }
  const AddressRange device = device_range();
  if (pointer >= device.begin && pointer < device.end) return start + "which is no allocation's";
  return is_host_memory(pointer) ? start + "which is the host's memory" : "";
}

std::string check_allocation_guards() {
  const auto guard = lock();
  std::string first;
  for (const auto& [address, allocation] : state().allocations) {
    std::string text = check_guards(address, allocation);
    if (first.empty()) first = std::move(text);
  }
  return first;
}

cudaError_t occupancy(int* blocks, int block_size, std::size_t dynamic_shared) {
  if (block_size < 1 || block_size > static_cast<int>(kMaxThreads)) {
    return set_error(cudaErrorInvalidValue, "occupancy: a block has 1 to 1024 threads");
  }
  const int threads = (block_size + 31) / 32 * 32;
  const auto by_shared = static_cast<int>((max_shared() + kSharedReservedPerBlock) /
                                          (dynamic_shared + kSharedReservedPerBlock));
  return store(
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks,
      std::min({kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / threads, by_shared}));
}

cudaError_t copy_symbol(void* symbol, std::size_t symbol_bytes, void* host, std::size_t bytes,
                        std::size_t offset, bool to_symbol) {
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) {
    return set_error(cudaErrorInvalidValue, "copy of a symbol: the variable has " +
                                                std::to_string(symbol_bytes) +
                                                " bytes, asked for " + std::to_string(bytes) +
                                                " at " + std::to_string(offset));
  }
  void* const at = static_cast<unsigned char*>(symbol) + offset;
  void* const other = within_reach(host);
  std::memcpy(to_symbol ? at : other, to_symbol ? other : at, bytes);
  return cudaSuccess;
}

}  // namespace detail

void run_last_blocks(unsigned count) {
  const auto guard = detail::lock();
  detail::state().last_blocks = count;
}

void allow_host_memory(bool allowed) {
  const auto guard = detail::lock();
  detail::state().host_memory_allowed = allowed;
}

bool is_host_memory(const void* pointer) {
  const auto guard = detail::lock();
  if (detail::state().host_memory_allowed) return false;
  const AddressRange device = detail::device_range();
  if (pointer >= device.begin && pointer < device.end) return false;
  for (const auto& [begin, allocation] : detail::state().allocations) {
    const auto distance = reinterpret_cast<std::uintptr_t>(pointer) - (begin - detail::kGuardBytes);
    if (distance < allocation.bytes + 2 * detail::kGuardBytes) return false;
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGE_SIZE));
  unsigned char resident = 0;
  void* const at = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(pointer) / page * page);
  if (mincore(at, page, &resident) != 0) return false;
  Dl_info variable;
  return dladdr(pointer, &variable) == 0;
}

std::string last_report() {
  const auto guard = detail::lock();
  return detail::state().report;
}

void reset() {
  detail::forget_stream_log();
  const auto guard = detail::lock();
  detail::State& state = detail::state();
  state.last = state.pending = state.reported = cudaSuccess;
  state.report.clear();
  state.dynamic_shared.clear();
  detail::reset_schedule();
}

}  // namespace emulator

using namespace emulator::detail;  // the definitions below are all global

const char* cudaGetErrorString(cudaError_t error) {
  const auto guard = lock();
  for (const ErrorText& each : kErrors) {
    if (each.error != error) continue;
    if (error == cudaSuccess || error != state().reported || state().report.empty())
      return each.text;
    return state().strings.insert(std::string(each.text) + ": " + state().report).first->c_str();
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  for (const ErrorText& each : kErrors) {
    if (each.error == error) return each.name;
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const auto guard = lock();
  state().pending = cudaSuccess;
  return std::exchange(state().last, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const auto guard = lock();
  return state().last;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate("cudaMalloc", pointer, bytes, true);
}
cudaError_t cudaFree(void* pointer) {
  finish_streams();
  return release("cudaFree", pointer, true);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const auto guard = lock();
  const cudaError_t error = check_stream("cudaMallocAsync", stream);
  return error != cudaSuccess ? error : allocate("cudaMallocAsync", pointer, bytes, true);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const auto streams = lock_streams();
  const cudaError_t error = check_stream("cudaFreeAsync", stream);
  if (error != cudaSuccess) return error;
  if (stream == nullptr || stream->entries.empty() || find_allocation(pointer) == nullptr)
    return release("cudaFreeAsync", pointer, true);
  // Work that waits in the stream still uses the memory.
  put(stream, {.letter = 0, .work = [pointer] { release("cudaFreeAsync", pointer, true); }});
  return cudaSuccess;
}

namespace {
int the_pool;  // only its address is used
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) {
    return set_error(cudaErrorInvalidValue, "cudaDeviceGetDefaultMemPool: null pointer");
  }
  if (const cudaError_t error = check_device("cudaDeviceGetDefaultMemPool", device)) return error;
  *pool = reinterpret_cast<cudaMemPool_t>(&the_pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (pool != reinterpret_cast<cudaMemPool_t>(&the_pool) || value == nullptr ||
      attribute != cudaMemPoolAttrReleaseThreshold) {
    return set_error(cudaErrorInvalidValue,
                     "cudaMemPoolSetAttribute: no such pool or attribute, or a null pointer");
  }
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate("cudaMallocHost", pointer, bytes, false);
}
cudaError_t cudaFreeHost(void* pointer) {
  finish_streams();
  return release("cudaFreeHost", pointer, false);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", to, from, bytes, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const auto streams = lock_streams();
  const cudaError_t error = check_stream("cudaMemcpyAsync", stream);
  return error != cudaSuccess ? error : copy("cudaMemcpyAsync", to, from, bytes, kind, stream);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return fill("cudaMemset", to, value, bytes);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const auto streams = lock_streams();
  const cudaError_t error = check_stream("cudaMemsetAsync", stream);
  return error != cudaSuccess ? error : fill("cudaMemsetAsync", to, value, bytes, stream);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const auto guard = lock();
  if (free_bytes == nullptr || total_bytes == nullptr) {
    return set_error(cudaErrorInvalidValue, "cudaMemGetInfo: null pointer");
  }
  *total_bytes = total_memory();
  *free_bytes = total_memory() - state().device_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto guard = lock();
  if (attributes == nullptr) {
    return set_error(cudaErrorInvalidValue, "cudaPointerGetAttributes: null pointer");
  }
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(pointer)};
  const auto* found = find_allocation(pointer);
  const bool inside = found != nullptr && reinterpret_cast<std::uintptr_t>(pointer) <
                                              found->first + found->second.bytes;
  if (inside && found->second.on_device) {
    *attributes = {cudaMemoryTypeDevice, 0, const_cast<void*>(pointer), nullptr};
  } else if (inside) {
    *attributes = {cudaMemoryTypeHost, 0, const_cast<void*>(pointer), const_cast<void*>(pointer)};
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  finish_streams();
  const auto guard = lock();
  return pending_or_success();
}

cudaError_t cudaDeviceReset() {
  finish_streams();
  const auto guard = lock();
  while (!state().allocations.empty()) {
    const auto first = *state().allocations.begin();
    release("cudaDeviceReset", reinterpret_cast<void*>(first.first), first.second.on_device);
  }
  state().last = state().pending = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return store("cudaGetDeviceCount", count, 1);
}
cudaError_t cudaGetDevice(int* device) {
  return store("cudaGetDevice", device, 0);
}
cudaError_t cudaSetDevice(int device) {
  return check_device("cudaSetDevice", device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) {
    return set_error(cudaErrorInvalidValue, "cudaGetDeviceProperties: null pointer");
  }
  if (const cudaError_t error = check_device("cudaGetDeviceProperties", device)) return error;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "CUDA emulator");
  properties->totalGlobalMem = total_memory();
  properties->sharedMemPerBlock = kDefaultShared;
  properties->sharedMemPerBlockOptin = max_shared();
  properties->sharedMemPerMultiprocessor = max_shared() + kSharedReservedPerBlock;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = kMaxThreads;
  const int block[] = {kMaxThreads, kMaxThreads, kMaxBlockZ};
  const int grid[] = {kMaxGridX, kMaxGridYZ, kMaxGridYZ};
  std::copy(block, block + 3, properties->maxThreadsDim);
  std::copy(grid, grid + 3, properties->maxGridSize);
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount =
      static_cast<int>(limit_of("EMULATOR_MULTIPROCESSORS", 1, kMultiprocessors));
  properties->maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  properties->maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  properties->l2CacheSize =
      static_cast<int>(limit_of("EMULATOR_L2_CACHE_KB", 1, kL2CacheKb)) * 1024;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  const std::map<cudaDeviceAttr, std::size_t> values = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrComputeCapabilityMajor, p.major},
      {cudaDevAttrComputeCapabilityMinor, p.minor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
  };
  const auto found = values.find(attribute);
  if (found == values.end()) {
    return set_error(cudaErrorInvalidValue, "cudaDeviceGetAttribute: attribute " +
                                                std::to_string(attribute) + " is not emulated");
  }
  return store("cudaDeviceGetAttribute", value, static_cast<int>(found->second));
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return store("cudaRuntimeGetVersion", version, 12000);
}
cudaError_t cudaDriverGetVersion(int* version) {
  return store("cudaDriverGetVersion", version, 12000);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const auto streams = lock_streams();
  const auto guard = lock();
  if (stream == nullptr || flags > cudaStreamNonBlocking) {
    return set_error(cudaErrorInvalidValue, "cudaStreamCreate: null pointer or unknown flags");
  }
  *stream = *state().streams.insert(new CUstream_st).first;
  open_stream(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const auto streams = lock_streams();
  const auto guard = lock();
  if (state().streams.erase(stream) == 0) {
    return set_error(cudaErrorInvalidResourceHandle, "cudaStreamDestroy: no such stream");
  }
  close_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const auto streams = lock_streams();
  if (const cudaError_t error = check_stream("cudaStreamSynchronize", stream)) return error;
  finish_stream(stream);
  const auto guard = lock();
  return pending_or_success();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  const auto streams = lock_streams();
  if (const cudaError_t error = check_stream("cudaStreamWaitEvent", stream)) return error;
  if (const cudaError_t error = check_event("cudaStreamWaitEvent", event)) return error;
  if (event->mark == nullptr) return cudaSuccess;  // never recorded, so there is no wait
  if (stream == nullptr) {
    finish_to(*event->mark);
  } else {
    put(stream, {.letter = 'w', .awaits = event->mark});
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const auto guard = lock();
  if (event == nullptr || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) {
    return set_error(cudaErrorInvalidValue, "cudaEventCreate: null pointer or unknown flags");
  }
  *event = *state().events.insert(new CUevent_st).first;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const auto guard = lock();
  if (const cudaError_t error = check_event("cudaEventDestroy", event)) return error;
  state().events.erase(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto streams = lock_streams();
  if (const cudaError_t error = check_event("cudaEventRecord", event)) return error;
  if (const cudaError_t error = check_stream("cudaEventRecord", stream)) return error;
  event->mark = put_mark(stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto streams = lock_streams();
  if (const cudaError_t error = check_event("cudaEventSynchronize", event)) return error;
  if (event->mark != nullptr) finish_to(*event->mark);
  const auto guard = lock();
  return pending_or_success();
}
// A loop of queries must end, so the work up to the event is done now.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto streams = lock_streams();
  if (const cudaError_t error = check_event("cudaEventQuery", event)) return error;
  if (event->mark != nullptr) finish_to(*event->mark);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  const auto streams = lock_streams();
  const auto guard = lock();
  if (milliseconds == nullptr) {
    return set_error(cudaErrorInvalidValue, "cudaEventElapsedTime: null pointer");
  }
  for (const cudaEvent_t event : {start, stop}) {
    if (const cudaError_t error = check_event("cudaEventElapsedTime", event)) return error;
    if (event->mark == nullptr || !event->timed) {
      return set_error(cudaErrorInvalidResourceHandle,
                       "cudaEventElapsedTime: an event was not recorded or has timing disabled");
    }
    if (!event->mark->reached) {
      return set_error(cudaErrorNotReady,
                       "cudaEventElapsedTime: an event is not reached yet; cudaEventSynchronize "
                       "waits for it");
    }
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(stop->mark->at - start->mark->at).count();
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const auto guard = lock();
  if (kernel == nullptr) {
    return set_error(cudaErrorInvalidDeviceFunction, "cudaFuncSetAttribute: null kernel");
  }
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > max_shared()) {
    return set_error(cudaErrorInvalidValue, "cudaFuncSetAttribute: value " + std::to_string(value) +
                                                "; dynamic shared memory may be 0 to " +
                                                std::to_string(max_shared()) + " bytes");
  }
  state().dynamic_shared[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
