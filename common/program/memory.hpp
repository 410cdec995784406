// Whether a shape's arrays have room, asked before they are made.
#pragma once

#include <cstddef>

#include "common/core/device.hpp"
#include "common/program/selection.hpp"

namespace ladder::program {

struct Memory {
  double host = 0, device = 0;  // bytes
};

// What checking one implementation takes: the problem, its arrays on a device, the truth in double. A device's scratch memory is
// not in it. `host_is_device`: as on a CPU and in the emulator.
Memory needed_memory(const Selection& selection, bool host_is_device);

// What the host still gives: of the machine, of the process's own limit (ulimit -v), and of its control group.
double available_host_bytes();

// std::invalid_argument names --shape, what is needed and what is there.
void require_memory(const Selection& selection, const Memory& needed, const Memory& available);

// The same for that device as it is now.
void require_memory(const Selection& selection, Device& device);

// "1.3 GB"
std::string bytes_text(double bytes);

}  // namespace ladder::program
