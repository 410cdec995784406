// The address range of all device memory, open only while a kernel runs. Host code that accesses it
// ends the program with an explanation. The emulator itself uses other addresses of that memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/emulator.hpp"

namespace emulator::detail {

// Reserved by the first call; empty if the system cannot do it.
AddressRange device_range();

// The address at which the emulator can access the memory at `pointer`, which may be host memory.
void* within_reach(const void* pointer);

// Discards the contents of the pages that are entirely in this device memory.
void give_back_to_system(const void* begin, std::size_t bytes);

// From now on the range is opened and closed only below `end`.
void use_device_range_to(std::uintptr_t end);

// The range is open while any object exists, in any thread.
class DeviceMemoryOpen {
 public:
  DeviceMemoryOpen();
  ~DeviceMemoryOpen();
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
  DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

}  // namespace emulator::detail
