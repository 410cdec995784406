#include "common/testing/xray.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/core/device_problem.hpp"
#include "common/testing/compare.hpp"

namespace ladder::testing {
namespace {

using emulator::xray::Buffer;
using emulator::xray::Kernel;

// Ragged, so that no count is right by accident.
const bench::Shape kShape{.B = 2, .T = 5, .H = 3, .K = 64, .V = 64};

// No solution comes near; what a learner's endless loop records must stay small.
constexpr std::uint64_t kMostBudgetAccesses = 20'000'000;

std::uint64_t accesses(const std::vector<Kernel>& kernels, emulator::xray::Operation operation) {
  std::uint64_t count = 0;
  for (const Kernel& kernel : kernels) {
    for (const Buffer& buffer : kernel.buffers)
      count += buffer.traffic[static_cast<std::size_t>(operation)].accesses;
  }
  return count;
}

void report_errors(const Kernel& kernel) {
  for (const auto& error : kernel.errors)
    ADD_FAILURE() << error.message;
}

std::vector<Kernel> expect_sound(const bench::XrayRun& run) {
  EXPECT_TRUE(run.right) << run.message;
  std::vector<Kernel> kernels;
  for (const auto& subject : run.subjects) {
    report_errors(subject.kernel);
    kernels.push_back(subject.kernel);
  }
  return kernels;
}

// Tests that know nothing of the X-ray fail by what it finds in them. A test that asks for its recordings reports them itself.
class ErrorsFailTests : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    emulator::xray::set_access_limit(emulator::xray::kDefaultAccessLimit);
    emulator::xray::take();
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    for (const Kernel& kernel : emulator::xray::take())
      report_errors(kernel);
  }
};

[[maybe_unused]] const bool listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new ErrorsFailTests);
  return true;
}();

class BudgetTest : public ::testing::Test {
 public:
  BudgetTest(std::string implementation, std::string op, const Budget& budget)
      : implementation_(std::move(implementation)), op_(std::move(op)), budget_(budget) {}

  void TestBody() override {
    using emulator::xray::Operation;
    const bench::XrayRun run = bench::xray(find_implementation(implementation_),
                                           {.op = op_, .shape = kShape}, kMostBudgetAccesses);
    const std::vector<Kernel> kernels = expect_sound(run);
    if (run.too_large) {
      FAIL() << "stopped: more than " << emulator::xray::grouped(kMostBudgetAccesses)
             << " accesses and basic blocks. Is there a loop that does not end?";
    }
    if (run.stopped) return;  // the counts are of a part of the run
    expect_within("loads", accesses(kernels, Operation::kLoad), budget_.loads);
    expect_within("stores", accesses(kernels, Operation::kStore), budget_.stores);
    expect_within("atomics", accesses(kernels, Operation::kAtomic), budget_.atomics);
  }

 private:
  static void expect_within(const char* what, std::uint64_t used, double allowed) {
    const double outputs = static_cast<double>(kShape.B * kShape.T * kShape.H * kShape.V);
    const double each = static_cast<double>(used) / outputs;
    fmt::print("budget: {:.4g} of {:.4g} global {} used, per element of o\n", each, allowed, what);
    EXPECT_LE(each, allowed) << "global " << what << " per element of o";
  }

  std::string implementation_, op_;
  Budget budget_;
};

}  // namespace

std::vector<Kernel> xrays_of(const std::string& implementation, const bench::Selection& selection) {
  const bench::XrayRun run = bench::xray(find_implementation(implementation), selection);
  EXPECT_FALSE(run.too_large);
  return expect_sound(run);
}

std::vector<Kernel> xrays_of(const std::string& implementation, const AttentionCase& c) {
  const Implementation chosen = find_implementation(implementation);
  const AttentionProblem problem = make_problem(c);
  emulator::xray::take();
  EXPECT_TRUE(is_right(problem, run(chosen, problem), arithmetic_of(chosen, c.precision)));
  const std::vector<Kernel> kernels = emulator::xray::take();
  for (const Kernel& kernel : kernels)
    report_errors(kernel);
  return kernels;
}

Kernel xray_of(const std::string& implementation, const bench::Selection& selection) {
  const std::vector<Kernel> kernels = xrays_of(implementation, selection);
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.empty() ? Kernel{} : kernels.front();
}

bool register_budget(const std::string& implementation, const std::string& op,
                     const Budget& budget) {
  ::testing::RegisterTest(
      implementation.c_str(), "KeepsItsBudget", nullptr, nullptr, __FILE__, __LINE__,
      [=]() -> ::testing::Test* { return new BudgetTest(implementation, op, budget); });
  return true;
}

}  // namespace ladder::testing
