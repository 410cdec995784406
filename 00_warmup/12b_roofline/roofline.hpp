// The roofline: the least time of a kernel by what it has to do.
#pragma once

#include <array>

namespace warmup {

// What a kernel has to do, by count.
struct Work {
  double bytes = 0, operations = 0;
};

// What a GPU can do, as it was measured.
struct Machine {
  double bytes_per_second = 0, operations_per_second = 0;
};

// Where the work stands under the roof.
struct Place {
  double intensity = 0;       // operations for each byte
  double seconds = 0;         // at least
  bool memory_bound = false;  // moving takes longer than computing
};

// The work has bytes and operations, the machine both rates: all are more than 0.
Place place(const Work& work, const Machine& machine);

// Three kernels of this chapter, all in fp32: y = factor * x of lesson 12a with n elements, each array moved once; the mean of 9
// neighbours of lesson 06 with n elements, each array moved once, 8 additions and a multiplication; and the product of two n x n
// matrices of lesson 14 with tiles of 32 x 32, the bytes that its threads load from global memory (the stores are left out).
std::array<Work, 3> three_kernels(double n);

}  // namespace warmup
