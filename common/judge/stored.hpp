// Results as they are stored, and mistakes that any operator's problem may have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/core/on_device.hpp"
#include "common/judge/simple_operator.hpp"

namespace ladder {

// What an answer is when it is stored.
template <typename Op>
typename Op::Outputs stored(const typename Op::Problem& problem, const Answer& answer) {
  typename Op::Outputs outputs;
  const auto& c = Op::case_of(problem);
  std::size_t n = 0;
  for (const ListedArray& array : those_wanted<Op>(c, stored_list<Op>(c))) {
    if (array.is_input) continue;
    use_output(outputs, array.name, [&](std::vector<float>& values) {
      for (const double x : answer.at(n))
        values.push_back(is_unwritten(x) ? held(x) : rounding_of(array.type->precision)(x));
    });
    ++n;
  }
  return outputs;
}

// The answer of somebody whose tensor cores take fp32 operands as TF32. `answer_to(problem)` is the right one.
template <typename Problem, typename AnswerTo>
void add_tf32(Mistakes& mistakes, const Problem& problem, const AnswerTo& answer_to) {
  if (storage_of(problem.drawn_case()) != "fp32") return;
  const auto answer = [&problem, answer_to] {
    Problem changed = problem;
    for (const char* array : {"q", "k", "v", "d_o"})
      to_tf32(changed[array]);
    return answer_to(changed);
  };
  mistakes.known.push_back(
      {mistakes.variants.equals + "of operands rounded to TF32", answer, 0, "tf32"});
}

}  // namespace ladder
