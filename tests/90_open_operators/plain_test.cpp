#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include "common/core/operator.hpp"
#include "common/diagnosis/diagnosis.hpp"
#include "tests/90_open_operators/matmul.hpp"

namespace ladder {
namespace {

const bool registered = testing::register_suite("matmul", "matmul_plain");

// What the judge and the diagnosis say of what a launcher makes of a problem of 3 x 4 and 4 x 5; "" of a right result.
std::string said_of(void (*launch)(const MatmulArgs<float>&)) {
  const Implementation implementation{.name = "wrong", .launchers = launchers<Matmul>(launch)};
  const auto problem =
      find_operator("matmul").make_case({{"M", 3}, {"N", 5}, {"K", 4}}, {}, "fp32")->make();
  const auto placed = problem->place(device(DeviceKind::kCpu), implementation);
  placed->call();
  const Verdict verdict = placed->judge(Arithmetic::kFp32, false);
  return verdict.right ? "" : by_name(verdict, *placed, Arithmetic::kFp32);
}

void product(const MatmulArgs<float>& a, std::int64_t terms) {
  for (std::int64_t i = 0; i < a.M * a.N; ++i) {
    a.c[i] = 0;
    for (std::int64_t k = 0; k < terms; ++k)
      a.c[i] += a.a[i / a.N * a.K + k] * a.b[k * a.N + i % a.N];
  }
}

TEST(OpenOperator, IsJudged) {
  EXPECT_EQ(said_of([](const auto& a) { product(a, a.K); }), "");
  const std::string nothing = said_of([](const auto&) {});
  EXPECT_NE(nothing.find("never written"), std::string::npos) << nothing;
  const std::string one = said_of([](const auto& a) {
    product(a, a.K);
    a.c[2 * a.N + 4] *= 1.01f;
  });
  EXPECT_NE(one.find("c(m=2, n=4)"), std::string::npos) << one;
  const std::string late = said_of([](const auto& a) { product(a, a.K - 1); });
  EXPECT_NE(late.find("without the last k"), std::string::npos) << late;
}

TEST(OpenOperator, NoticesWritesElsewhere) {
  EXPECT_THROW(said_of([](const auto& a) { a.c[a.M * a.N] = 0; }), WroteElsewhere);
  EXPECT_THROW(said_of([](const auto& a) { const_cast<float*>(a.a)[0] += 1; }), WroteElsewhere);
}

TEST(OpenOperator, RefusesWhatItDoesNotHave) {
  const AnyOperator& matmul = find_operator("matmul");
  EXPECT_THROW(matmul.make_case({{"T", 3}}, {}, "fp32"), std::invalid_argument);
  EXPECT_THROW(matmul.make_case({}, {{"causal", ""}}, "fp32"), std::invalid_argument);
  EXPECT_THROW(matmul.make_case({}, {}, "fp16"), std::invalid_argument);
  EXPECT_THROW(find_operator("matmul_int4").make_case({{"K", 33}}, {}, "int4"),
               std::invalid_argument);
  EXPECT_FALSE(matmul.computes({.name = "nothing"}, "fp32"));
}

// A launcher that checks nothing accepts every bad input: the list has three sizes, three null pointers and three misaligned ones.
TEST(OpenOperator, ListsItsBadInput) {
  const Implementation careless{.name = "careless",
                                .launchers = launchers<Matmul>([](const MatmulArgs<float>&) {})};
  const auto problem = find_operator("matmul").make_case({}, {}, "fp32")->make();
  const auto placed = problem->place(device(DeviceKind::kCpu), careless);
  std::string names;
  placed->for_each_bad_input(
      {}, [&](const std::string& argument, const auto&) { names += argument + " "; });
  EXPECT_EQ(names, "M N K a a b b c c ");
}

// 64 x 64 matrices of 4 bytes, and half a byte, a scale and a zero point for each 32 rows.
TEST(OpenOperator, CountsWhatIsStored) {
  EXPECT_EQ(find_operator("matmul").make_case({}, {}, "fp32")->cost().bytes, 3 * 64 * 64 * 4);
  EXPECT_EQ(find_operator("matmul").make_case({}, {}, "bf16")->cost().bytes, 3 * 64 * 64 * 2);
  EXPECT_EQ(find_operator("matmul_int4").make_case({}, {}, "int4")->cost().bytes,
            16 * 64 * 4 * 2 + 64 * 64 / 2 + 2 * 64 * (4 + 1));
}

}  // namespace
}  // namespace ladder
