#include "common/testing/tests.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/core/device.hpp"
#include "common/core/errors.hpp"
#include "common/core/facts.hpp"
#include "common/core/guarded_array.hpp"
#include "common/judge/judging.hpp"

namespace ladder::testing {

namespace {

class SuiteTest : public ::testing::Test {
 public:
  using Find = std::function<Implementation()>;
  SuiteTest(Find find, Body body, std::optional<std::size_t> turn)
      : find_(std::move(find)), body_(std::move(body)), turn_(turn) {}

  void TestBody() override {
    const Implementation implementation = find_();
    if (device_is_missing(implementation)) return;
    Device& where = device(implementation.device);
    std::vector<std::string> schedules = where.schedules();
    if (turn_) schedules = {schedules[*turn_ % schedules.size()]};
    const char* const most = std::getenv("LADDER_MOST_SCHEDULES");
    if (most != nullptr)
      schedules.resize(std::min<std::size_t>(schedules.size(), std::strtoul(most, nullptr, 10)));
    for (const std::string& schedule : schedules) {
      // An error under the first of several schedules does not depend on the schedule.
      std::optional<::testing::ScopedTrace> trace;
      const std::string order = "order of threads: " + schedule;
      if (where.schedules().size() > 1 && (turn_ || schedule != schedules.front()))
        trace.emplace(__FILE__, __LINE__, order);
      where.use_schedule(schedule);
      try {
        body_(implementation);
      } catch (const NotOnThisDevice& why) {
        return skip(why.what());
      }
      if (HasFailure() && trace)
        write_fact(nlohmann::json({{"fact", "order of threads"}, {"message", order}}).dump());
      if (HasFailure() || IsSkipped()) return;
    }
  }

 private:
  Find find_;
  Body body_;
  std::optional<std::size_t> turn_;
};

void expect_clear(const std::string& message, const std::string& argument) {
  EXPECT_NE(message.find(argument), std::string::npos) << message;
  EXPECT_NE(message.find("allow"), std::string::npos)
      << message << ": does not say what is allowed";
}

}  // namespace

void add(const std::string& implementation, const std::string& test, Body body,
         std::optional<std::size_t> turn, const std::string& about) {
  ::testing::RegisterTest(
      implementation.c_str(), test.c_str(), nullptr, about.empty() ? nullptr : about.c_str(),
      __FILE__, __LINE__, [=]() -> ::testing::Test* {
        return new SuiteTest([=] { return find_implementation(implementation); }, body, turn);
      });
}

bool add_kernel_test(const char* suite, const char* test, void (*body)(), const char* file,
                     int line) {
  ::testing::RegisterTest(suite, test, nullptr, nullptr, file, line, [=]() -> ::testing::Test* {
    return new SuiteTest([] { return Implementation{.device = DeviceKind::kCuda}; },
                         [=](const Implementation&) { body(); }, std::nullopt);
  });
  return true;
}

std::unique_ptr<Case> case_of(const std::string& op, const Shape& shape, const Options& options,
                              const std::string& storage, const Caller& caller) {
  try {
    return find_operator(op).make_case(shape, options, storage);
  } catch (const std::invalid_argument& error) {
    std::string what = error.what();
    if (what.starts_with("--")) what.erase(0, 2);  // not an option of a command here
    throw std::invalid_argument(std::string(caller.file) + ":" + std::to_string(caller.line) +
                                ": " + what);
  }
}

std::vector<unsigned char> computed(const Implementation& i, const Problem& problem) {
  const auto placed = problem.place(device(i.device), i);
  if (placed == nullptr) {
    ADD_FAILURE() << i.name << " has no launcher for this";
    return {};
  }
  placed->call();
  device(i.device).synchronize();
  return placed->outputs();
}

void expect_refused(const std::string& argument, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "a bad " << argument << " was accepted";
  } catch (const std::invalid_argument& error) {
    expect_clear(error.what(), argument);
  }
}

void expect_right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                          const std::function<void()>& work, std::size_t bytes) {
  for (const std::string& array : arrays) {
    SCOPED_TRACE(array + " is not aligned");
    const ShiftedArray shifted(array, bytes);
    try {
      work();
    } catch (const std::invalid_argument& error) {
      expect_clear(error.what(), array);
    }
    EXPECT_TRUE(shifted.used()) << "there is no such array";
  }
}

void expect_same_bits(const std::string& what, const std::vector<float>& yours,
                      const std::vector<float>& right) {
  ASSERT_EQ(yours.size(), right.size()) << what;
  for (std::size_t i = 0; i < yours.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(yours[i]) == std::bit_cast<std::uint32_t>(right[i])) continue;
    FAIL() << "WRONG RESULT in " << what << ": element " << i << " of " << yours.size()
           << " is the first that differs: " << yours_and_right(yours[i], right[i]);
  }
}

void expect_right(const Implementation& i, const Problem& problem) {
  TestReport report;
  ladder::expect_right(report, i, problem);
}

bool device_is_missing(const Implementation& implementation) {
  const std::string why = why_unavailable(implementation.device);
  if (why.empty()) return false;
  const char* required = std::getenv("LADDER_REQUIRE_GPU");
  if (required != nullptr && std::string(required) == "1") {
    ADD_FAILURE() << "LADDER_REQUIRE_GPU=1, but there is no GPU: " << why;
  } else {
    skip(why);
  }
  return true;
}

void skip(const std::string& why) {
  if (const char* log = std::getenv("LADDER_SKIP_LOG")) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::ofstream(log, std::ios::app)
        << test->test_suite_name() << "." << test->name() << ": " << why << std::endl;
  }
  GTEST_SKIP() << why;
}

void expect_on_one_stream(DeviceKind where, const std::function<void()>& call,
                          const std::string& name) {
  const Launches launches = device(where).launches_of(call);
  EXPECT_TRUE(launches.on_its_stream == 0 || launches.on_its_stream == launches.all)
      << launches.all - launches.on_its_stream << " of " << launches.all
      << " launches, copies and fills name no stream, or another one than ladder::cuda::stream(): "
      << name;
}

}  // namespace ladder::testing
