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
  // The elements of an input; none where there is no such array. Changing them changes these arrays alone.
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

  // An array of so many elements, all 0: where they are.
  void* add(const std::string& name, const ElementType& type, std::size_t count);

  // Those of real numbers that have elements, and how many.
  std::vector<std::pair<std::string, std::int64_t>> inputs() const;

  // The name and the elements of each array that has elements, then "". `read` knows the types by the list of the host.
  void write(std::ostream& out) const;
  void read(std::istream& in, const std::vector<ListedArray>& host);

  // Points the inputs of a list at these arrays.
  void set_pointers(const std::vector<ListedArray>& host) const;
  // Rounds real numbers to what the arrays can hold where they are stored.
  void round(const std::vector<ListedArray>& stored);

 private:
  struct Array {
    std::string name;
    const ElementType* type;
    std::shared_ptr<std::any> vector;
  };

  // The array's vector, which no copy shares.
  std::any& own(const std::string& name, const ElementType& type);

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
