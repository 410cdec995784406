// The judge is judged: it refuses no right result, however short its rows are, and diagnoses none; and it refuses faults.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "common/operators/attention/reference.hpp"
#include "common/operators/compare.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/named_cases.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/planted.hpp"
#include "common/operators/suite.hpp"
#include "common/operators/wkv/reference.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::testing {
namespace {

// (phi(q) phi(k)^T . M) v, in fp32: the score of each key, then the sum over keys.
std::vector<float> quadratic(const LinearAttentionProblem& problem, Precision operands) {
  const LinearAttentionCase& c = problem.attention_case;
  const auto phi = [&](float x) {
    return c.feature_map == FeatureMap::kIdentity ? x : x > 0 ? x + 1 : std::exp(x);
  };
  std::vector<float> o(c.B * c.T_q * c.H * c.V);
  for (std::int64_t row = 0; row < c.B * c.T_q * c.H; ++row) {
    const std::int64_t b = row / c.H / c.T_q, l = row / c.H % c.T_q, h = row % c.H;
    float normaliser = 0;
    for (std::int64_t s = 0; s < (c.causal ? std::min(l + 1, c.T_k) : c.T_k); ++s) {
      const std::int64_t key = (b * c.T_k + s) * c.H + h;
      float score = 0;
      for (std::int64_t j = 0; j < c.K; ++j) {
        score += rounded(phi(problem.q.data[row * c.K + j]), operands) *
                 rounded(phi(problem.k.data[key * c.K + j]), operands);
      }
      normaliser += score;
      for (std::int64_t i = 0; i < c.V; ++i)
        o[row * c.V + i] += rounded(score, operands) * problem.v.data[key * c.V + i];
    }
    for (std::int64_t i = 0; i < c.V; ++i) {
      if (c.normalize) o[row * c.V + i] /= normaliser + c.eps;
      o[row * c.V + i] = rounded(o[row * c.V + i], c.precision);
    }
  }
  return o;
}

// A sum of V = 1 .. 4 elements often cancels, and so does one over few keys.
TEST(Judge, RefusesNoRightResultOfShortRows) {
  for (const std::int64_t V : {1, 2, 3, 4, 64}) {
    for (const auto& [T_q, T_k] :
         {std::pair<std::int64_t, std::int64_t>{33, 33}, {70, 1}, {1, 5}}) {
      for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        LinearAttentionCase c{.B = 1, .T_q = T_q, .T_k = T_k, .H = 2, .K = 4, .V = V};
        c.K = seed % 2 == 0 ? 4 : 65;
        c.normalize = seed % 3 == 0;
        c.feature_map = seed % 3 < 2 ? FeatureMap::kEluPlusOne : FeatureMap::kIdentity;
        c.seed = seed;
        const LinearAttentionProblem problem = make_problem(c);
        EXPECT_TRUE(is_right(problem, quadratic(problem, Precision::kFp32))) << name_of(c);
        c.precision = Precision::kBf16;
        const LinearAttentionProblem of_bf16 = make_problem(c);
        EXPECT_TRUE(
            is_right(of_bf16, quadratic(of_bf16, Precision::kBf16), Arithmetic::kBf16Operands))
            << name_of(c);
      }
    }
  }
}

// With one key, or where a tenth of one of 65 key rows is all that is missing, a misconception gives almost the truth.
TEST(Judge, DiagnosesNothingThatIsAlmostRight) {
  LinearAttentionCase c{.B = 1, .T_q = 48, .T_k = 48, .H = 8, .K = 65, .V = 3};
  c.precision = Precision::kBf16;
  const LinearAttentionProblem problem = make_problem(c);
  const std::vector<double> truth = reference::linear_attention_recurrence(problem);
  std::vector<float> almost = stored(problem, truth);
  const std::size_t largest = std::max_element(almost.begin(), almost.end()) - almost.begin();
  almost[largest] *= 1.06f;  // beyond what one element may be off by, and little of the whole
  const std::string message = is_right(problem, almost, Arithmetic::kBf16Operands).message();
  EXPECT_NE(message.find("WRONG RESULT"), std::string::npos) << message;
  EXPECT_EQ(message.find("equals"), std::string::npos) << message;
}

// A gradient of one query and many keys may be so small that fp16 holds it in steps of 2^-24, whatever its size.
TEST(Judge, KnowsTheSmallestNumbersOfFp16) {
  const std::vector<double> truth(64, 19.5 * 0x1p-24), terms = truth;
  const auto share_of = [&](double result) {
    return reference::judge_errors(std::vector<float>(64, static_cast<float>(result)), truth, terms,
                                   64, reference::stored_as<float16>())
        .whole_share;
  };
  EXPECT_LE(share_of(19 * 0x1p-24), 1);
  EXPECT_LE(share_of(20 * 0x1p-24), 1);
  EXPECT_GT(share_of(21 * 0x1p-24), 1);
}

TEST(NamedCases, AreTheCasesOfTheSuites) {
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const WkvCase& c : wkv_cases({.bf16 = true}, recurrence))
      EXPECT_EQ(make_problem(wkv_case({name_of(c), c.seed})).q.data, make_problem(c).q.data);
  }
  for (const LinearAttentionCase& c : linear_attention_cases({.bf16 = true}))
    EXPECT_EQ(name_of(linear_attention_case({name_of(c), c.seed})), name_of(c));
  for (const AttentionCase& c : attention_cases({.bf16 = true, .fp16 = true}))
    EXPECT_EQ(name_of(attention_case({name_of(c), c.seed})), name_of(c));
  EXPECT_THROW(wkv_case({"B2_T17_H3_K16_V16_somehow"}), std::invalid_argument);
}

constexpr int kSeeds = 200;

struct Counts {
  int judged = 0, refused = 0;
};

// 200 random small shapes for each operator: what plain loops give is refused less than once in a thousand arrays, and a planted fault
// more than 99 times in a hundred. (tools/upkeep/judge_table does the same with every kernel.)
class SelfTest {
 public:
  template <typename Problem, typename PlainLoop>
  void add(const Problem& problem, Precision precision, const PlainLoop& loop) {
    add_one(problem, Arithmetic::kFp32, precision, loop);
    if (precision != Precision::kFp32) add_one(problem, Arithmetic::kBf16Operands, precision, loop);
  }

  void expect_sharp() const {
    std::cout << misconceptions_.judged << " misconceptions, " << named_ << " named\n";
    EXPECT_GT(misconceptions_.judged, kSeeds / 4);
    EXPECT_EQ(misconceptions_.refused, misconceptions_.judged);
    EXPECT_GT(100 * named_, 99 * misconceptions_.judged);
    EXPECT_LT(1000 * right_.refused, right_.judged) << right_.refused << " of " << right_.judged;
    for (const auto& [fault, counts] : planted_) {
      EXPECT_GT(100 * counts.refused, 99 * counts.judged)
          << fault << ": " << counts.refused << " of " << counts.judged;
    }
  }

 private:
  template <typename Problem, typename PlainLoop>
  void add_one(const Problem& problem, Arithmetic arithmetic, Precision precision,
               const PlainLoop& loop) {
    auto expected = reference::expected(problem, arithmetic);
    plant(problem, arithmetic, expected,
          precision == Precision::kFp32 ? 0 : reference::kBf16Rounding);
    auto outputs = loop(problem, arithmetic);
    if constexpr (requires { outputs.lse; }) {
      for (std::size_t i = 0; i < outputs.lse.size(); ++i) {
        if (std::isinf(outputs.lse[i])) outputs.lse[i] = 0;
        if (std::isinf(expected.truth.lse[i])) expected.truth.lse[i] = 0;
      }
    }
    for (const reference::Part& part : reference::parts(problem, expected, outputs, arithmetic)) {
      const bool fp32 =
          precision == Precision::kFp32 || part.roundings.stored + part.roundings.operands == 0;
      if (part.truth->empty()) continue;
      count(right_, part);
      for (const auto& [fault, values] : planted_in(part, fp32)) {
        reference::Part wrong = part;
        wrong.result = &values;
        count(planted_[fault], wrong);
      }
    }
    if constexpr (!requires { outputs.lse; }) {
      const auto right = stored(problem, expected.truth);
      const auto right_parts = reference::parts(problem, expected, right, arithmetic);
      for (const auto& each : reference::misconceptions(problem, expected.truth, arithmetic)) {
        if (each.slight.empty()) continue;
        const auto wrong = stored(problem, each.answer());
        const auto wrong_parts = reference::parts(problem, expected, wrong, arithmetic);
        for (std::size_t n = 0; n < wrong_parts.size(); ++n) {
          const reference::Part& part = wrong_parts[n];
          // Storage in 16 bits hides it; and where nothing is left of the terms, there is nothing to be wrong.
          const bool shows = *part.result != *right_parts[n].result && part.roundings.stored == 0 &&
                             norm(*part.truth) >= 1e-6 * norm(*part.terms);
          if (shows) count(planted_[each.slight], part);
        }
      }
    }
  }

  // One of the misconceptions, another one in every case. It is refused where it shows, and called by its name or by that of another one
  // that gives the same.
  template <typename Problem, typename Expected>
  void plant(const Problem& problem, Arithmetic arithmetic, const Expected& expected,
             double rounding) {
    const auto list = reference::misconceptions(problem, expected.truth, arithmetic);
    const auto wrong = stored(problem, list[next_++ % list.size()].answer());
    bool shows = false;
    for (const reference::Part& part : reference::parts(problem, expected, wrong, arithmetic)) {
      const std::vector<float>& result = *part.result;
      if (result.empty()) continue;
      // Where nothing at all is written there is no name for it.
      if (std::none_of(result.begin(), result.end(), [](float x) { return std::isfinite(x); }))
        return;
      // What is little more than storing leaves is no fault, and where nothing is left of the terms there is nothing to be wrong.
      shows |= !reference::roughly_equal(result, *part.truth, part.layout.row(), 2 * rounding) &&
               norm(*part.truth) >= 1e-6 * norm(*part.terms);
    }
    if (!shows) return;
    const std::string message = is_right(problem, wrong, arithmetic).message();
    ++misconceptions_.judged;
    misconceptions_.refused += message.find("WRONG RESULT") != std::string::npos;
    named_ += message.find("equals") != std::string::npos ||
              message.find("every element is zero") != std::string::npos;
  }

  static double norm(const std::vector<double>& values) {
    double square = 0;
    for (const double x : values)
      square += x * x;
    return std::sqrt(square);
  }
  static void count(Counts& counts, const reference::Part& part) {
    ++counts.judged;
    counts.refused += !part.judged().within_limit();
  }

  std::size_t next_ = 0;
  Counts right_, misconceptions_;
  int named_ = 0;
  std::map<std::string, Counts> planted_;
};

template <typename Choices>
auto one_of(std::mt19937& engine, const Choices& choices) {
  return choices[engine() % std::size(choices)];
}

constexpr std::int64_t kLengths[] = {1, 2, 3, 5, 9, 17, 20, 33}, kSizes[] = {4, 8, 16, 20, 32},
                       kWidths[] = {1, 2, 3, 4, 16, 20, 32};

WkvCase random_case(std::mt19937& engine) {
  constexpr Decay kDecays[] = {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal,
                               Decay::kStrongToken};
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16,
                                       Precision::kBf16Fp32Decay};
  WkvCase c{.recurrence = engine() % 2 == 0 ? Recurrence::kWkv : Recurrence::kGla, .H = 2};
  c.T = one_of(engine, kLengths);
  c.K = one_of(engine, kSizes);
  c.V = one_of(engine, kWidths);
  c.decay = one_of(engine, kDecays);
  c.decay_per_head = engine() % 2 == 0 && c.decay != Decay::kStrongToken;
  c.initial_state = c.final_state = engine() % 2 == 0;
  c.precision = one_of(engine, kPrecisions);
  c.seed = static_cast<std::uint32_t>(engine());
  return c;
}

TEST(JudgeIsSharp, ForWkvAndGla) {
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(seed);
    const WkvCase c = random_case(engine);
    test.add(make_problem(c), c.precision, reference::wkv_plain);
  }
  test.expect_sharp();
}

TEST(JudgeIsSharp, ForTheirGradients) {
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(seed);
    const WkvCase c = random_case(engine);
    test.add(make_grad_problem(c), c.precision, reference::wkv_gradients_plain);
  }
  test.expect_sharp();
}

TEST(JudgeIsSharp, ForLinearAttention) {
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(seed);
    LinearAttentionCase c{.T_q = one_of(engine, kLengths), .T_k = one_of(engine, kLengths), .H = 2};
    c.K = one_of(engine, kSizes);
    c.V = one_of(engine, kWidths);
    c.causal = engine() % 2 == 0;
    c.feature_map = engine() % 2 == 0 ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne;
    c.normalize = c.feature_map == FeatureMap::kEluPlusOne && engine() % 2 == 0;
    c.precision = engine() % 2 == 0 ? Precision::kFp32 : Precision::kBf16;
    c.seed = static_cast<std::uint32_t>(engine());
    test.add(make_problem(c), c.precision, reference::linear_attention_plain);
  }
  test.expect_sharp();
}

AttentionCase random_attention_case(std::mt19937& engine) {
  constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};
  AttentionCase c{.T_q = one_of(engine, kLengths), .T_k = one_of(engine, kLengths), .H_q = 2};
  c.H_kv = 1 + static_cast<std::int64_t>(engine() % 2);
  c.D = one_of(engine, kSizes);
  c.causal = engine() % 2 == 0;
  c.precision = one_of(engine, kPrecisions);
  c.seed = static_cast<std::uint32_t>(engine());
  return c;
}

TEST(JudgeIsSharp, ForSoftmaxAttention) {
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(seed);
    const AttentionCase c = random_attention_case(engine);
    test.add(make_problem(c), c.precision, reference::attention_plain);
  }
  test.expect_sharp();
}

TEST(JudgeIsSharp, ForItsGradients) {
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(seed);
    const AttentionCase c = random_attention_case(engine);
    test.add(reference::make_attention_grad_problem(make_problem(c)), c.precision,
             reference::attention_gradients_plain);
  }
  test.expect_sharp();
}

}  // namespace
}  // namespace ladder::testing
