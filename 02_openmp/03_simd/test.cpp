#include <algorithm>

#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

// The expected width is the widest that the compiler uses for any loop on this machine, because it
// may prefer half of the widest registers.
TEST(wkv_simd, Hole1IsVectorisedInEachWidth) {
  calls_of_exp("wkv_simd", {.B = 1, .T = 20, .H = 2, .K = 8, .V = 37}, /*threads=*/2);
  if (HasFailure()) return;
  VectorReport report;
  try {
    report = vector_report("wkv_simd", __FILE__);
  } catch (const std::runtime_error& why) {
    ladder::testing::skip(why.what());
    return;
  }
  const auto has = [&](int bytes) {
    return std::any_of(report.unchecked.begin(), report.unchecked.end(),
                       [&](const auto& loops) { return loops.second.contains(bytes); });
  };
  for (const int bytes : {16, 32, 64}) {
    if (bytes <= report.widest && !has(bytes))
      ADD_FAILURE() << "WRONG RESULT in the compiler's report: no loop without a check for overlap "
                    << "has vectors of " << bytes << " bytes, which " << bytes / 4
                    << " lanes need. Without a promise there is a check";
  }
  constexpr int kKernels = 3;  // of 4, 8 and 16 lanes
  for (const auto& [line, loops] : report.unchecked) {
    for (const auto& [bytes, count] : loops) {
      if (bytes > 16 && count >= kKernels)
        ADD_FAILURE() << "WRONG RESULT in the compiler's report: the loop in line " << line
                      << " has vectors of " << bytes
                      << " bytes in all three kernels, and 4 lanes need 16. Without a width "
                      << "(simdlen) the compiler takes the same one for all three";
    }
  }
  // Those that copy the initial and the final state may stay as they are.
  constexpr std::size_t kOfStates = 2;
  if (report.checked.size() > kOfStates)
    ADD_FAILURE() << "WRONG RESULT in the compiler's report: " << report.checked.size()
                  << " loops have a check for overlap, right " << kOfStates << "\n"
                  << report.text;
  EXPECT_GE(report.widest, 16) << report.text;
}

// The same file in narrower vectors. In each width, 37 columns leave a remainder.
TEST(wkv_simd, IsRightInEachWidth) {
  for (const char* name : {"wkv_simd_4", "wkv_simd_8"}) {
    SCOPED_TRACE(name);
    calls_of_exp(
        name,
        {.B = 2, .T = 37, .H = 3, .K = 16, .V = 37, .initial_state = true, .final_state = true},
        /*threads=*/2);
  }
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_simd", {.refuses = {"packed sequences"}});

}  // namespace
