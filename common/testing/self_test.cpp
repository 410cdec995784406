#include "common/testing/self_test.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>

#include "common/diagnosis/probe.hpp"

namespace ladder::testing {
namespace {

Answer values_of(const std::vector<Truth>& truth) {
  Answer answer;
  for (const Truth& each : truth)
    answer.push_back(each.values);
  return answer;
}

// They point at the outputs and at the truth.
std::vector<Part> parts(const Problem& problem, const Outputs& outputs,
                        const std::vector<Truth>& truth, Arithmetic arithmetic) {
  return problem.op().parts(problem.drawn_case(), at(outputs), truth, arithmetic);
}

// If all terms cancel there is nothing to be wrong.
bool has_terms(const Part& part) {
  const auto square = [](const std::vector<double>& values) {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  };
  return square(*part.truth) >= 1e-12 * square(*part.terms);
}

}  // namespace

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
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

Answer true_answer(const Problem& problem) {
  return values_of(problem.op().truth(problem, Arithmetic::kFp32));
}

std::string said_of(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic) {
  const Operator& op = problem.op();
  return explained(op.judge(problem, outputs, arithmetic),
                   [&](const auto& use) { op.examine(problem, outputs, arithmetic, use); });
}

void expect_right_answer(const Problem& problem,
                         const std::function<Answer(const std::vector<Truth>&)>& answer_to) {
  const std::vector<Truth> truth = problem.op().truth(problem, Arithmetic::kFp32);
  const Outputs outputs = problem.stored(answer_to(truth));
  for (const Part& part : parts(problem, outputs, truth, Arithmetic::kFp32)) {
    const Verdict verdict = judge_part(part);
    EXPECT_TRUE(verdict.right) << problem.name() << ": " << verdict.message;
  }
}

void expect_right_truth(const Problem& problem) {
  expect_right_answer(problem, values_of);
}

void expect_words(const std::string& words, const std::string& said) {
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

void expect_nothing_probed(const Problem& problem, const Implementation& kernel) {
  for (std::size_t n = 0; n < problem.outputs().size(); ++n)
    EXPECT_EQ(probed(problem, kernel, Arithmetic::kFp32, n), "") << problem.name();
}

void expect_no_name(const Problem& problem) {
  Answer answer = true_answer(problem);
  EXPECT_EQ(said_of(problem, problem.stored(answer)), "");
  for (std::vector<double>& values : answer)
    std::fill(values.begin(), values.end(), 0.0);
  const std::string said = said_of(problem, problem.stored(answer));
  expect_words("every element is zero", said);
  EXPECT_EQ(said.find("equals"), std::string::npos) << said;
}

void expect_bias_refused(const Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = problem.op().truth(problem, arithmetic);
  const auto right = problem.stored(true_answer(problem));
  int biased = 0;
  for (const Part& part : parts(problem, right, truth, arithmetic)) {
    if (part.roundings.stored == 0) continue;
    for (const double factor : {1.001, 1.002, 1.004, 0.999}) {
      std::vector<double> off = *part.truth;
      for (double& x : off)
        x *= factor;
      const std::vector<float> result = stored(part, off);
      Part wrong = part;
      wrong.result = &result;
      EXPECT_FALSE(judge_part(wrong).right)
          << problem.name() << ": " << part.layout.array << " times " << factor << " has the slope "
          << wrong.judged().slope << ", at " << wrong.judged().slope_share << " of its limit";
      ++biased;
    }
  }
  EXPECT_GT(biased, 0) << "nothing is stored in 16 bits";
}

void expect_one_head_refused(const Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = problem.op().truth(problem, arithmetic);
  const auto right = problem.op().plain(problem, arithmetic);
  int heads = 0;
  for (const Part& part : parts(problem, right, truth, arithmetic)) {
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
      EXPECT_FALSE(verdict.right) << problem.name() << ": head 1 of " << part.layout.array
                                  << " times " << factor << ", at " << wrong.judged().slope_share
                                  << " of its limit";
      if (arithmetic != Arithmetic::kFp32) expect_words("all of head 1 is about", verdict.message);
      ++heads;
    }
  }
  EXPECT_GT(heads, 0);
}

double shifted_rows_refused(const Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = problem.op().truth(problem, arithmetic);
  const auto right = problem.op().plain(problem, arithmetic);
  const Part part = parts(problem, right, truth, arithmetic).front();
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

void expect_distinct_variants(const Problem& problem) {
  const std::vector<Truth> truth = problem.op().truth(problem, Arithmetic::kFp32);
  const Mistakes mistakes = problem.op().mistakes(problem, truth, Arithmetic::kFp32);
  std::vector<std::pair<std::string, Answer>> answers = {{"the truth", true_answer(problem)}};
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

void expect_words_for_empty(const Problem& problem) {
  for (const float value : {kNan, 1.0f}) {
    Outputs outputs = problem.stored(true_answer(problem));
    bool any = false;
    for (std::vector<float>& values : outputs) {
      any = any || !values.empty();
      std::fill(values.begin(), values.end(), value);
    }
    const std::string said = said_of(problem, outputs);
    EXPECT_EQ(said.find("WRONG RESULT") != std::string::npos, any)
        << problem.name() << ": " << said;
    EXPECT_EQ(said.find("but : "), std::string::npos) << said;
  }
}

void expect_right_loop(const Problem& problem) {
  expect_right_answer(problem, [&](const std::vector<Truth>& truth) {
    return problem.op().mistakes(problem, truth, Arithmetic::kFp32).variants.right();
  });
}

void SelfTest::add(const Problem& problem) {
  add(problem, Arithmetic::kFp32);
  if (problem.storage() != "fp32") add(problem, Arithmetic::kBf16Operands);
}

void SelfTest::expect_sharp(int problems) const {
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

void SelfTest::add(const Problem& problem, Arithmetic arithmetic) {
  const std::vector<Truth> truth = problem.op().truth(problem, arithmetic);
  const Mistakes mistakes = problem.op().mistakes(problem, truth, arithmetic);
  const std::vector<Misconception>& known = mistakes.known;
  plant_one(problem, arithmetic, truth, known[next_++ % known.size()]);
  const auto plain = problem.op().plain(problem, arithmetic);
  for (const Part& whole : parts(problem, plain, truth, arithmetic)) {
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
  const Outputs right = problem.stored(values_of(truth));
  const std::vector<Part> right_parts = parts(problem, right, truth, arithmetic);
  for (const Misconception& each : known) {
    if (each.slight.empty()) continue;
    const auto wrong = problem.stored(each.answer());
    const std::vector<Part> wrong_parts = parts(problem, wrong, truth, arithmetic);
    for (std::size_t n = 0; n < wrong_parts.size(); ++n) {
      const Part& part = wrong_parts[n];
      // 16-bit storage hides it.
      if (*part.result != *right_parts[n].result && part.roundings.stored == 0 && has_terms(part))
        count(planted_[each.slight], part);
    }
  }
}

// Plants another misconception in every problem. If it shows, it must be rejected,
// with its name or an equal one's.
void SelfTest::plant_one(const Problem& problem, Arithmetic arithmetic,
                         const std::vector<Truth>& truth, const Misconception& one) {
  const auto wrong = problem.stored(one.answer());
  bool shows = false;
  for (const Part& part : parts(problem, wrong, truth, arithmetic)) {
    const std::vector<float>& result = *part.result;
    if (result.empty()) continue;
    // A result without any written element has no name.
    if (std::none_of(result.begin(), result.end(), [](float x) { return std::isfinite(x); }))
      return;
    // Differences close to the rounding of the storage are no fault.
    const double rounding = problem.storage() == "fp32" ? 0 : kBf16Rounding;
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

void SelfTest::count(Counts& counts, const Part& part) {
  ++counts.judged;
  counts.refused += !part.judged().within_limit();
}

}  // namespace ladder::testing
