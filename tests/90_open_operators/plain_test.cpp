#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "common/core/text.hpp"
#include "common/diagnosis/diagnosis.hpp"
#include "common/judge/typed.hpp"
#include "tests/90_open_operators/matmul.hpp"

namespace ladder {
namespace {

const bool registered = testing::register_suite("matmul", "matmul_plain");

// Verdict and diagnosis of a launcher's result for 3 x 4 times 4 x 5, or empty if it is right.
template <typename Element>
std::string said_of(void (*launch)(const MatmulArgs<Element>&)) {
  const Implementation implementation{.name = "wrong", .launchers = launchers<Matmul>(launch)};
  const auto problem =
      find_operator("matmul")
          .make_case({{"M", 3}, {"N", 5}, {"K", 4}}, {}, MatmulArgs<Element>::kStorage)
          ->make();
  const auto placed = problem->place(device(DeviceKind::kCpu), implementation);
  placed->call();
  const Verdict verdict = placed->judge(Arithmetic::kFp32, false);
  return verdict.right ? "" : explained(verdict, *placed, &implementation, Arithmetic::kFp32);
}

std::string said_of(void (*launch)(const MatmulArgs<float>&)) {
  return said_of<float>(launch);
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

// A stored bf16 result equals the wrong answer up to bf16's rounding.
TEST(OpenOperator, IsExplainedInItsStorage) {
  const std::string late = said_of<bfloat16>([](const MatmulArgs<bfloat16>& a) {
    for (std::int64_t i = 0; i < a.M * a.N; ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k + 1 < a.K; ++k)
        sum += to_float(a.a[i / a.N * a.K + k]) * to_float(a.b[k * a.N + i % a.N]);
      a.c[i] = to_bfloat16(sum);
    }
  });
  EXPECT_NE(late.find("without the last k"), std::string::npos) << late;
}

TEST(OpenOperator, NoticesWritesElsewhere) {
  EXPECT_THROW(said_of([](const auto& a) { a.c[a.M * a.N] = 0; }), WroteElsewhere);
  EXPECT_THROW(said_of([](const auto& a) { const_cast<float*>(a.a)[0] += 1; }), WroteElsewhere);
}

TEST(OpenOperator, RefusesWhatItDoesNotHave) {
  const Operator& matmul = find_operator("matmul");
  EXPECT_THROW(matmul.make_case({{"T", 3}}, {}, "fp32"), std::invalid_argument);
  EXPECT_THROW(matmul.make_case({}, {{"causal", ""}}, "fp32"), std::invalid_argument);
  EXPECT_THROW(matmul.make_case({}, {}, "fp16"), std::invalid_argument);
  EXPECT_THROW(find_operator("matmul_int4").make_case({{"K", 33}}, {}, "int4"),
               std::invalid_argument);
  EXPECT_FALSE(matmul.computes({.name = "nothing"}, "fp32"));
}

// A launcher without checks accepts bad input: 3 sizes, 3 null and 3 misaligned pointers.
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

TEST(OpenOperator, IsRefusedBeforeMainWhereAFunctionIsMissingOrItIsThereTwice) {
  const Operator half{.name = "half"};
  EXPECT_EXIT(add_operator(half, 100), ::testing::ExitedWithCode(EXIT_FAILURE),
              "operator 'half' is not whole: case_with, host");
  EXPECT_EXIT(add_operator(find_operator("matmul"), 100), ::testing::ExitedWithCode(EXIT_FAILURE),
              "operator 'matmul' is registered twice");
}

// An operator with a flag, words, a number, and an array that the flag leaves out.
enum class Order { kRows, kColumns };
constexpr const char* kOrderWords[] = {"rows", "columns"};
struct EachSizes {
  std::int64_t N = 4;
  bool with_bias = false;
  float eps = 1;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("with_bias", s.with_bias), visit("eps", s.eps);
  }
};
struct EachCase : SizedCase<EachSizes> {
  Order order = Order::kRows;

  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    SizedCase::options(s, visit);
    visit("order", s.order, kOrderWords);
  }
};
struct EachArgs : EachSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}}), visit("y", s.y, {{"n", s.N}});
    visit("bias", s.bias, {{"n", s.N}}, Presence::kOptional);
  }
};
struct Each {};
Operator each(const char* name) {
  return with_case<Each, EachSizes, EachCase, EachArgs, EachArgs>({
      .name = name,
      .case_with = [](const Struct& sizes) { return Struct(EachCase{{sizes.as<EachSizes>()}}); },
      .host = [](const Struct& c) { return Struct(EachArgs{{c.as<EachCase>()}}); },
      .fma_count = [](const Struct&) { return 0.0; },
      .truth = [](const Problem&, Arithmetic) { return std::vector<Truth>(); },
      .wants =
          [](const Struct& c, const std::string& array) {
            return array != "bias" || c.as<EachCase>().with_bias;
          },
  });
}
Operator never_null() {
  Operator op = each("never_null");
  op.wants = [](const Struct&, const std::string&) { return true; };
  return op;
}

std::string refusal_of(const Operator& op, const Support& support) {
  try {
    op.plan(support);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(OpenOperator, TriesEveryOption) {
  const Support support{.sizes = {{"N", {4}}}, .options = {{"eps", {"1", "2"}}}};
  const Operator op = each("each");
  const Plan plan = *op.plan(support);
  std::set<std::string> pairs, biases;
  for (const PlannedCase& c : plan.cases) {
    for (const std::string& one : c.levels) {
      for (const std::string& other : c.levels)
        pairs.insert(one + " " + other);
    }
    biases.insert(joined(c.c->array_names()));
  }
  for (const char* eps : {"eps=1", "eps=2"}) {
    for (const char* other : {"with_bias=false", "with_bias=true", "order=rows", "order=columns"})
      EXPECT_EQ(pairs.count(std::string(eps) + " " + other), 1u) << eps << " " << other;
  }
  EXPECT_EQ(biases, (std::set<std::string>{"x, y", "x, y, bias"}));
}

TEST(OpenOperator, RefusesASuiteThatWouldTryLess) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> eps = {{"eps", {"1", "2"}}};
  EXPECT_EQ(refusal_of(each("each"), {.options = eps}), "");
  EXPECT_EQ(refusal_of(each("each"), {}),
            "option eps of each is a number, and the suite says not which are tried; needed: "
            ".options = {{\"eps\", {VALUE, VALUE}}}");
  EXPECT_EQ(refusal_of(never_null(), {.options = eps}),
            "bias of never_null is optional, and with every option it is there; needed: an option, "
            "and a wants(case, name) that leaves it out");
  EXPECT_EQ(refusal_of(each("each"), {.sizes = {{"n", {4}}}}),
            "a suite of each has .sizes 'n'; allowed: N");
  EXPECT_EQ(refusal_of(each("each"), {.options = {{"epsilon", {"1"}}}}),
            "a suite of each has .options 'epsilon'; allowed: with_bias, eps, magnitude, seed, "
            "order");
  EXPECT_EQ(refusal_of(each("each"), {.refuses = {"bias"}}),
            "a suite of each has .refuses 'bias'; allowed: none, for its tests look at none");
  EXPECT_EQ(refusal_of(each("each"), {.most = {{"n", 4}}}),
            "a suite of each has .most 'n'; allowed: N");
  EXPECT_EQ(refusal_of(each("each"), {.options = eps, .multiple = 2}),
            "a suite of each has a field 'multiple'; allowed: nan_tile");
}

// Elements of 4 bytes or 2, or half a byte with a scale and a zero point for each 32 rows.
TEST(OpenOperator, CountsWhatIsStored) {
  EXPECT_EQ(find_operator("matmul").make_case({}, {}, "fp32")->cost().bytes, 3 * 64 * 64 * 4);
  EXPECT_EQ(find_operator("matmul").make_case({}, {}, "bf16")->cost().bytes, 3 * 64 * 64 * 2);
  EXPECT_EQ(find_operator("matmul_int4").make_case({}, {}, "int4")->cost().bytes,
            16 * 64 * 4 * 2 + 64 * 64 / 2 + 2 * 64 * (4 + 1));
}

}  // namespace
}  // namespace ladder
