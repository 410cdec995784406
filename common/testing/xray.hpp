// What a chapter claims about its kernels' memory accesses, as tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/judge/operator.hpp"
#include "common/testing/tests.hpp"
#include "common/xray/run.hpp"

namespace ladder::testing {

// The kernels of a run, in order of first launch. Fails the calling test unless the result is right and no error was found.
std::vector<emulator::xray::Kernel> sound_kernels(const XrayRun& run);

// The X-ray of the kernels that `implementation` launches in that case.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation, const Case& c);

// xrays_of<Gla>("gla_five_steps", {.B = 1, .T = 70})
template <typename Op>
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation,
                                             typename Op::Case c) {
  if constexpr (requires { Op::own(c); }) c = Op::own(c);
  return xrays_of(implementation, *as_case<Op>(c));
}

emulator::xray::Kernel only_one(const std::vector<emulator::xray::Kernel>& kernels);

template <typename Op>
emulator::xray::Kernel xray_of(const std::string& implementation, const typename Op::Case& c) {
  return only_one(xrays_of<Op>(implementation, c));
}

// The same by the names of the operator's lists, without its types.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation,
                                             const std::string& op, const Shape& shape,
                                             const Options& options = {},
                                             const std::string& storage = "fp32",
                                             const Caller& caller = {});
emulator::xray::Kernel xray_of(const std::string& implementation, const std::string& op,
                               const Shape& shape, const Options& options = {},
                               const std::string& storage = "fp32", const Caller& caller = {});

// Adds the test StaysInBounds/OP: in this case, of each storage, the X-ray finds nothing wrong; StaysInBoundsOverManyTurns/OP, of the
// last storage: nor does it over a length that uses each slot of a ring of tiles four times; and AlignsItsAccesses/OP: nor where an array
// is one element off, if the launcher takes that.
inline const Shape kRaggedShape = {{"B", 1}, {"T", 21}, {"H", 2}, {"K", 36}, {"V", 20}};
bool register_bounds(const std::string& implementation, const std::string& op,
                     const Shape& shape = kRaggedShape, const Options& options = {},
                     const std::vector<std::string>& storages = {"fp32"});

// What one element of the first output may cost, in accesses of single threads to global memory, and in bytes. Then counters of the X-ray, of which
// each of `of` parts of the work, "step of a block", may use so many.
struct Budget {
  double loads = 0, stores = 0, atomics = 0;
  double host_bytes = 0;  // written by cudaMemset and cudaMemcpy
  struct Count {
    emulator::xray::Counter counter;
    double allowed;
    std::string part;
    std::int64_t of;
  };
  std::vector<Count> counts = {};
  // Whether no case that is small enough lets an asynchronous copy go where something was read before. In all others one must: else a
  // learner's copy that comes too early is not seen.
  bool uses_places_once = false;
};

// Expects that no more is used than a budget allows, and prints both, for ./ladder exercise to show. `what`: "global loads used, per element
// of o, wkv_naive".
void expect_within_budget(double used, double allowed, const std::string& what);

// The same of what a kernel has of one counter for each of another: sectors for each request.
void expect_within_budget(const emulator::xray::Kernel& kernel, emulator::xray::Counter counter,
                          emulator::xray::Counter of, double allowed, const std::string& what);

// How often the first block's threads arrive at a named barrier without waiting, while no product that they issued is on its way.
std::uint64_t turns_passed_without_products(const emulator::xray::Kernel& kernel);

// The shape of a budget, unless it is given. Ragged, so that no count is right by accident.
inline const Shape kBudgetShape = {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}};

// Adds the test KeepsItsBudget, of the operator of that name, and prints for a learner how much of it is used.
bool register_budget(const std::string& implementation, const std::string& op, const Budget& budget,
                     const Shape& shape = kBudgetShape, const Options& options = {},
                     const Caller& caller = {}, const std::string& storage = "fp32");

}  // namespace ladder::testing
