// Tests the judge with any operator that has mistakes and a plain loop. It must accept right
// results, reject mistakes, and name them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/judge/sequences.hpp"
#include "common/judge/typed.hpp"
#include "common/testing/planted.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// By the norm of the difference, relative to b's norm. An infinity is close only to itself.
void expect_close(const std::vector<double>& a, const std::vector<double>& b,
                  double tolerance = 1e-12);

Answer true_answer(const Problem& problem);

// The truth, rounded to storage.
template <typename Inputs>
auto right_answer(const ProblemOf<Inputs>& problem) {
  return typed<typename Inputs::Op::Outputs>(problem, problem.stored(true_answer(problem)));
}

// The answer of the plain loop.
template <typename Inputs>
auto plain_answer(const ProblemOf<Inputs>& problem) {
  return typed<typename Inputs::Op::Outputs>(problem,
                                             problem.op().plain(problem, Arithmetic::kFp32));
}

// The message for a result, which may name two mistakes, or "" if it is right.
std::string said_of(const Problem& problem, const OutputsAt& outputs,
                    Arithmetic arithmetic = Arithmetic::kFp32);
template <typename Typed>
std::string said_of(const Problem& problem, const Typed& outputs) {
  return said_of(problem, outputs_at(problem, outputs));
}

// "right", or the message for a wrong result.
template <typename Typed>
std::string verdict(const Problem& problem, const Typed& outputs,
                    Arithmetic arithmetic = Arithmetic::kFp32) {
  const std::string said = said_of(problem, outputs_at(problem, outputs), arithmetic);
  return said.empty() ? "right" : said;
}

// Checks that `answer_to(truth)`, rounded to storage, is right. Computes the slow truth once.
void expect_right_answer(const Problem& problem,
                         const std::function<Answer(const std::vector<Truth>&)>& answer_to);

void expect_right_truth(const Problem& problem);

void expect_words(const std::string& words, const std::string& said);

// Checks that the result is rejected with these words.
template <typename Typed>
void expect_wrong(const std::string& words, const Problem& problem, const Typed& outputs,
                  Arithmetic arithmetic = Arithmetic::kFp32) {
  const std::string said = verdict(problem, outputs, arithmetic);
  expect_words("WRONG RESULT", said);
  expect_words(words, said);
}

// Calls use(problem, kernel) with a kernel that computes `solve(problem)` for any inputs.
using UseKernel = std::function<void(const Problem&, const Implementation&)>;
template <typename Inputs, typename Solve>
void with_kernel(const ProblemOf<Inputs>& problem, const Solve& solve, const UseKernel& use) {
  const auto compute = [&](const auto& args) {
    ProblemOf<Inputs> given = problem;
    for (const ListedArray& array : arrays_of(args)) {
      if (!array.is_input || array.pointer() == nullptr || array.type->to_floats == nullptr ||
          array.type->to_integers != nullptr)
        continue;
      std::vector<float>& values = given[array.name];
      array.type->to_floats(array.pointer(), values.size(), values.data());
    }
    const auto outputs = solve(given);
    std::size_t n = 0;
    for (const ListedArray& output : problem.outputs()) {
      const std::vector<float>& values = output_of(outputs, output.name, n++);
      const ListedArray array = listed(args, output.name);
      array.type->from_floats(values.data(), values.size(), array.pointer());
    }
  };
  with_storage<typename Inputs::Op>(problem.storage(), [&]<typename Args>() {
    use(problem.as_of(find_operator(Inputs::Op::kName)),
        {.name = "kernel",
         .launchers = launchers<typename Inputs::Op>(std::function<void(const Args&)>(compute))});
  });
}

// The message for such a kernel, or "" if its result is right.
template <typename Inputs, typename Solve>
std::string said_of_kernel(const ProblemOf<Inputs>& problem, const Solve& solve) {
  std::string said;
  with_kernel(problem, solve, [&](const Problem& any, const Implementation& kernel) {
    const auto placed = any.place(device(DeviceKind::kCpu), kernel);
    placed->call();
    said = explained(placed->judge(Arithmetic::kFp32, false), *placed, &kernel, Arithmetic::kFp32);
  });
  return said;
}

// Checks that probing a right kernel finds nothing in any output.
void expect_nothing_probed(const Problem& problem, const Implementation& kernel);
template <typename Inputs>
void expect_nothing_probed(const ProblemOf<Inputs>& problem) {
  const auto plain = [](const Problem& given) {
    return given.op().plain(given, Arithmetic::kFp32);
  };
  with_kernel(problem, plain, [](const Problem& any, const Implementation& kernel) {
    expect_nothing_probed(any, kernel);
  });
}

// Checks that neither a right result nor zeros get a name.
void expect_no_name(const Problem& problem);

// Checks that a 16-bit result that is slightly too large or too small everywhere is rejected, for
// each output. `problem` needs some hundred rows, or some thousand if operands are rounded too.
void expect_bias_refused(const Problem& problem, Arithmetic arithmetic);

// The same for one head that is 0.3 % too large or too small, and for a row that is wrong by two
// units in the last place. `problem` needs two heads, and 80 rows per head if `arithmetic` rounds
// operands. If rows are computed from each other, a head's slope is coarser and the row may be
// right.
void expect_one_head_refused(const Problem& problem, Arithmetic arithmetic);

// The share of rows that would be rejected if they were two units in the last place too large.
double shifted_rows_refused(const Problem& problem, Arithmetic arithmetic);

// Checks that no two variants give the same result, and none the truth.
void expect_distinct_variants(const Problem& problem);

// Checks that outputs of NaN or numbers are rejected in words if sizes are 0, without a crash.
void expect_words_for_empty(const Problem& problem);

// Checks that the variants' loop is right if no switch is changed.
void expect_right_loop(const Problem& problem);

// Rejects the plain loop's results for less than 1 in 1000 arrays of random small problems, and
// more than 99 in 100 planted faults. (tools/upkeep/judge_table tries every kernel.)
class SelfTest {
 public:
  void add(const Problem& problem);
  void expect_sharp(int problems) const;

 private:
  struct Counts {
    int judged = 0, refused = 0;
  };

  void add(const Problem& problem, Arithmetic arithmetic);
  void plant_one(const Problem& problem, Arithmetic arithmetic, const std::vector<Truth>& truth,
                 const Misconception& one);
  static void count(Counts& counts, const Part& part);

  std::size_t next_ = 0;
  Counts right_, misconceptions_;
  int named_ = 0;
  std::map<std::string, Counts> planted_;
};

// Draws small random cases.
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

// The self-test with 200 small cases.
template <typename Op>
void expect_sharp_judge(typename Op::Case (*random_case)(SmallDraw&)) {
  constexpr int kSeeds = 200;
  SelfTest test;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SmallDraw draw(seed);
    test.add(*as_case<Op>(random_case(draw))->make());
  }
  test.expect_sharp(kSeeds);
}

}  // namespace ladder::testing
