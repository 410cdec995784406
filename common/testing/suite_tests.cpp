#include "common/testing/suite_tests.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "common/core/device.hpp"
#include "common/core/errors.hpp"
#include "common/testing/pairwise.hpp"

namespace ladder::testing {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string(value) == "1";
}

namespace {

class SuiteTest : public ::testing::Test {
 public:
  SuiteTest(std::string implementation, Body body)
      : implementation_(std::move(implementation)), body_(std::move(body)) {}

  void TestBody() override {
    const Implementation implementation = find_implementation(implementation_);
    if (device_is_missing(implementation)) return;
    Device& where = device(implementation.device);
    for (const std::string& schedule : where.schedules()) {
      SCOPED_TRACE("schedule: " + schedule);
      where.use_schedule(schedule);
      try {
        body_(implementation);
      } catch (const NotOnThisDevice& why) {
        return skip(why.what());
      }
      if (HasFailure()) return;
    }
  }

 private:
  std::string implementation_;
  Body body_;
};

}  // namespace

void add(const std::string& implementation, const std::string& test, Body body) {
  ::testing::RegisterTest(
      implementation.c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [=]() -> ::testing::Test* { return new SuiteTest(implementation, body); });
}

std::vector<std::vector<std::size_t>> rows_of(const std::vector<std::size_t>& level_counts) {
  return is_set("LADDER_ALL_CASES") ? all_rows(level_counts) : pairwise_rows(level_counts);
}

bool all_nan(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

bool device_is_missing(const Implementation& implementation) {
  const std::string why = why_unavailable(implementation.device);
  if (why.empty()) return false;
  if (is_set("LADDER_REQUIRE_GPU")) {
    ADD_FAILURE() << "LADDER_REQUIRE_GPU=1, but there is no GPU: " << why;
    return true;
  }
  skip(why);
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

}  // namespace ladder::testing
