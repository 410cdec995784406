// The lists of a struct (common/core/arrays.hpp) as values, for code that needs names, sizes and
// bytes but no types. Only this header visits a list by its types, so that everything else is
// compiled once instead of for each operator.
#pragma once

#include <algorithm>
#include <any>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/core/lists.hpp"
#include "common/core/poison.hpp"
#include "common/core/precision.hpp"
#include "common/core/shape.hpp"

namespace ladder {

// The type of an array's elements. There is one object per type, so types are compared by address.
struct ElementType {
  std::size_t size, alignment;
  Precision precision;  // to which it is rounded, or kFp32 for all types that do not have 16 bits
  void (*poison)(void* elements, std::size_t count);
  // Conversion to fp32 and back, rounded to nearest. Null if the elements are not real numbers.
  void (*to_floats)(const void* elements, std::size_t count, float* numbers);
  void (*from_floats)(const float* numbers, std::size_t count, void* elements);
  // The same for integers.
  void (*to_integers)(const void* elements, std::size_t count, std::int64_t* numbers);
  void (*from_integers)(const std::int64_t* numbers, std::size_t count, void* elements);
  bool is_pair;  // two floats, high and low, whose sum is the number
  // A std::vector of `count` elements, and the bytes of its elements.
  std::any (*vector_of)(std::size_t count);
  std::pair<unsigned char*, std::size_t> (*bytes_of)(std::any& vector);
};

// Fills outputs before a launch with a NaN with its own bits or a number that no result has.
template <typename Element>
Element poison() {
  Element poisoned;
  if constexpr (std::is_same_v<Element, float>) {
    poisoned = std::bit_cast<float>(kPoisonBits);
  } else if constexpr (std::is_same_v<Element, bfloat16>) {
    poisoned = {static_cast<std::uint16_t>(kPoisonBits >> 16)};
  } else if constexpr (std::is_same_v<Element, float16>) {
    poisoned = {kPoisonFloat16Bits};
  } else {
    std::memset(&poisoned, std::is_integral_v<Element> ? 0x99 : 0xFF, sizeof poisoned);
  }
  return poisoned;
}

namespace detail {

template <typename Element>
void poison(void* elements, std::size_t count) {
  std::fill_n(static_cast<Element*>(elements), count, ladder::poison<Element>());
}

template <typename Element, typename Number>
void to_numbers(const void* elements, std::size_t count, Number* numbers) {
  const auto* from = static_cast<const Element*>(elements);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_arithmetic_v<Element>) {
      numbers[i] = static_cast<Number>(from[i]);
    } else {
      numbers[i] = to_float(from[i]);
    }
  }
}

template <typename Element, typename Number>
void from_numbers(const Number* numbers, std::size_t count, void* elements) {
  auto* to = static_cast<Element*>(elements);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Element, bfloat16>) {
      to[i] = to_bfloat16(numbers[i]);
    } else if constexpr (std::is_same_v<Element, float16>) {
      to[i] = to_float16(numbers[i]);
    } else {
      to[i] = static_cast<Element>(numbers[i]);
    }
  }
}

template <typename Element>
std::any vector_of(std::size_t count) {
  return std::vector<Element>(count);
}
template <typename Element>
std::pair<unsigned char*, std::size_t> bytes_of(std::any& vector) {
  auto& elements = std::any_cast<std::vector<Element>&>(vector);
  return {reinterpret_cast<unsigned char*>(elements.data()), elements.size() * sizeof(Element)};
}

template <typename Element>
inline constexpr bool kIsPair = false;
template <typename Element>
requires requires(const Element& pair) {
  pair.high + pair.low;
}
inline constexpr bool kIsPair<Element> = sizeof(Element) == 2 * sizeof(float);

template <typename Element>
constexpr ElementType element_type() {
  constexpr bool bf16 = std::is_same_v<Element, bfloat16>, fp16 = std::is_same_v<Element, float16>;
  static_assert(std::is_arithmetic_v<Element> || bf16 || fp16 || kIsPair<Element>);
  ElementType type{sizeof(Element),
                   alignof(Element),
                   bf16   ? Precision::kBf16
                   : fp16 ? Precision::kFp16
                          : Precision::kFp32,
                   poison<Element>,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr,
                   kIsPair<Element>,
                   vector_of<Element>,
                   bytes_of<Element>};
  if constexpr (std::is_arithmetic_v<Element> || bf16 || fp16) {
    type.to_floats = to_numbers<Element, float>;
    type.from_floats = from_numbers<Element, float>;
  }
  if constexpr (std::is_integral_v<Element>) {
    type.to_integers = to_numbers<Element, std::int64_t>;
    type.from_integers = from_numbers<Element, std::int64_t>;
  }
  return type;
}

}  // namespace detail

template <typename Element>
inline constexpr ElementType kElementType = detail::element_type<Element>();

// Converts elements, rounded to nearest. Returns false if there is no conversion.
bool convert(const ElementType& from, const void* elements, std::size_t count,
             const ElementType& to, void* converted);

struct ListedArray {
  std::string name;
  Axes axes;
  Presence presence;
  const ElementType* type;
  bool is_input;
  void* pointer_at;  // address of the pointer in the struct, or null if the struct no longer exists

  double elements() const { return count(axes); }
  double bytes() const { return elements() * static_cast<double>(type->size); }
  void* pointer() const;
  void point_at(const void* elements) const;
};

struct ListedField {
  std::string name;
  const std::type_info* type;
  std::size_t size;
  void* value;
  // The smallest, and perhaps the largest, allowed value of a size, or empty for any other field.
  std::vector<std::int64_t> limits;
  std::optional<float> least_real = {};  // the smallest allowed real number, if there is one

  bool is_size() const { return !limits.empty(); }
  std::int64_t least() const { return limits[0]; }
  std::int64_t most() const {
    return limits.size() > 1 ? limits[1] : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t number() const;  // the value of a size
  void set(std::int64_t number) const;
};

// The arrays of a struct. Setting a pointer changes the struct, unless it is const.
template <typename Args>
std::vector<ListedArray> arrays_of(const Args& args) {
  std::vector<ListedArray> arrays;
  Args::arrays(args, [&](const char* name, const auto& pointer, const Axes& axes,
                         Presence presence = Presence::kRequired) {
    using Pointer = decltype(pointer);
    arrays.push_back({name, axes, presence, &kElementType<Pointee<Pointer>>, kIsInput<Pointer>,
                      const_cast<void*>(static_cast<const void*>(&pointer))});
  });
  return arrays;
}

// The array of that name. Its struct must outlive it.
template <typename Args>
ListedArray listed(const Args& args, const std::string& name) {
  for (const ListedArray& array : arrays_of(args)) {
    if (array.name == name) return array;
  }
  throw std::logic_error("no array is called " + name);
}

template <typename Sized>
std::vector<ListedField> fields_of(const Sized& sized) {
  std::vector<ListedField> fields;
  Sized::fields(sized, [&](const char* name, const auto& value, auto... limits) {
    static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(value)>>);
    fields.push_back({name,
                      &typeid(value),
                      sizeof value,
                      const_cast<void*>(static_cast<const void*>(&value)),
                      {}});
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>)
      fields.back().limits = {static_cast<std::int64_t>(limits)...};
    else if constexpr (sizeof...(limits) == 1)
      fields.back().least_real = std::optional<float>(limits...);
  });
  return fields;
}

// Without the pointers into a struct that no longer exists.
std::vector<ListedArray> unbound(std::vector<ListedArray> arrays);

// Copies every field that both lists have with the same name and type.
void copy_fields(const std::vector<ListedField>& from, const std::vector<ListedField>& to);

template <typename From, typename To>
void copy_fields(const From& from, To& to) {
  copy_fields(fields_of(from), fields_of(to));
}

// The sizes of a list, and their assignment, which rejects unknown sizes.
Shape shape_of(const std::vector<ListedField>& fields);
void set_shape(const std::vector<ListedField>& fields, const Shape& shape, const std::string& op);

template <typename Sized>
Shape shape_of(const Sized& sized) {
  return shape_of(fields_of(sized));
}
template <typename Sized>
void set_shape(Sized& sized, const Shape& shape, const std::string& op) {
  set_shape(fields_of(sized), shape, op);
}

// Calls try_it(name) for every invalid change that the lists define. It makes each size too small
// or too large, each bounded real number below its bound and NaN, each required array null, each
// present array misaligned. Undoes the change after each call.
void for_each_bad_input(const std::vector<ListedField>& fields,
                        const std::vector<ListedArray>& arrays,
                        const std::function<void(const std::string& name)>& try_it);

}  // namespace ladder
