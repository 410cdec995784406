// The judge is judged, for any operator of common/judge/simple_operator.hpp that knows mistakes and has a plain loop: right results are
// not refused, mistakes are, and they are called by their names.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/diagnosis/probe.hpp"
#include "common/judge/sequences.hpp"
#include "common/judge/stored.hpp"
#include "common/testing/planted.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// By the norm of their difference, relative to that of b. An infinity is close to itself alone.
inline void expect_close(const std::vector<double>& a, const std::vector<double>& b,
                         double tolerance = 1e-12) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(a[i]) && a[i] == b[i]) continue;
    ASSERT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i])) << "element " << i;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(size));
}

template <typename Op>
Answer true_answer(const typename Op::Problem& problem) {
  Answer answer;
  for (const Truth& truth : Op::truth_of(problem, Arithmetic::kFp32))
    answer.push_back(truth.values);
  return answer;
}

// The truth, as it is stored.
template <typename Inputs>
auto right_answer(const Drawn<Inputs>& problem) {
  using Op = typename Inputs::Operator;
  return stored<Op>(problem, true_answer<Op>(problem));
}

// "right", or what is said of a wrong result.
template <typename Inputs, typename Outputs>
std::string verdict(const Drawn<Inputs>& problem, const Outputs& outputs,
                    Arithmetic arithmetic = Arithmetic::kFp32) {
  using Op = typename Inputs::Operator;
  const Verdict verdict = Op::judge(problem, outputs, arithmetic);
  if (verdict.right) return "right";
  return explained(verdict,
                   [&](const auto& use) { Op::examine(problem, outputs, arithmetic, use); });
}

// What `answer_to(truth)` gives is right, as it is stored. The truth, which takes longer than all else, is computed once.
template <typename Inputs, typename AnswerTo>
void expect_right_answer(const Drawn<Inputs>& problem, const AnswerTo& answer_to) {
  using Op = typename Inputs::Operator;
  const std::vector<Truth> truth = Op::truth_of(problem, Arithmetic::kFp32);
  const auto outputs = stored<Op>(problem, answer_to(truth));
  for (const Part& part : Op::parts(problem, outputs, truth, Arithmetic::kFp32)) {
    const Verdict verdict = judge_part(part);
    EXPECT_TRUE(verdict.right) << name_of(problem.drawn_case()) << ": " << verdict.message;
  }
}

// The truth is right.
template <typename Inputs>
void expect_right_truth(const Drawn<Inputs>& problem) {
  expect_right_answer(problem, [](const std::vector<Truth>& truth) {
    Answer answer;
    for (const Truth& each : truth)
      answer.push_back(each.values);
    return answer;
  });
}

inline void expect_words(const std::string& words, const std::string& said) {
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

// The result is refused, and these words are said of it.
template <typename Inputs, typename Outputs>
void expect_wrong(const std::string& words, const Drawn<Inputs>& problem, const Outputs& outputs,
                  Arithmetic arithmetic = Arithmetic::kFp32) {
  const std::string said = verdict(problem, outputs, arithmetic);
  expect_words("WRONG RESULT", said);
  expect_words(words, said);
}

// The sentences for a result, which may say that two mistakes were made together; "" if it is right.
template <typename Op>
std::string said_of(const typename Op::Problem& problem, const typename Op::Outputs& outputs) {
  return explained(Op::judge(problem, outputs, Arithmetic::kFp32),
                   [&](const auto& use) { Op::examine(problem, outputs, Arithmetic::kFp32, use); });
}

// Calls use(problem, kernel) with a kernel that computes `solve(problem)`, whatever inputs it gets. It may be run again.
template <typename Inputs, typename Solve, typename Use>
void with_kernel(const Drawn<Inputs>& problem, const Solve& solve, const Use& use) {
  using Op = typename Inputs::Operator;
  const auto compute = [&](const auto& args) {
    Drawn<Inputs> given = problem;
    for (const ListedArray& array : arrays_of(args)) {
      if (!array.is_input || array.pointer() == nullptr || array.type->to_floats == nullptr ||
          array.type->to_integers != nullptr)
        continue;
      std::vector<float>& values = given[array.name];
      array.type->to_floats(array.pointer(), values.size(), values.data());
    }
    auto outputs = solve(given);
    std::size_t n = 0;
    for (const ListedArray& output : outputs_of<Op>(Op::case_of(problem))) {
      std::vector<float> values = output_of(outputs, output.name, n++);
      const ListedArray array = listed(args, output.name);
      array.type->from_floats(values.data(), values.size(), array.pointer());
    }
  };
  with_storage<Op>(storage_of(Op::case_of(problem)), [&]<typename Args>() {
    const Implementation kernel{.name = "kernel",
                                .launchers = launchers<typename KeyOf<Op>::type>(
                                    std::function<void(const Args&)>(compute))};
    use(as_problem<Op>(problem), kernel);
  });
}

// What is said of such a kernel; "" if its result is right.
template <typename Inputs, typename Solve>
std::string said_of_kernel(const Drawn<Inputs>& problem, const Solve& solve) {
  std::string said;
  with_kernel(problem, solve, [&](const Problem& any, const Implementation& kernel) {
    const auto placed = any.place(device(DeviceKind::kCpu), kernel);
    placed->call();
    said = explained(placed->judge(Arithmetic::kFp32, false), *placed, &kernel, Arithmetic::kFp32);
  });
  return said;
}

// Running a right kernel says nothing of any of its outputs.
template <typename Inputs>
void expect_nothing_probed(const Drawn<Inputs>& problem) {
  using Op = typename Inputs::Operator;
  const auto plain = [](const Drawn<Inputs>& given) { return Op::plain(given, Arithmetic::kFp32); };
  with_kernel(problem, plain, [&](const Problem& any, const Implementation& kernel) {
    for (std::size_t n = 0; n < outputs_of<Op>(Op::case_of(problem)).size(); ++n)
      EXPECT_EQ(probed(any, kernel, Arithmetic::kFp32, n), "") << name_of(problem.drawn_case());
  });
}

// Neither a right result nor zeros are called by a name.
template <typename Op>
void expect_no_name(const typename Op::Problem& problem) {
  Answer answer = true_answer<Op>(problem);
  EXPECT_EQ(said_of<Op>(problem, right_answer(problem)), "");
  for (std::vector<double>& values : answer)
    std::fill(values.begin(), values.end(), 0.0);
  const std::string said = said_of<Op>(problem, stored<Op>(problem, answer));
  expect_words("every element is zero", said);
  EXPECT_EQ(said.find("equals"), std::string::npos) << said;
}

// A result in 16 bits that is a little too large everywhere, or too small, is refused, one output after the other. `problem` needs some
// hundred rows; where operands are rounded too, some thousand.
template <typename Op>
void expect_bias_refused(const typename Op::Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = Op::truth_of(problem, arithmetic);
  const auto right = stored<Op>(problem, true_answer<Op>(problem));
  int biased = 0;
  for (const Part& part : Op::parts(problem, right, truth, arithmetic)) {
    if (part.roundings.stored == 0) continue;
    for (const double factor : {1.001, 1.002, 1.004, 0.999}) {
      std::vector<double> off = *part.truth;
      for (double& x : off)
        x *= factor;
      const std::vector<float> result = stored(part, off);
      Part wrong = part;
      wrong.result = &result;
      EXPECT_FALSE(judge_part(wrong).right)
          << name_of(problem.drawn_case()) << ": " << part.layout.array << " times " << factor
          << " has the slope " << wrong.judged().slope << ", at " << wrong.judged().slope_share
          << " of its limit";
      ++biased;
    }
  }
  EXPECT_GT(biased, 0) << "nothing is stored in 16 bits";
}

// So are one head that is 0.3 % too large, or too small, and a row that is off by two units in the last place, in a result as a right
// kernel gives it. `problem` needs two heads, and for one of `arithmetic` with rounded operands 80 rows of a head. Where rows are made of each
// other a head's slope is coarser, and a row that is mostly one term may well be off by that.
template <typename Op>
void expect_one_head_refused(const typename Op::Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = Op::truth_of(problem, arithmetic);
  const auto right = Op::plain(problem, arithmetic);
  int heads = 0;
  for (const Part& part : Op::parts(problem, right, truth, arithmetic)) {
    EXPECT_TRUE(judge_part(part).right) << part.layout.array << ": " << judge_part(part).message;
    const auto& axes = part.layout.axes;
    const auto h = std::find(axes.begin(), axes.end(), "h") - axes.begin();
    if (part.roundings.stored == 0 || part.roundings.rows_share || h + 1 >= std::ssize(axes))
      continue;
    for (const double factor : {1.003, 0.997}) {
      std::vector<float> result = *part.result;
      for (std::size_t i = 0; i < result.size(); ++i) {
        if (part.layout.along(h, static_cast<std::int64_t>(i)) == 1)
          result[i] = part.stored(factor * result[i]);
      }
      Part wrong = part;
      wrong.result = &result;
      const Verdict verdict = judge_part(wrong);
      EXPECT_FALSE(verdict.right) << name_of(problem.drawn_case()) << ": head 1 of "
                                  << part.layout.array << " times " << factor << ", at "
                                  << wrong.judged().slope_share << " of its limit";
      if (arithmetic != Arithmetic::kFp32) expect_words("all of head 1 is about", verdict.message);
      ++heads;
    }
  }
  EXPECT_GT(heads, 0);
}

// How many of the rows of an output would be refused if they were off by two units in the last place, all upwards.
template <typename Op>
double shifted_rows_refused(const typename Op::Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = Op::truth_of(problem, arithmetic);
  const auto right = Op::plain(problem, arithmetic);
  const Part part = Op::parts(problem, right, truth, arithmetic).front();
  const std::int64_t row = part.layout.row(), rows = std::ssize(*part.result) / row;
  int refused = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<float> result = *part.result;
    for (std::int64_t i = r * row; i < (r + 1) * row; ++i) {
      const float unit =
          std::ldexp(static_cast<float>(part.roundings.stored), std::ilogb(result[i]) + 1);
      result[i] = part.stored(result[i] + 2 * unit);
    }
    Part wrong = part;
    wrong.result = &result;
    refused += !judge_part(wrong).right;
  }
  return static_cast<double>(refused) / static_cast<double>(rows);
}

// No two variants give the same on the case, and none gives the truth.
template <typename Op>
void expect_distinct_variants(const typename Op::Case& c) {
  const auto problem = Op::make_problem(c);
  const std::vector<Truth> truth = Op::truth_of(problem, Arithmetic::kFp32);
  const Mistakes mistakes = Op::mistakes(problem, truth, Arithmetic::kFp32);
  std::vector<std::pair<std::string, Answer>> answers = {{"the truth", true_answer<Op>(problem)}};
  for (std::size_t n = 0; n < mistakes.variants.words.size(); ++n)
    answers.emplace_back(mistakes.known[n].words, mistakes.known[n].answer());
  const auto equal = [](const Answer& a, const Answer& b) {
    for (std::size_t n = 0; n < a.size(); ++n) {
      std::vector<float> result(a[n].size());
      std::transform(a[n].begin(), a[n].end(), result.begin(), held);
      if (!equals_answer(result, b[n], 1, 0)) return false;
    }
    return true;
  };
  for (std::size_t a = 0; a < answers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_FALSE(equal(answers[a].second, answers[b].second))
          << answers[b].first << "  ==  " << answers[a].first;
    }
  }
}

// Outputs of NaN or of numbers are refused in words where some sizes are 0, and nothing crashes.
template <typename Op>
void expect_words_for_empty(const typename Op::Problem& problem) {
  for (const float value : {kNan, 1.0f}) {
    typename Op::Outputs outputs = right_answer(problem);
    bool any = false;
    for (const ListedArray& array : outputs_of<Op>(Op::case_of(problem))) {
      use_output(outputs, array.name, [&](std::vector<float>& values) {
        any = any || !values.empty();
        std::fill(values.begin(), values.end(), value);
      });
    }
    const std::string said = said_of<Op>(problem, outputs);
    EXPECT_EQ(said.find("WRONG RESULT") != std::string::npos, any)
        << name_of(problem.drawn_case()) << ": " << said;
    EXPECT_EQ(said.find("but : "), std::string::npos) << said;
  }
}

// With no switch changed the loop of the variants is right.
template <typename Inputs>
void expect_right_loop(const Drawn<Inputs>& problem) {
  using Op = typename Inputs::Operator;
  expect_right_answer(problem, [&](const std::vector<Truth>& truth) {
    return Op::mistakes(problem, truth, Arithmetic::kFp32).variants.right();
  });
}

// With random small problems: what the plain loop gives is refused less than once in a thousand arrays, and a planted fault more than 99
// times in a hundred. (tools/upkeep/judge_table does the same with every kernel.)
template <typename Op>
class SelfTest {
 public:
  using Problem = typename Op::Problem;

  void add(const Problem& problem) {
    add(problem, Arithmetic::kFp32);
    if (storage_of(Op::case_of(problem)) != "fp32") add(problem, Arithmetic::kBf16Operands);
  }

  void expect_sharp(int problems) const {
    std::cout << misconceptions_.judged << " misconceptions, " << named_ << " named\n";
    EXPECT_GT(misconceptions_.judged, problems / 4);
    EXPECT_EQ(misconceptions_.refused, misconceptions_.judged);
    EXPECT_GT(100 * named_, 98 * misconceptions_.judged);
    EXPECT_LT(1000 * right_.refused, right_.judged) << right_.refused << " of " << right_.judged;
    for (const auto& [fault, counts] : planted_) {
      EXPECT_GT(100 * counts.refused, 99 * counts.judged)
          << fault << ": " << counts.refused << " of " << counts.judged;
    }
  }

 private:
  using Values = std::vector<float>;

  struct Counts {
    int judged = 0, refused = 0;
  };

  void add(const Problem& problem, Arithmetic arithmetic) {
    const std::vector<Truth> truth = Op::truth_of(problem, arithmetic);
    const std::vector<Misconception> known = Op::mistakes(problem, truth, arithmetic).known;
    plant_one(problem, arithmetic, truth, known[next_++ % known.size()]);
    const auto plain = Op::plain(problem, arithmetic);
    for (const Part& whole : Op::parts(problem, plain, truth, arithmetic)) {
      if (whole.truth->empty()) continue;
      const FinitePart finite(whole);
      const Part& part = finite.part();
      count(right_, part);
      for (const auto& [fault, values] : planted_in(part, part.coarseness() == 0)) {
        Part wrong = part;
        wrong.result = &values;
        count(planted_[fault], wrong);
      }
    }
    Answer answer;
    for (const Truth& each : truth)
      answer.push_back(each.values);
    const auto right = stored<Op>(problem, answer);
    const std::vector<Part> right_parts = Op::parts(problem, right, truth, arithmetic);
    for (const Misconception& each : known) {
      if (each.slight.empty()) continue;
      const auto wrong = stored<Op>(problem, each.answer());
      const std::vector<Part> wrong_parts = Op::parts(problem, wrong, truth, arithmetic);
      for (std::size_t n = 0; n < wrong_parts.size(); ++n) {
        const Part& part = wrong_parts[n];
        // Storage in 16 bits hides it.
        if (*part.result != *right_parts[n].result && part.roundings.stored == 0 && has_terms(part))
          count(planted_[each.slight], part);
      }
    }
  }

  // One of the misconceptions, another one in every problem. It is refused where it shows, and called by its name or by that of another
  // one that gives the same.
  void plant_one(const Problem& problem, Arithmetic arithmetic, const std::vector<Truth>& truth,
                 const Misconception& one) {
    const auto wrong = stored<Op>(problem, one.answer());
    bool shows = false;
    for (const Part& part : Op::parts(problem, wrong, truth, arithmetic)) {
      const Values& result = *part.result;
      if (result.empty()) continue;
      // Where nothing at all is written there is no name for it.
      if (std::none_of(result.begin(), result.end(), [](float x) { return std::isfinite(x); }))
        return;
      // What is little more than storing leaves is no fault.
      const double rounding = storage_of(Op::case_of(problem)) == "fp32" ? 0 : kBf16Rounding;
      shows |=
          !roughly_equal(result, *part.truth, part.layout.row(), 2 * rounding) && has_terms(part);
    }
    if (!shows) return;
    const std::string message = verdict(problem, wrong, arithmetic);
    ++misconceptions_.judged;
    misconceptions_.refused += message.find("WRONG RESULT") != std::string::npos;
    named_ += message.find("equals") != std::string::npos ||
              message.find("every element is zero") != std::string::npos;
  }

  // Where nothing is left of the terms there is nothing to be wrong.
  static bool has_terms(const Part& part) {
    const auto square = [](const std::vector<double>& values) {
      return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    };
    return square(*part.truth) >= 1e-12 * square(*part.terms);
  }
  static void count(Counts& counts, const Part& part) {
    ++counts.judged;
    counts.refused += !part.judged().within_limit();
  }

  std::size_t next_ = 0;
  Counts right_, misconceptions_;
  int named_ = 0;
  std::map<std::string, Counts> planted_;
};

// What small random cases are made of.
class SmallDraw {
 public:
  explicit SmallDraw(std::uint32_t seed) : engine_(seed) {}
  template <typename Choices>
  auto one_of(const Choices& choices) {
    return choices[engine_() % std::size(choices)];
  }
  bool coin() { return engine_() % 2 == 0; }
  std::int64_t length() { return one_of(kSmallLengths); }
  std::int64_t size() { return one_of(kSmallSizes); }
  std::int64_t width() { return one_of(std::array{1, 2, 3, 4, 16, 20, 32}); }
  std::uint32_t seed() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

// The self-test with 200 of them.
template <typename Op>
void expect_sharp_judge(typename Op::Case (*random_case)(SmallDraw&)) {
  constexpr int kSeeds = 200;
  SelfTest<Op> test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SmallDraw draw(seed);
    test.add(Op::make_problem(random_case(draw)));
  }
  test.expect_sharp(kSeeds);
}

}  // namespace ladder::testing
