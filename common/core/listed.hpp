// The lists of a struct (common/core/arrays.hpp) as values: for code that asks for names, sizes and bytes, and for no types. A list is
// walked by its types here alone, so that all else is compiled once and not for each operator.
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

// What the elements of an array are. There is one object for each type: they are compared by their addresses.
struct ElementType {
  std::size_t size, alignment;
  Precision precision;  // what it is rounded to; kFp32 for all that is not stored in 16 bits
  void (*poison)(void* elements, std::size_t count);
  // As fp32, and from it, rounded to the nearest; null where elements are no numbers.
  void (*to_floats)(const void* elements, std::size_t count, float* numbers);
  void (*from_floats)(const float* numbers, std::size_t count, void* elements);
  // The same of whole numbers.
  void (*to_integers)(const void* elements, std::size_t count, std::int64_t* numbers);
  void (*from_integers)(const std::int64_t* numbers, std::size_t count, void* elements);
  bool is_pair;  // two floats, high and low: no number, and their sum is one
  // A std::vector of `count` elements, and its elements' bytes.
  std::any (*vector_of)(std::size_t count);
  std::pair<unsigned char*, std::size_t> (*bytes_of)(std::any& vector);
};

// What an output holds before anything is written to it: a NaN of its own, or a number that no result is by accident.
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

// Copies elements of one type to another, rounded to the nearest that is stored. False where one cannot be made from the other.
bool convert(const ElementType& from, const void* elements, std::size_t count,
             const ElementType& to, void* converted);

struct ListedArray {
  std::string name;
  Axes axes;
  Presence presence;
  const ElementType* type;
  bool is_input;
  void* pointer_at;  // where the struct has its pointer; null where there is no struct any more

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
  // What a size may be; a field without limits is none.
  std::vector<std::int64_t> limits;
  std::optional<float> least_real = {};  // of a real number that has one

  bool is_size() const { return !limits.empty(); }
  std::int64_t least() const { return limits[0]; }
  std::int64_t most() const {
    return limits.size() > 1 ? limits[1] : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t number() const;  // of a size
  void set(std::int64_t number) const;
};

// Those of a struct: they change it, if it is none that must not be changed.
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

// The array of that name; its struct must outlive it.
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

// Without the pointers to a struct that is no more.
std::vector<ListedArray> unbound(std::vector<ListedArray> arrays);

// Copies every field that both have by the same name and type.
void copy_fields(const std::vector<ListedField>& from, const std::vector<ListedField>& to);

template <typename From, typename To>
void copy_fields(const From& from, To& to) {
  copy_fields(fields_of(from), fields_of(to));
}

// The sizes in a list, and back. Sizes that a list has not are refused, with those that it has.
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

// Calls try_it(name) with every bad change to good arguments that the lists alone tell: each size too small or too large, each real
// number that has a least one below it and NaN, each required array null, each array there is misaligned. Undoes it behind each.
void for_each_bad_input(const std::vector<ListedField>& fields,
                        const std::vector<ListedArray>& arrays,
                        const std::function<void(const std::string& name)>& try_it);

}  // namespace ladder
