// What the suites of all operators are made of.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/problem.hpp"
#include "common/core/registry.hpp"
#include "common/testing/suite.hpp"

namespace ladder::testing {

// Whether the environment has it as 1.
bool is_set(const char* variable);

// Marks the running test as skipped, also in the list that CTest prints. The caller returns.
void skip(const std::string& why);

// A test made at run time: finds its implementation, and runs `body` under each schedule of its device. Where the body throws
// NotOnThisDevice, the test is skipped.
using Body = std::function<void(const Implementation&)>;
void add(const std::string& implementation, const std::string& test, Body body);

// Pairwise, or with LADDER_ALL_CASES=1 all of them.
std::vector<std::vector<std::size_t>> rows_of(const std::vector<std::size_t>& level_counts);

// Two rows may differ only in options that the case does not have; one case is enough then.
template <typename Case>
class CaseList {
 public:
  void add(Case c) {
    c.seed = static_cast<std::uint32_t>(cases_.size() + 1);
    if (names_.insert(name_of(c)).second) cases_.push_back(c);
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
  std::set<std::string> names_;
};

// One bad change to good arguments, and the name its refusal must hold.
template <typename Args>
struct BadInput {
  std::string argument;
  std::function<void(Args&)> spoil;
};

template <typename Pointer>
void misalign(Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

template <typename Args, typename OnDevice, typename Launcher>
void expect_refused(const std::vector<BadInput<Args>>& bad_inputs, OnDevice& on_device,
                    const Launcher& launch) {
  for (const auto& bad : bad_inputs) {
    Args args = on_device.args();
    bad.spoil(args);
    try {
      launch(args);
      ADD_FAILURE() << "a bad " << bad.argument << " was accepted";
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(bad.argument), std::string::npos) << message;
      EXPECT_NE(message.find("allow"), std::string::npos)
          << message << ": does not say what is allowed";
    }
  }
}

bool all_nan(const std::vector<float>& values);

}  // namespace ladder::testing
