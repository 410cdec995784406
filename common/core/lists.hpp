// Validation by the two lists of an argument struct (common/core/arrays.hpp), as kernels need it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include "common/core/arrays.hpp"
#include "common/core/errors.hpp"

namespace ladder {

// As a double, because sizes that are too large to allocate are validated too.
inline double count(const Axes& axes) {
  double elements = 1;
  for (const Axis& axis : axes)
    elements *= axis.size > 0 ? static_cast<double>(axis.size) : 0.0;
  return elements;
}

template <typename Pointer>
using Pointee = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<Pointer>>>;

// A pointer to const is an input, and any other pointer is an output.
template <typename Pointer>
inline constexpr bool kIsInput =
    std::is_const_v<std::remove_pointer_t<std::remove_cvref_t<Pointer>>>;

namespace detail {

// Structs instead of lambdas, because nvcc's front end crashes on the lambdas in kernel files.
struct ValidateField {
  template <typename Value>
  void operator()(const char*, const Value&) const {}
  void operator()(const char* name, std::int64_t value, std::int64_t least) const {
    require_at_least(name, value, least);
  }
  void operator()(const char* name, float value, float least) const {
    if (value >= least) return;
    char values[64];
    std::snprintf(values, sizeof values, " is %g; allowed: %g or more", value, least);
    throw std::invalid_argument(name + std::string(values));
  }
  void operator()(const char* name, std::int64_t value, std::int64_t least,
                  std::int64_t most) const {
    require_at_least(name, value, least);
    require(value <= most, std::string(name) + " is " + std::to_string(value) +
                               "; allowed: up to " + std::to_string(most));
  }
};

struct ValidateArray {
  template <typename Element>
  void operator()(const char* name, Element* pointer, const Axes& axes,
                  Presence presence = Presence::kRequired) const {
    if (pointer == nullptr && (presence == Presence::kOptional || count(axes) == 0)) return;
    require_pointer(name, pointer, alignof(Element));
  }
};

}  // namespace detail

// Throws std::invalid_argument for a size that is not allowed, and for a pointer that is null or
// not aligned to its element. Arrays may be null if they are optional or empty.
template <typename Args>
void validate_lists(const Args& args) {
  Args::fields(args, detail::ValidateField());
  Args::arrays(args, detail::ValidateArray());
}

}  // namespace ladder
