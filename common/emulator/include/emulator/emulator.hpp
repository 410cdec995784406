// The emulator's interface for hosts: tests, the ladder and the X-ray.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/vector_types.hpp"

namespace emulator {

// The order in which blocks and runnable threads run. A correct kernel gives the same under each.
struct Schedule {
  enum Order { forward, reverse, shuffle };
  Order order = forward;
  std::uint64_t seed = 0;  // shuffle only; fixes the order of threads within each block
  bool late = false;       // bulk copies and products complete as late as allowed, as in reverse
};
void set_schedule(Schedule schedule);
Schedule schedule();

// The number of operating-system threads that run blocks. 0, the default, is one per core. With 1,
// blocks run sequentially in the schedule's order.
void set_workers(unsigned count);

// Whether kernels may receive pointers to host memory. By default that is an error, as on a GPU.
void allow_host_memory(bool allowed);

// From now on launches run only the blocks that are among the last `count` along each axis of the
// grid (0: all blocks). Allocations may then exceed the machine's memory. Large ones store nothing,
// and cudaMemset writes only their end. Tests of offsets past 2^31 elements need this.
void run_last_blocks(unsigned count);

// The last error's text with kernel, block, thread, file and line if known. Empty after reset().
std::string last_report();

// Clears errors, reports, the last launch and function attributes, and restores the forward
// schedule and one worker per core. Memory stays allocated.
void reset();

// The last launch that ran, successful or not.
struct LaunchSummary {
  std::string kernel;
  dim3 grid;
  dim3 block;
  std::size_t static_shared_bytes =
      0;  // the largest sum over blocks of the __shared__ variables in use
  std::size_t dynamic_shared_bytes = 0;  // third launch argument
};
LaunchSummary last_launch();

// Notes the launches of `work` without running them. Copies and fills are done, unless `copies` is
// given, which then receives their streams.
struct NotedLaunch {
  std::string name;    // as written in the launch
  const void* kernel;  // the function, or null if unknown
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes;
  const void* stream;  // a cudaStream_t; null for the default stream
};
std::vector<NotedLaunch> launches_of(const std::function<void()>& work,
                                     std::vector<const void*>* copies = nullptr);

// The CUDA thread that runs on the calling operating-system thread.
struct ThreadIdentity {
  const char* kernel;
  uint3 block;
  uint3 thread;
  unsigned linear_thread;       // in the block, x fastest; warp = linear_thread / 32
  std::uint64_t linear_block;   // in the grid, x fastest
  std::uint64_t barrier_epoch;  // block-wide barriers passed so far
};
// False outside a kernel.
bool current_thread(ThreadIdentity* identity);

// The calling block's shared memory [begin, end) with guard zones, or nulls outside a kernel.
struct AddressRange {
  const void* begin = nullptr;
  const void* end = nullptr;
};
AddressRange shared_memory();

// The address range of device memory. Host code cannot access it, except in runtime calls and while
// kernels run. Any other access ends the program with SIGSEGV and an explanation.
AddressRange device_memory();

// From now on host code may access device memory, for libraries whose callers own their arrays.
void leave_device_memory_open();

// Whether the pointer is to host memory that no kernel reaches on a GPU: malloc, a vector, a stack.
// Memory of cudaMallocHost and the program's own variables do not count.
bool is_host_memory(const void* pointer);

// Operations executed in created streams since reset(), one letter each: k kernel, c copy, f fill,
// e event reached, w event waited for; d is a default-stream event. Keeps at least the last 32,768.
std::string stream_log();

// The X-ray's name for [begin, begin + bytes). Bytes next to it are out of bounds, even if they
// belong to the same allocation.
struct MemoryName {
  const void* begin;
  std::size_t bytes;
  std::string name;
  std::size_t element_bytes;
  bool written;           // false for an output, which is uninitialised so far
  std::string axes = {};  // such as "b=2, t=37", shown with an element; empty if unknown
};
void name_memory(const MemoryName& name);

// The X-ray, if there is one, forgets its recording so far.
void forget_recorded();

}  // namespace emulator
