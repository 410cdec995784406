// Building blocks of all operators' suites.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/registry.hpp"
#include "common/core/verdict.hpp"
#include "common/diagnosis/second_start.hpp"
#include "common/judge/plan.hpp"
#include "common/judge/typed.hpp"

namespace ladder::testing {

// For a chapter's own tests: skips (or, with LADDER_REQUIRE_GPU=1, fails) if the device is missing,
// and then returns true, so that the test must return.
bool device_is_missing(const Implementation& implementation);

// Skips the running test, prints the reason and records it. The caller must return.
void skip(const std::string& why);

// A test made at run time, which runs `body` under each schedule of its implementation's device.
// With `turn` it runs under only one, so that tests with successive turns share the schedules.
// NotOnThisDevice skips the test. `about` describes its case in lists of tests.
using Body = std::function<void(const Implementation&)>;
void add(const std::string& implementation, const std::string& test, Body body,
         std::optional<std::size_t> turn = std::nullopt, const std::string& about = "");

// Like TEST, for kernels. Skipped without a GPU and the emulator, otherwise run in each schedule.
#define KERNEL_TEST(suite, test)                                                           \
  static void suite##_##test();                                                            \
  [[maybe_unused]] static const bool suite##_##test##_added =                              \
      ladder::testing::add_kernel_test(#suite, #test, suite##_##test, __FILE__, __LINE__); \
  static void suite##_##test()
bool add_kernel_test(const char* suite, const char* test, void (*body)(), const char* file,
                     int line);

// The calling line of a test.
struct Caller {
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

// The case of a test. std::invalid_argument names the test's line if the operator has no such case.
std::unique_ptr<Case> case_of(const std::string& op, const Shape& shape, const Options& options,
                              const std::string& storage, const Caller& caller);

// The implementation's output bytes, array after array. Fails without a launcher for this.
std::vector<unsigned char> computed(const Implementation& i, const Problem& problem);

// `call` must throw a sentence with the argument and the allowed values.
void expect_refused(const std::string& argument, const std::function<void()>& call);

template <typename Args, typename Launch>
void expect_refused(const std::vector<BadInput<Args>>& bad_inputs, const Args& good,
                    const Launch& launch) {
  for (const BadInput<Args>& bad : bad_inputs) {
    Args args = good;
    bad.spoil(args);
    expect_refused(bad.argument, [&] { launch(args); });
  }
}

// Checks that all work of a call is on its caller's stream, or all on the default stream in lessons
// before streams. No kernel runs.
void expect_on_one_stream(DeviceKind where, const std::function<void()>& call,
                          const std::string& name);

// Shifts each array in turn by one element, or by `bytes` if that is more. `work` must be right, or
// rejected with the array's name.
void expect_right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                          const std::function<void()>& work, std::size_t bytes = 1);

// Fails at the first different element, with both numbers, instead of printing all elements.
void expect_same_bits(const std::string& what, const std::vector<float>& yours,
                      const std::vector<float>& right);

// Reports an operator's edge cases as failures of the running test.
class TestReport : public Report {
 public:
  void fails(const std::string& why) override { ADD_FAILURE() << why; }
  void skips(const std::string& why) override { skip(why); }
  void wrong(const Verdict& verdict, const Placed& result, Arithmetic arithmetic) override {
    ADD_FAILURE() << named(verdict, result, arithmetic) << result.problem().name();
  }
  bool has_failed() const override { return ::testing::Test::HasFailure(); }
  void must_refuse(const std::string& argument, const std::function<void()>& call) override {
    expect_refused(argument, call);
  }
  void right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                     const std::function<void()>& work) override {
    expect_right_or_refused_when_shifted(arrays, work);
  }
};

// A verdict as an assertion, EXPECT_TRUE(is_right(problem, outputs)).
template <typename Typed>
::testing::AssertionResult is_right(const Problem& problem, const Typed& outputs,
                                    Arithmetic arithmetic = Arithmetic::kFp32) {
  const Verdict verdict = judge(problem, outputs, arithmetic);
  if (verdict.right) return ::testing::AssertionSuccess();
  const auto held = problem.holding(problem.bytes_of(outputs_at(problem, outputs)), "");
  return ::testing::AssertionFailure() << named(verdict, *held, arithmetic);
}

// Judged by the implementation's declared arithmetic.
void expect_right(const Implementation& i, const Problem& problem);

}  // namespace ladder::testing
