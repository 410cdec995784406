// What follows from the two lists of an argument struct (common/core/arrays.hpp): validation, bad input, elements, bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "common/core/arrays.hpp"
#include "common/core/errors.hpp"

namespace ladder {

// As a double: sizes that nobody can allocate are validated, too.
inline double count(const Axes& axes) {
  double elements = 1;
  for (const Axis& axis : axes)
    elements *= axis.size > 0 ? static_cast<double>(axis.size) : 0.0;
  return elements;
}

template <typename Pointer>
using Pointee = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<Pointer>>>;

// A pointer to const is an input, another an output.
template <typename Pointer>
inline constexpr bool kIsInput =
    std::is_const_v<std::remove_pointer_t<std::remove_cvref_t<Pointer>>>;

// Copies every field that both have by the same name and type.
template <typename From, typename To>
void copy_fields(const From& from, To& to) {
  To::fields(to, [&](const std::string& name, auto& value, auto...) {
    From::fields(from, [&](const char* other_name, const auto& other, auto...) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>,
                                   std::remove_cvref_t<decltype(other)>>) {
        if (name == other_name) value = other;
      }
    });
  });
}

namespace detail {

// Kernel files validate: these are structs because nvcc's front end crashes on the lambdas that could stand here.
struct ValidateField {
  template <typename Value>
  void operator()(const char*, const Value&) const {}
  void operator()(const char* name, std::int64_t value, std::int64_t least) const {
    require_at_least(name, value, least);
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

// Refuses (std::invalid_argument) a size that its list does not allow, and a pointer that is null or not aligned to its element. An
// optional array may be null, and so may one without elements.
template <typename Args>
void validate_lists(const Args& args) {
  Args::fields(args, detail::ValidateField());
  Args::arrays(args, detail::ValidateArray());
}

// Calls try_it(name, bad) with every bad change to good arguments that the lists alone tell: each size too small or too large, each
// required array null, each array there is misaligned.
template <typename Args>
void for_each_bad_input(const Args& good,
                        const std::function<void(const std::string&, const Args&)>& try_it) {
  Args bad = good;
  Args::fields(
      bad, [&]([[maybe_unused]] const char* name, [[maybe_unused]] auto& value, auto... limits) {
        std::int64_t beyond = -1;  // below the least, above the most
        [[maybe_unused]] const auto spoil = [&](std::int64_t limit) {
          const auto kept = value;
          value = static_cast<std::remove_cvref_t<decltype(value)>>(limit + beyond);
          try_it(name, bad);
          value = kept;
          beyond = 1;
        };
        (spoil(limits), ...);
      });
  Args::arrays(bad, [&](const char* name, auto& pointer, const Axes& axes,
                        Presence presence = Presence::kRequired) {
    if (pointer == nullptr) return;
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    const Pointer kept = pointer;
    if (presence == Presence::kRequired && count(axes) > 0) {
      pointer = nullptr;
      try_it(name, bad);
    }
    if constexpr (alignof(Pointee<Pointer>) > 1) {
      pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(kept) + 1);
      try_it(name, bad);
    }
    pointer = kept;
  });
}

}  // namespace ladder
