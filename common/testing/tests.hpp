// What the suites of all operators are made of.
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

// For a chapter's own tests: skips (or, with LADDER_REQUIRE_GPU=1, fails) where the device is missing. Returns true
// if the test must not go on.
bool device_is_missing(const Implementation& implementation);

// Skips the running test in plain sight: the reason is printed, and noted for the summary of a test run. The caller returns.
void skip(const std::string& why);

// A test made at run time: finds its implementation, and runs `body` under each schedule of its device; with `turn` only under
// one, so that tests with successive turns share the schedules among them. Where the body throws NotOnThisDevice, the test is
// skipped. `about`: the case that it is about, as text, for who lists the tests.
using Body = std::function<void(const Implementation&)>;
void add(const std::string& implementation, const std::string& test, Body body,
         std::optional<std::size_t> turn = std::nullopt, const std::string& about = "");

// A test of kernels, written as TEST is: skipped where there is neither a GPU nor the emulator, else its body runs under each schedule.
#define KERNEL_TEST(suite, test)                                                           \
  static void suite##_##test();                                                            \
  [[maybe_unused]] static const bool suite##_##test##_added =                              \
      ladder::testing::add_kernel_test(#suite, #test, suite##_##test, __FILE__, __LINE__); \
  static void suite##_##test()
bool add_kernel_test(const char* suite, const char* test, void (*body)(), const char* file,
                     int line);

// The line of a test that calls.
struct Caller {
  const char* file = __builtin_FILE();
  int line = __builtin_LINE();
};

// What the test runs. std::invalid_argument names the test's line where the operator has no such case.
std::unique_ptr<Case> case_of(const std::string& op, const Shape& shape, const Options& options,
                              const std::string& storage, const Caller& caller);

// The bytes of what the implementation computes, one output behind the other. Fails where it has no launcher for that.
std::vector<unsigned char> computed(const Implementation& i, const Problem& problem);

// `call` must throw a sentence that names the argument and says what is allowed.
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

// All of a call's work is where its caller expects it. A lesson that does not know streams yet has all of it on the default stream. No
// kernel runs.
void expect_on_one_stream(DeviceKind where, const std::function<void()>& call,
                          const std::string& name);

// With each of the arrays in turn one element off, or so many bytes where that is more: what `work` does is right, or refused with a sentence
// that names the array.
void expect_right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                          const std::function<void()>& work, std::size_t bytes = 1);

// Fails at the first element that differs, with both numbers: a list of all elements shows nobody which one it is.
void expect_same_bits(const std::string& what, const std::vector<float>& yours,
                      const std::vector<float>& right);

// What an operator's edge says, as failures of the running test.
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

// A verdict as an assertion: EXPECT_TRUE(is_right(problem, outputs)).
template <typename Typed>
::testing::AssertionResult is_right(const Problem& problem, const Typed& outputs,
                                    Arithmetic arithmetic = Arithmetic::kFp32) {
  const Verdict verdict = judge(problem, outputs, arithmetic);
  if (verdict.right) return ::testing::AssertionSuccess();
  const auto held = problem.holding(problem.bytes_of(outputs_at(problem, outputs)), "");
  return ::testing::AssertionFailure() << named(verdict, *held, arithmetic);
}

// Judged by the arithmetic that the implementation is registered with.
void expect_right(const Implementation& i, const Problem& problem);

}  // namespace ladder::testing
