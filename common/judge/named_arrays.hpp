// The inputs of a problem, by name.
#pragma once

#include <any>
#include <cstdint>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "common/core/listed.hpp"
#include "common/core/options.hpp"
#include "common/judge/judging.hpp"

namespace ladder {

// Copies share their elements until one of them changes an array.
class NamedArrays {
 public:
  // The elements of an input, or empty if there is no such array. Changing them changes no copy.
  template <typename Element>
  std::vector<Element>& array(const std::string& name) {
    return std::any_cast<std::vector<Element>&>(own(name, kElementType<Element>));
  }
  template <typename Element>
  const std::vector<Element>& array(const std::string& name) const {
    static const std::vector<Element> none;
    for (const Array& each : arrays_) {
      if (name == each.name) return std::any_cast<const std::vector<Element>&>(*each.vector);
    }
    return none;
  }
  std::vector<float>& operator[](const std::string& name) { return array<float>(name); }
  const std::vector<float>& operator[](const std::string& name) const { return array<float>(name); }

  // Adds an array of `count` zeros and returns its address.
  void* add(const std::string& name, const ElementType& type, std::size_t count);

  // Names and sizes of the non-empty arrays of real numbers.
  std::vector<std::pair<std::string, std::int64_t>> inputs() const;

  // Writes the name and elements of each non-empty array, then "". `read` needs the host's list.
  void write(std::ostream& out) const;
  void read(std::istream& in, const std::vector<ListedArray>& host);

  // Points the inputs of a list at these arrays.
  void set_pointers(const std::vector<ListedArray>& host) const;
  // Rounds real numbers to values that the storage can hold.
  void round(const std::vector<ListedArray>& stored);

 private:
  struct Array {
    std::string name;
    const ElementType* type;
    std::shared_ptr<std::any> vector;
  };

  // The array's vector, after separating it from copies.
  std::any& own(const std::string& name, const ElementType& type);

  std::vector<Array> arrays_;
};

// The storage of an array, or kFp32 if it is not stored.
Precision precision_of(const std::string& array, const std::vector<ListedArray>& stored);
// The function that rounds a value to its storage.
float (*rounding_of(Precision precision))(double value);

Layout layout_of(const ListedArray& array);

// See common/judge/limits.hpp. Products have two operands.
Roundings counted_roundings(const std::vector<ListedArray>& stored, const std::string& output,
                            double additions, Arithmetic arithmetic);

// "M37_N45_eps_1e_05_fp32"
std::string case_name(const Shape& shape, const Options& options, const std::string& storage);

}  // namespace ladder
