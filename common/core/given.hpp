// From arrays that somebody has to an operator's case: what `./ladder apply` needs beyond the lists.
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
  std::string said;  // what sentences call it: "q.npy"
  std::vector<std::int64_t> shape;
};

// A case that is to fit such arrays: its lists, which are set, the options as they are when nothing is asked for, and the host's
// arrays that it has as it now is. `change` may change sizes of the argument struct before they are listed.
struct CaseToFit {
  using Change = std::function<void(const std::vector<ListedField>& sizes)>;
  std::vector<ListedField> fields;
  std::vector<ListedOption> options, usual;
  std::function<std::vector<ListedArray>(const Change& change)> arrays;
};

// Sets the flags that say which arrays there are, but for those in `chosen`, and the sizes. std::invalid_argument names an array that is
// missing, that the operator has not or that has another shape, a size that is not allowed, and an option in `chosen` that says only
// how inputs are drawn.
void fit(const CaseToFit& c, const std::vector<GivenArray>& inputs, const Options& chosen);

// "(2, 37, 3, 64)"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace ladder
