// What something in an input that is no number (NaN, infinity) reaches, for operators on batches, steps and heads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/judge/typed.hpp"

namespace ladder {

// The place of an output's element: -1 for an axis that the output does not have. A packed sequence is a batch here.
struct ElementPlace {
  std::string output;
  std::int64_t b = -1, h = -1;
  std::int64_t row = -1;  // of the B * T steps
};

// Which elements of an array something that is no number may have reached, and which it must have reached.
enum class Reach { kMustNot, kMay, kMust };

// Elements that must not be reached are as in `clean`, or finite where the implementation is not repeatable; those that must be
// are not finite. Says what is wrong; "" if nothing.
std::string wrong_reach(const char* array, const std::vector<float>& clean,
                        const std::vector<float>& spoilt, bool repeatable,
                        const std::function<Reach(std::int64_t)>& reach);

bool repeats(const Support& support, const std::string& output);

// The place of an element of that output.
ElementPlace place_of(const ListedArray& output, std::int64_t element);

// Reports elements that were wrongly reached, or not reached: `reach(place)` is what must hold of each. `clean` is what the implementation
// has made of the problem without that number.
template <typename Typed>
void expect_reach(Report& report, const Problem& problem, const Typed& clean, const Typed& spoilt,
                  const Support& support, const std::function<Reach(const ElementPlace&)>& reach) {
  const std::vector<ListedArray> outputs = problem.outputs();
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    const std::string& name = outputs[n].name;
    report.expect(wrong_reach(
        name.c_str(), output_of(clean, name, n), output_of(spoilt, name, n), repeats(support, name),
        [&](std::int64_t element) { return reach(place_of(outputs[n], element)); }));
  }
}

}  // namespace ladder
