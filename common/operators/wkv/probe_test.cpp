// Tests of the probe, which diagnoses kernels by running them with one element changed at a time.
#include "common/diagnosis/probe.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

// A step of a head, and the mistakes that the loop may contain.
struct At {
  std::int64_t b, t, h;
};
struct Plan {
  std::function<At(At)> of_k = [](At at) { return at; };
  std::function<double(std::int64_t j)> count_row = [](std::int64_t) { return 1; };
  std::function<bool(At)> forgets = [](At at) { return at.t == 0; };  // resets the state first
  std::function<bool(At)> is_nan = [](At) { return false; };
  std::function<std::int64_t(std::int64_t i)> column_of_v = [](std::int64_t i) {
    return i;
  };  // -1: v is 0
  std::function<std::int64_t(std::int64_t j)> kept_row = [](std::int64_t j) { return j; };  // of k
  std::function<double(At)> takes_later = [](At) { return 0; };  // factor of k of step 17, row 8
  bool reads_u = true;
  bool turns_rows_of_k = false;
  double seconds = 0;  // least CPU time
};

template <typename Element>
void loop(const BasicWkvArgs<Element>& a, const Plan& plan) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(plan.seconds * CLOCKS_PER_SEC);
  while (std::clock() < end) {
  }
  std::vector<float> state(a.K * a.V);
  for (std::int64_t n = 0; n < a.B * a.H * a.T; ++n) {
    const At at{n / a.T / a.H, n % a.T, n / a.T % a.H};
    if (plan.forgets(at)) std::fill(state.begin(), state.end(), 0.0f);
    const auto row = [&](At of) { return (of.b * a.T + of.t) * a.H + of.h; };
    for (std::int64_t i = 0; i < a.V; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < a.K; ++j) {
        float& s = state[j * a.V + i];
        const Element* const k = a.k + row(plan.of_k(at)) * a.K;
        const std::int64_t column = plan.column_of_v(i);
        const double v = column < 0 ? 0 : to_float(a.v[row(at) * a.V + column]);
        const double kv = to_float(k[plan.turns_rows_of_k ? a.K - 1 - j : j]) * v;
        const double kept = plan.kept_row(j) == j ? kv : to_float(k[plan.kept_row(j)]) * v;
        sum += plan.count_row(j) * to_float(a.q[row(at) * a.K + j]) *
               (s + (plan.reads_u ? to_float(a.u[at.h * a.K + j]) * kv : 0));
        s = static_cast<float>(std::exp(to_float(a.log_w[row(at) * a.K + j])) * s + kept);
      }
      sum += plan.takes_later(at) * to_float(a.k[row({at.b, 17, at.h}) * a.K + 8]);
      Element& o = a.o[row(at) * a.V + i];
      const float value = plan.is_nan(at) ? NAN : static_cast<float>(a.scale * sum);
      if constexpr (std::is_same_v<Element, float>)
        o = value;
      else
        o = to_bfloat16(value);
    }
  }
}

// The report of the probe for two batches, 34 steps and two heads.
std::string said_of(const Plan& plan, Precision precision = Precision::kFp32) {
  WkvCase c = plain_wkv_case({});
  c.T = 34;
  c.H = 2;
  c.K = c.V = 16;
  c.precision = precision;
  const Implementation wrong{
      .name = "wrong",
      .launchers = launchers<Wkv>([plan](const WkvArgs& a) { loop(a, plan); },
                                  [plan](const BasicWkvArgs<bfloat16>& a) { loop(a, plan); })};
  const auto problem = as_case<Wkv>(c)->make();
  return probed(*problem, wrong, Arithmetic::kFp32, 0);
}

TEST(Probe, SaysNothingOfARightKernel) {
  EXPECT_EQ(said_of({}), "");
}

TEST(Probe, SaysNothingOfRightResultsInAnyStorage) {
  for (const auto& [precision, reverse] :
       {std::pair{Precision::kFp32, false}, {Precision::kBf16, true}}) {
    WkvCase c = plain_wkv_case({});
    c.K = c.V = 16;
    c.precision = precision;
    c.reverse = reverse;
    c.initial_state = c.final_state = true;
    expect_nothing_probed(make_problem(c));
    expect_nothing_probed(make_grad_problem(c));
    c.recurrence = Recurrence::kGla;
    expect_nothing_probed(make_problem(packed(c, {5, 0, 13})));
  }
}

TEST(Probe, NamesWhatIsNotRead) {
  EXPECT_EQ(said_of({.reads_u = false}),
            "o does not change with u: it is not read, or what is made of it is lost\n");
}

TEST(Probe, CountsKeyRows) {
  const std::string rest = "; from all others it takes what it should\n";
  EXPECT_EQ(said_of({.count_row = [](auto j) { return j == 7 ? 0 : 1; }}),
            "o takes nothing from q, k, u, log_w of key row 7" + rest);
  EXPECT_EQ(said_of({.count_row = [](auto j) { return j % 4 == 1 ? 3 : 1; }}),
            "o takes 3 times what it should from q, k, u, log_w of key rows 1, 5, 9 and 13" + rest);
}

// The effect of a key on steps of NaN is unknown, so the report does not mention it.
TEST(Probe, SaysNothingOfWhatReachesANan) {
  EXPECT_EQ(said_of({.count_row = [](auto j) { return j == 7 ? 0 : 1; },
                     .is_nan = [](At at) { return at.t > 20; }}),
            "o takes nothing from q of key row 7\n");
}

TEST(Probe, NamesTheStepsWhoseShareIsWrong) {
  EXPECT_EQ(said_of({.forgets = [](At at) { return at.t % 16 == 0; }}),
            "A step takes nothing from k of the steps before its own block of 16; all else of k is "
            "right\n");
}

// A tenth of the diagnosis' time is enough for one element per step of v, but not along each axis.
TEST(Probe, AsksASlowKernelForItsStepsOnly) {
  setenv("LADDER_DIAGNOSIS_SECONDS", "4", 1);
  EXPECT_EQ(said_of({.forgets = [](At at) { return at.t % 16 == 0; }, .seconds = 0.007}),
            "A step takes nothing from v of the steps before its own block of 16; all else of v is "
            "right\n");
  // Less time is enough for a few steps of the first input. Without time for two it runs none.
  EXPECT_EQ(said_of({.reads_u = false, .seconds = 0.02}),
            "A change of q(b=1, t=0, h=1, j=8) alone changes nothing in o; it should\n");
  EXPECT_EQ(said_of({.reads_u = false, .seconds = 0.3}), "");
  unsetenv("LADDER_DIAGNOSIS_SECONDS");
}

TEST(Probe, NamesWhatAnElementReaches) {
  EXPECT_EQ(said_of({.of_k =
                         [](At at) {
                           return At{at.b, at.t, 0};
                         }}),
            "A change of k(b=1, t=17, h=0, j=8) alone changes o of heads 0 and 1; it should change "
            "o of head 0\n");
  EXPECT_EQ(said_of({.of_k =
                         [](At at) {
                           return At{at.b, std::max<std::int64_t>(at.t - 1, 0), at.h};
                         }}),
            "A change of k(b=1, t=17, h=1, j=8) alone changes o of steps 18 to 33; it should "
            "change o of steps 17 to 33\n");
  EXPECT_EQ(said_of({.forgets = [](At at) { return at.t == 0 && at.h == 0; }}),
            "A change of k(b=1, t=17, h=0, j=8) alone changes o of steps 0 to 33, heads 0 and 1; "
            "it should change o of steps 17 to 33, head 0\n");
}

TEST(Probe, LeavesOpenWhatIsTooFaint) {
  Plan plan;
  plan.takes_later = [](At at) { return at.t < 3 ? 1 : at.t == 3 ? 1e-6 : 0; };
  EXPECT_EQ(said_of(plan),
            "A change of k(b=1, t=17, h=1, j=8) alone changes o of steps 0 to 2 and 17 to 33; it "
            "should change o of steps 17 to 33; too faint to tell: step 3\n");
}

// v is read at wrong columns. Changes of k then miss some, but changes of v reach wrong ones.
TEST(Probe, NamesTheArrayThatComesWhereItShouldNot) {
  EXPECT_EQ(said_of({.column_of_v = [](auto i) { return i < 4   ? i + 8
                                                        : i < 8 ? i
                                                                : -1; }}),
            "A change of v(b=1, t=17, h=1, i=8) alone changes o of column 0; it should change o of "
            "column 8\n");
}

// The probed row takes nothing from k of earlier steps, but other rows do.
TEST(Probe, SaysOfAllRowsOnlyWhatIsTrueOfAll) {
  const std::string said = said_of({.kept_row = [](auto j) { return j % 4; }});
  EXPECT_EQ(said.find("is right"), std::string::npos) << said;
  EXPECT_NE(said.find("k(b=1, t=17, h=1, j=8)"), std::string::npos) << said;
}

// Column 8 reaches its own steps as expected for a state that is reset, but also other columns.
TEST(Probe, SaysNothingOfAllColumnsWhereOneGoesAstray) {
  const std::string said = said_of({.forgets = [](At at) { return at.t % 16 == 0; },
                                    .column_of_v = [](auto i) { return i < 4 ? 8 : i; }});
  EXPECT_EQ(said.find("is right"), std::string::npos) << said;
}

// A change is invisible in NaN, which does not mean that the input is not read.
TEST(Probe, SaysNothingOfWhatIsNoNumber) {
  EXPECT_EQ(said_of({.count_row = [](auto) { return std::nan(""); }}), "");
  // The other head is still diagnosed.
  EXPECT_EQ(said_of({.forgets = [](At at) { return at.t % 16 == 0; },
                     .is_nan = [](At at) { return at.h == 0; }}),
            "A step takes nothing from k of the steps before its own block of 16; all else of k is "
            "right\n");
}

TEST(Probe, GivesTheFirstValueThatDiffers) {
  EXPECT_EQ(said_of({.turns_rows_of_k = true}),
            "When q(b=1, t=17, h=1, j=8) is 1 in place of 0, and all else of q is 0, o(b=1, t=17, "
            "h=1, i=0) changes by 0.663; it should change by 0.118\n");
}

// A few tiny changes that storage rounds away do not make a column missing.
TEST(Probe, TakesNoRoundingForAGap) {
  const std::string said =
      said_of({.kept_row = [](auto j) { return (j + 10) % 16; }}, Precision::kBf16);
  EXPECT_NE(said, "");
  EXPECT_EQ(said.find("of columns"), std::string::npos) << said;
}

}  // namespace
}  // namespace ladder::testing
