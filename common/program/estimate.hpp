// How long a shape will take where a clock says little: in the emulator, and on a CPU. Told from a part of it.
#pragma once

#include <string>

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

}  // namespace ladder::program
