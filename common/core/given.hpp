// Fits an operator's case to arrays from files, for `./ladder apply`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/core/listed.hpp"
#include "common/core/options.hpp"

namespace ladder {

struct GivenArray {
  std::string name;  // as the operator lists it
  std::string said;  // its name in messages, such as "q.npy"
  std::vector<std::int64_t> shape;
};

// A case to fit to such arrays, with its lists (which can be set), default options and arrays.
// `change` may set sizes of the argument struct before the arrays are listed.
struct CaseToFit {
  using Change = std::function<void(const std::vector<ListedField>& sizes)>;
  std::vector<ListedField> fields;
  std::vector<ListedOption> options, usual;
  std::function<std::vector<ListedArray>(const Change& change)> arrays;
};

// Sets the sizes, and the flags that decide which arrays exist, except those in `chosen`. Throws
// std::invalid_argument for an array that is missing, unknown or of another shape, a size that is
// not allowed, and an option in `chosen` that only changes how inputs are drawn.
void fit(const CaseToFit& c, const std::vector<GivenArray>& inputs, const Options& chosen);

// "(2, 37, 3, 64)"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace ladder
