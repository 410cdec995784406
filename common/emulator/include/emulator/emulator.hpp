// What hosts (tests, the ladder, an X-ray) may ask of the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/vector_types.hpp"

namespace emulator {

// In which order blocks start and runnable threads run. A right kernel gives the same results under
// each.
struct Schedule {
  enum Order { forward, reverse, shuffle };
  Order order = forward;
  std::uint64_t seed =
      0;              // of shuffle; the same seed gives the same order of threads within each block
  bool late = false;  // bulk copies and products come as late as they may, as in reverse
};
void set_schedule(Schedule schedule);
Schedule schedule();

// Operating-system threads that run blocks, 0 for one per core (the default). With 1, blocks run
// one after the other in the schedule's order.
void set_workers(unsigned count);

// Whether a launch may be given pointers to the host's memory: on a GPU it is an error, and so it is here, unless a host says that its
// kernels are for the host's arrays.
void allow_host_memory(bool allowed);

// From now on a launch runs those blocks only that are among the last `count` along each extent of its grid; 0: all of them. Large
// allocations may be larger than the machine's memory then: they hold nothing, and cudaMemset writes their end. For tests of offsets in
// arrays of more than 2^31 elements.
void run_last_blocks(unsigned count);

// The last error's full text: kernel, block, thread, file and line where they apply. Empty after
// reset().
std::string last_report();

// Forgets errors, reports, the last launch and function attributes; sets the schedule to forward and
// the workers to one per core. Memory stays allocated.
void reset();

// Figures of the last launch that ran, successful or not.
struct LaunchSummary {
  std::string kernel;
  dim3 grid;
  dim3 block;
  std::size_t static_shared_bytes =
      0;  // of __shared__ variables reached, the largest sum over blocks
  std::size_t dynamic_shared_bytes = 0;  // third launch argument
};
LaunchSummary last_launch();

// What `work` launches, in this order. None of it runs: arrays stay as they are, but for copies and fills. `copies`, where given: the
// streams of these.
struct NotedLaunch {
  std::string name;    // as the launcher writes the kernel
  const void* kernel;  // the function; null where it is not known
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes;
  const void* stream;  // a cudaStream_t; null: the default stream
};
std::vector<NotedLaunch> launches_of(const std::function<void()>& work,
                                     std::vector<const void*>* copies = nullptr);

// The CUDA thread that runs on the calling operating-system thread.
struct ThreadIdentity {
  const char* kernel;
  uint3 block;
  uint3 thread;
  unsigned linear_thread;       // within the block, x fastest; warp = linear_thread / 32
  std::uint64_t linear_block;   // within the grid, x fastest
  std::uint64_t barrier_epoch;  // block-wide barriers passed so far
};
// False outside a kernel.
bool current_thread(ThreadIdentity* identity);

// Bytes [begin, end) of the calling block's shared memory, guard zones included; nulls outside a
// kernel.
struct AddressRange {
  const void* begin = nullptr;
  const void* end = nullptr;
};
AddressRange shared_memory();

// The range of addresses that device memory lies in. It is closed to the host's code while no kernel
// runs and no runtime call works there: an access ends the program with SIGSEGV and a sentence.
AddressRange device_memory();

// From now on the host's code may touch device memory: for libraries whose callers own their arrays.
void leave_device_memory_open();

// Whether the host has memory there that no kernel reaches on a GPU: from malloc, in a vector, on a
// stack. Memory of cudaMallocHost and the program's own variables are not such memory.
bool is_host_memory(const void* pointer);

// What was done in created streams since reset(), in this order, a letter each: k kernel, c copy,
// f fill, e event reached, w an event that was waited for; and d, an event in the default stream.
// The last 32,768 or more of them.
std::string stream_log();

// What an X-ray calls the elements at [begin, begin + bytes). Bytes next to them are out of bounds,
// even where they belong to the same allocation.
struct MemoryName {
  const void* begin;
  std::size_t bytes;
  std::string name;
  std::size_t element_bytes;
  bool written;           // false: an output, whose contents so far mean nothing
  std::string axes = {};  // "b=2, t=37", for who shows where an element is; empty where not known
};
void name_memory(const MemoryName& name);

// An X-ray forgets what it has recorded so far. Nothing happens where there is none.
void forget_recorded();

}  // namespace emulator
