// What a NaN or infinity in an input reaches, for operators on batches, steps and heads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/judge/typed.hpp"

namespace ladder {

// Where an output's element is, or -1 for axes that the output lacks. A packed sequence is a batch.
struct ElementPlace {
  std::string output;
  std::int64_t b = -1, h = -1;
  std::int64_t row = -1;  // of the B * T steps
};

// Whether a NaN or infinity in an input may, must, or must not reach an element.
enum class Reach { kMustNot, kMay, kMust };

// Checks that elements which must not be reached equal `clean` (or are finite, if not repeatable),
// and that those which must be reached are not finite. Returns the error, or "".
std::string wrong_reach(const char* array, const std::vector<float>& clean,
                        const std::vector<float>& spoilt, bool repeatable,
                        const std::function<Reach(std::int64_t)>& reach);

bool repeats(const Support& support, const std::string& output);

// Where an element of that output is.
ElementPlace place_of(const ListedArray& output, std::int64_t element);

// Reports elements that violate `reach(place)`. `clean` is the result without NaN and infinity.
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
