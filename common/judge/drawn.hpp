// The inputs of a problem, by name.
#pragma once

#include <any>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/listed.hpp"
#include "common/core/options.hpp"
#include "common/judge/judging.hpp"

namespace ladder {

class DrawnArrays {
 public:
  // The elements of an input; none where the case has no such array. Whoever changes them changes this problem alone.
  template <typename Element>
  std::vector<Element>& array(const std::string& name) {
    for (Array& each : arrays_) {
      if (name == each.name) return std::any_cast<std::vector<Element>&>(each.values);
    }
    arrays_.push_back({name, std::vector<Element>(), &kElementType<Element>, bytes<Element>});
    return std::any_cast<std::vector<Element>&>(arrays_.back().values);
  }
  template <typename Element>
  const std::vector<Element>& array(const std::string& name) const {
    static const std::vector<Element> none;
    for (const Array& each : arrays_) {
      if (name == each.name) return std::any_cast<const std::vector<Element>&>(each.values);
    }
    return none;
  }
  std::vector<float>& operator[](const std::string& name);
  const std::vector<float>& operator[](const std::string& name) const;

  // Those of real numbers that have elements, and how many.
  std::vector<std::pair<std::string, std::int64_t>> inputs() const;

  // Of each array that has elements its name and its elements; "" behind the last.
  void write(std::ostream& out) const;

 protected:
  void set_pointers(const std::vector<ListedArray>& host) const;
  void round(const std::vector<ListedArray>& stored);

 private:
  struct Array {
    std::string name;
    std::any values;
    const ElementType* type;
    std::string_view (*bytes)(const std::any& values);  // null where there are none
  };

  template <typename Element>
  static std::string_view bytes(const std::any& values) {
    const auto& elements = std::any_cast<const std::vector<Element>&>(values);
    if (elements.empty()) return {};
    return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
  }

  std::vector<Array> arrays_;
};

// What is stored of an array; kFp32 where nothing is.
Precision precision_of(const std::string& array, const std::vector<ListedArray>& stored);
// What a value becomes when it is stored.
float (*rounding_of(Precision precision))(double value);

Layout layout_of(const ListedArray& array);

// See common/judge/limits.hpp. Products have two operands.
Roundings counted_roundings(const std::vector<ListedArray>& stored, const std::string& output,
                            double additions, Arithmetic arithmetic);

// "M37_N45_eps_1e_05_fp32"
std::string case_name(const Shape& shape, const Options& options, const std::string& storage);

}  // namespace ladder
