#include "numerics.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "common/operators/wkv/truth.hpp"

namespace {

using namespace chunkwise::numerics;

constexpr double kMeans[] = {-1e-3, -0.1, -0.17, -0.61, -1.3, -5, -16};

// The strongest of these decays at which a form still gives a finite result.
constexpr double kNever = -1e9;
const std::map<Form, double> kFiniteTo = {{Form::kNaive, -0.61},
                                          {Form::kNaiveFp16, -0.1},
                                          {Form::kSubChunks, kNever},
                                          {Form::kCentre, -1.3},
                                          {Form::kCentreClamped, kNever}};

TEST(Numerics, EachFormIsRightUntilItOverflowsAndTheClampIsWrongInstead) {
  for (const auto& [form, finite_to] : kFiniteTo) {
    for (const double mean : kMeans) {
      SCOPED_TRACE(std::string(name_of(form)) + " at " + std::to_string(mean));
      const ladder::RelativeError error = error_of(form, mean);
      EXPECT_EQ(error.finite, mean >= finite_to);
      if (!error.finite) continue;
      if (form == Form::kCentreClamped && mean < kFiniteTo.at(Form::kCentre)) {
        EXPECT_GT(error.whole, 0.05);
      } else {
        EXPECT_LT(error.whole, form == Form::kNaiveFp16 ? 1e-3 : 1e-5);
      }
    }
  }
}

// One token forgets everything, the others little. -inf - -inf is not the only problem, because
// after a large sum no digits are left for the small log-decays that follow.
TEST(Numerics, AFloorUnderLogDecaysKeepsTheDigitsBehindATotalDecay) {
  constexpr std::size_t kK = 64, kToken = kChunk + 5;
  Problem problem = make_problem(-0.1);
  const auto error_with = [&](float log_w, float floor) {
    for (std::size_t j = 0; j < kK; ++j)
      problem.log_w[kToken * kK + j] = log_w;
    return ladder::relative_error(chunkwise::numerics::chunkwise(problem, Form::kSubChunks, floor),
                                  recurrence(problem), problem.V);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(error_with(-kInfinity, -kInfinity).finite);
  EXPECT_GT(error_with(-1e4f, -kInfinity).whole, 1e-4);
  for (const float log_w : {-1e4f, -kInfinity}) {
    const ladder::RelativeError error = error_with(log_w, kFloor);
    EXPECT_TRUE(error.finite);
    EXPECT_LT(error.whole, 1e-5);
  }
}

// A token's own decay must not be on the way to any token that reads it.
TEST(Numerics, AStrongDecayAnywhereInASubChunkLeavesItFinite) {
  constexpr std::size_t kK = 64;
  for (std::size_t token = kChunk; token < kChunk + 2 * kSubChunk; ++token) {
    Problem problem = make_problem(-0.1);
    for (std::size_t j = 0; j < kK; ++j)
      problem.log_w[token * kK + j] = -100.0f;
    const ladder::RelativeError error = ladder::relative_error(
        chunkwise::numerics::chunkwise(problem, Form::kSubChunks), recurrence(problem), problem.V);
    EXPECT_TRUE(error.finite) << "token " << token << " of " << kChunk;
    EXPECT_LT(error.whole, 1e-4) << "token " << token << " of " << kChunk;
  }
}

TEST(Numerics, TheRecurrenceIsTheReference) {
  const Problem problem = make_problem(-0.61);
  const std::vector<double> truth = ladder::wkv_recurrence(problem.args()).o;
  const std::vector<double> ours = recurrence(problem);
  ASSERT_EQ(ours.size(), truth.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    ASSERT_NEAR(ours[i], truth[i], 1e-12);
}

}  // namespace
