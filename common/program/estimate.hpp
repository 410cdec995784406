// What a shape will take, told before it runs: how long where a clock says little (in the emulator, and on a CPU), from a part of it; and
// whether its arrays have room.
#pragma once

#include <string>

#include "common/core/device.hpp"
#include "common/program/selection.hpp"

namespace ladder::program {

// Seconds of one implementation on one shape.
struct Spent {
  double problem = 0;  // to draw the inputs
  double launch = 0;   // one call
  double judge = 0;    // to compare with float64
  double total() const { return problem + launch + judge; }
};

// A part of the selection's shape that is checked in a second or two. The shape itself if that is small.
Shape part_of(const Selection& selection);

// About four times that part, at most the shape itself.
Shape larger_part(const Shape& part, const Selection& selection);

// What `spent` on that part comes to on the selection's shape: each by the operations, or the bytes, that it is made of.
Spent scaled(const Spent& spent, const Shape& part, const Selection& selection);

// Where even the smallest part is large: a guess from its operations alone, so that nothing has to run.
double least_seconds(const Selection& selection);

// "40 seconds", "3 minutes", "5.9 hours", "12 days"
std::string time_text(double seconds);

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

}  // namespace ladder::program
