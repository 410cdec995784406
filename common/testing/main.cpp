#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "common/diagnosis/second_start.hpp"
#include "common/testing/first_nan.hpp"
#include "common/testing/suite.hpp"

namespace {

void say_test(int signal) {
  const auto say = [](const char* text) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
  };
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr && GTEST_FLAG_GET(brief)) {
    for (const char* text : {"died in ", test->test_suite_name(), ".", test->name(), "\n"})
      say(text);
  }
  raise(signal);  // delivered when this function returns, with the default action
}

// A crash reports its test where only failures are printed. AddressSanitizer's handlers stay.
void name_the_test_that_dies() {
  static std::array<char, 64 * 1024> stack;  // the thread's own may be full
  const stack_t other{stack.data(), 0, stack.size()};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = say_test;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

// Suites are registered here and not before main, because all operators are known now.
int main(int argc, char** argv) {
  ladder::second_start(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  name_the_test_that_dies();
  ladder::testing::trace_nans();
  ladder::testing::register_pending_suites();
  return RUN_ALL_TESTS();
}
