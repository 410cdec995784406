// The range of addresses that all device memory lies in. The host's code cannot touch it: an access
// ends the program with a sentence that says so. It is open while a kernel runs. The emulator itself
// reaches the same memory at other addresses, so that a copy opens nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/emulator.hpp"

namespace emulator::detail {

// Reserved by the first call. Empty: the system has no such range.
AddressRange device_range();

// Where the emulator may read and write what lies at `pointer`, which may be the host's own memory.
void* within_reach(const void* pointer);

// The pages that lie wholly in this device memory have no contents any more.
void give_back_to_system(const void* begin, std::size_t bytes);

// From now on what lies below `end` is opened and closed.
void use_device_range_to(std::uintptr_t end);

// The range is open while any lives, in whatever thread.
class DeviceMemoryOpen {
 public:
  DeviceMemoryOpen();
  ~DeviceMemoryOpen();
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
  DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

}  // namespace emulator::detail
