// Predicts, before a shape runs, how long it takes (in the emulator and on a CPU, from a part of
// it), and whether its arrays fit into memory.
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

// A part of the selection's shape that is checked in a second or two (all of it if it is small).
Shape part_of(const Selection& selection);

// A part about four times as large, at most the shape itself.
Shape larger_part(const Shape& part, const Selection& selection);

// The times of `spent` scaled from the part to the selection's shape, by operations or by bytes.
Spent scaled(const Spent& spent, const Shape& part, const Selection& selection);

// A lower bound from the operations alone, if even the smallest part is large. Nothing runs.
double least_seconds(const Selection& selection);

// "40 seconds", "3 minutes", "5.9 hours", "12 days"
std::string time_text(double seconds);

struct Memory {
  double host = 0, device = 0;  // bytes
};

// The memory for checking one implementation: the problem, its device arrays and the truth in
// double, without scratch memory. `host_is_device` means on a CPU or in the emulator.
Memory needed_memory(const Selection& selection, bool host_is_device);

// Memory that is left within the machine, the process' limit (ulimit -v) and its control group.
double available_host_bytes();

// Throws std::invalid_argument with --shape, the needed and the available memory.
void require_memory(const Selection& selection, const Memory& needed, const Memory& available);

// The same for the present state of that device.
void require_memory(const Selection& selection, Device& device);

}  // namespace ladder::program
