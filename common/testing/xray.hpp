// A chapter's claims about its kernels' memory accesses, as tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/judge/operator.hpp"
#include "common/testing/tests.hpp"
#include "common/xray/run.hpp"

namespace ladder::testing {

// The kernels of a run, by first launch. Fails the test on a wrong result or an error.
std::vector<emulator::xray::Kernel> sound_kernels(const XrayRun& run);

// The X-ray of the kernels that `implementation` launches in that case.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation, const Case& c);

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

// The same by names and sizes, without the operator's types.
std::vector<emulator::xray::Kernel> xrays_of(const std::string& implementation,
                                             const std::string& op, const Shape& shape,
                                             const Options& options = {},
                                             const std::string& storage = "fp32",
                                             const Caller& caller = {});
emulator::xray::Kernel xray_of(const std::string& implementation, const std::string& op,
                               const Shape& shape, const Options& options = {},
                               const std::string& storage = "fp32", const Caller& caller = {});

// Adds tests that the X-ray finds no errors: StaysInBounds/OP for each storage,
// StaysInBoundsOverManyTurns/OP for a length that uses each stage of a ring four times, and
// AlignsItsAccesses/OP for an array shifted by one element, if the launcher accepts that.
inline const Shape kRaggedShape = {{"B", 1}, {"T", 21}, {"H", 2}, {"K", 36}, {"V", 20}};
bool register_bounds(const std::string& implementation, const std::string& op,
                     const Shape& shape = kRaggedShape, const Options& options = {},
                     const std::vector<std::string>& storages = {"fp32"});

// The allowed cost per element of the first output, in threads' accesses to global memory and in
// bytes. `counts` limit counters of the X-ray for each of `of` parts ("step of a block").
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
  // Whether no small case has an asynchronous copy to memory that was read before. All others need
  // one, because otherwise a learner's copy that comes too early is not noticed.
  bool uses_places_once = false;
};

// Expects that the used amount is within the budget, and prints both for ./ladder exercise. `what`
// is like "global loads used, per element of o, wkv_naive".
void expect_within_budget(double used, double allowed, const std::string& what);

// The same for the ratio of two counters, such as sectors per request.
void expect_within_budget(const emulator::xray::Kernel& kernel, emulator::xray::Counter counter,
                          emulator::xray::Counter of, double allowed, const std::string& what);

// How often threads of the first block pass a named barrier without products in flight.
std::uint64_t turns_passed_without_products(const emulator::xray::Kernel& kernel);

// The default shape of a budget. Its sizes differ, so that no count is right by accident.
inline const Shape kBudgetShape = {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}};

// Adds the test KeepsItsBudget for this operator, which prints how much of the budget is used.
bool register_budget(const std::string& implementation, const std::string& op, const Budget& budget,
                     const Shape& shape = kBudgetShape, const Options& options = {},
                     const Caller& caller = {}, const std::string& storage = "fp32");

}  // namespace ladder::testing
