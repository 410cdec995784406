// The roofline is the least time of a kernel, by its bytes and operations.
#pragma once

#include <array>

namespace warmup {

// A kernel's work, by count.
struct Work {
  double bytes = 0, operations = 0;
};

// A GPU's measured rates.
struct Machine {
  double bytes_per_second = 0, operations_per_second = 0;
};

// The position of the work under the roofline.
struct Place {
  double intensity = 0;       // operations per byte
  double seconds = 0;         // the least time
  bool memory_bound = false;  // bytes need more time than operations
};

// Bytes, operations and both rates are more than 0.
Place place(const Work& work, const Machine& machine);

// Three kernels of this chapter, all in fp32. The first is y = factor * x of lesson 12a with n
// elements, each array moved once. The second is the mean of 9 neighbours of lesson 06 with n
// elements, each array moved once, 8 additions and a multiplication. The third is the product of
// two n x n matrices of lesson 14 with tiles of 32 x 32, with the bytes that its threads load from
// global memory (without stores).
std::array<Work, 3> three_kernels(double n);

}  // namespace warmup
