// The mistake's name is searched in a second process, whose failures must not change the verdict.
#include "common/diagnosis/second_start.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/judge/typed.hpp"

namespace ladder {
namespace {

// y = 2 x, with a search for mistakes that calls the implementation with another x.
struct DoubleSizes {
  std::int64_t N = 4;
  float probe = 0.1f;  // the search's value for x

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 1), visit("probe", s.probe);
  }
};
struct DoubleArgs : DoubleSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;
  float* y = nullptr;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}}), visit("y", s.y, {{"n", s.N}});
  }
};
struct Double {
  static double fma_count(const DoubleArgs& args) { return static_cast<double>(args.N); }
  static double additions(const DoubleArgs&) { return 0; }
  static std::vector<Truth> truth(const Problem& problem, Arithmetic) {
    Truth y;
    for (const float x : problem["x"])
      y.values.push_back(2.0 * x);
    return {y};
  }
  static std::string explain(const Problem& problem, const std::vector<Part>& outputs) {
    const Implementation copies = find_implementation("double_that_copies");
    const float probe = problem.as<SizedCase<DoubleSizes>>().probe;
    const auto changed = problem.with("x", 0, probe);
    const auto placed = changed->place(device(copies.device), copies);
    placed->call();
    std::vector<double> x(problem["x"].begin(), problem["x"].end());
    return outputs[0].equals(x) ? "equals x, and y[0] is " + to_text(probe) + " of that" : "";
  }
};
const OperatorRegistration double_registration(
    with_types<Double, DoubleSizes, DoubleArgs, DoubleArgs>({
        .name = "double",
        .fma_count = of_host(Double::fma_count),
        .truth = Double::truth,
        .additions = of_host(Double::additions),
        .explain = Double::explain,
    }));

constexpr float kCrashes = -1, kEndsNever = -2, kThrows = -3, kPrints = -4, kExits = -5,
                kWaits = -6;
const Registration copies{{
    .name = "double_that_copies",
    .launchers = launchers<Double>([](const DoubleArgs& args) {
      if (args.x[0] == kCrashes) {
        std::signal(SIGSEGV, SIG_DFL);  // otherwise AddressSanitizer would exit with a status
        std::raise(SIGSEGV);
      }
      for (volatile bool ends = args.x[0] != kEndsNever; !ends;) {
      }
      while (args.x[0] == kWaits)
        pause();
      if (args.x[0] == kThrows) throw std::runtime_error("thrown");
      if (args.x[0] == kPrints) std::puts("printed by the code");
      if (args.x[0] == kExits) std::exit(0);
      std::copy_n(args.x, args.N, args.y);
    }),
}};

std::string said_of(const Problem& problem, const Implementation& implementation) {
  const auto placed = problem.place(device(DeviceKind::kCpu), implementation);
  placed->call();
  const Verdict verdict = placed->judge(Arithmetic::kFp32, false);
  EXPECT_FALSE(verdict.right);
  return named(verdict, *placed, Arithmetic::kFp32);
}

std::string said_of(float probe) {
  const auto problem =
      find_operator("double").make_case({}, {{"probe", to_text(probe)}}, "fp32")->make();
  return said_of(*problem, find_implementation("double_that_copies"));
}

void expect_said(const std::string& said, const std::string& words) {
  EXPECT_NE(said.find("WRONG RESULT"), std::string::npos) << said;
  EXPECT_NE(said.find("first bad element: y(n=0)"), std::string::npos) << said;
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

// Sets an environment variable while it exists.
class Environment {
 public:
  Environment(const char* variable, const char* value) : variable_(variable) {
    setenv(variable, value, 1);
  }
  ~Environment() { unsetenv(variable_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* variable_;
};

TEST(SecondStart, GivesTheName) {
  expect_said(said_of(0.1f), "\nIt equals x, and y[0] is 0.1 of that.\n");
  expect_said(said_of(1.0f / 3), "\nIt equals x, and y[0] is 0.33333334 of that.\n");
}

TEST(SecondStart, WritesOneRecordOfTheResult) {
  const std::string path = ::testing::TempDir() + "facts_" + std::to_string(getpid());
  {
    const Environment facts("LADDER_FACTS", path.c_str());
    said_of(0.1f);
  }
  std::ifstream file(path);
  std::string record, another;
  std::getline(file, record), std::getline(file, another);
  for (const char* const part :
       {R"("fact":"wrong result")", R"("array":"y")", R"("element":"n=0")",
        R"("equals":"x, and y[0] is 0.1 of that")", R"("unnamed":[])", R"("all_zero":false)"})
    EXPECT_NE(record.find(part), std::string::npos) << record;
  EXPECT_EQ(another, "");
  std::remove(path.c_str());
}

TEST(SecondStart, KnowsWhatNobodyHasDrawn) {
  const auto drawn = find_operator("double").make_case({}, {}, "fp32")->make();
  const Implementation one_less{.name = "not registered",
                                .launchers = launchers<Double>([](const DoubleArgs& args) {
                                  std::copy_n(args.x, args.N, args.y);
                                  args.y[1] -= 1;
                                })};
  EXPECT_EQ(said_of(*drawn->with("x", 1, 0.5f), one_less).find("equals"), std::string::npos);
  expect_said(said_of(*drawn->with("x", 1, 3e8f), one_less), "It equals x");  // rounds the 1 away
}

TEST(SecondStart, ThatCrashesChangesNoVerdict) {
  expect_said(said_of(kCrashes),
              "\nThe diagnosis ended with signal 11 (Segmentation fault); the "
              "verdict above holds.\n");
}

TEST(SecondStart, ThatThrowsChangesNoVerdict) {
  expect_said(said_of(kThrows), "\nThe diagnosis ended with signal 6 (Aborted); ");
}

TEST(SecondStart, ThatExitsChangesNoVerdict) {
  expect_said(said_of(kExits), "\nThe diagnosis ended with status 0; the verdict above holds.\n");
}

TEST(SecondStart, ThatDoesNotEndIsStopped) {
  const Environment brief("LADDER_DIAGNOSIS_SECONDS", "1");
  expect_said(said_of(kEndsNever), "\nThe diagnosis was stopped after 1 s; ");
  expect_said(said_of(kWaits), "\nThe diagnosis was stopped because it hardly ran; ");
}

TEST(SecondStart, SaysNotWhatTheCodePrints) {
  const std::string said = said_of(kPrints);
  expect_said(said, "It equals x");
  EXPECT_EQ(said.find("printed"), std::string::npos) << said;
}

TEST(SecondStart, ThatHasNoRoomChangesNoVerdict) {
  const Environment nowhere("TMPDIR", "/no/such/folder");
  expect_said(said_of(kPrints),
              "\nThe diagnosis could not be started (/no/such/folder/ladder_case");
}

TEST(SecondStart, IsNotMadeWhereNoNameIsAskedFor) {
  const Environment asked("LADDER_NO_NAMES", "1");
  const std::string said = said_of(kCrashes);
  EXPECT_EQ(said.find("diagnosis"), std::string::npos) << said;
  EXPECT_EQ(said.find("equals"), std::string::npos) << said;
}

}  // namespace
}  // namespace ladder
