// What a chapter claims about its kernels' memory accesses, as tests.
#pragma once

#include <string>
#include <vector>

#include "common/bench/xray_run.hpp"
#include "common/core/problem.hpp"

namespace ladder::testing {

// The X-ray of the kernels that `implementation` launches on that shape, in order of first launch. Fails the calling test unless
// the result is right and no error was found.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation,
                                             const bench::Selection& selection);
// Of the only one.
emulator::xray::Kernel xray_of(const std::string& implementation,
                               const bench::Selection& selection);

// Of softmax attention, for cases that are no shape by name.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation,
                                             const AttentionCase& c);

// What one element of o may cost, in accesses of single threads to global memory.
struct Budget {
  double loads = 0, stores = 0, atomics = 0;
};

// Adds the test KeepsItsBudget and, for a learner, prints how much of it is used. The budget is for K = V = 64.
bool register_budget(const std::string& implementation, const std::string& op,
                     const Budget& budget);

}  // namespace ladder::testing
