#include "common/judge/named_arrays.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "common/core/parcel.hpp"

namespace ladder {

std::any& NamedArrays::own(const std::string& name, const ElementType& type) {
  for (Array& each : arrays_) {
    if (name != each.name) continue;
    if (each.vector.use_count() > 1) each.vector = std::make_shared<std::any>(*each.vector);
    return *each.vector;
  }
  arrays_.push_back({name, &type, std::make_shared<std::any>(type.vector_of(0))});
  return *arrays_.back().vector;
}

void* NamedArrays::add(const std::string& name, const ElementType& type, std::size_t count) {
  std::any& vector = own(name, type);
  vector = type.vector_of(count);
  return type.bytes_of(vector).first;
}

std::vector<std::pair<std::string, std::int64_t>> NamedArrays::inputs() const {
  std::vector<std::pair<std::string, std::int64_t>> result;
  for (const Array& each : arrays_) {
    const auto* reals = std::any_cast<std::vector<float>>(each.vector.get());
    if (reals != nullptr && !reals->empty())
      result.emplace_back(each.name, static_cast<std::int64_t>(reals->size()));
  }
  return result;
}

void NamedArrays::write(std::ostream& out) const {
  for (const Array& each : arrays_) {
    const auto [bytes, size] = each.type->bytes_of(*each.vector);
    if (size == 0) continue;
    put(out, each.name);
    put(out, {reinterpret_cast<const char*>(bytes), size});
  }
  put(out, "");
}

void NamedArrays::read(std::istream& in, const std::vector<ListedArray>& host) {
  for (std::string name = take(in); !name.empty(); name = take(in)) {
    const std::string elements = take(in);
    for (const ListedArray& listed : host) {
      if (listed.name != name) continue;
      void* const to = add(name, *listed.type, elements.size() / listed.type->size);
      std::memcpy(to, elements.data(), elements.size());
    }
  }
}

void NamedArrays::set_pointers(const std::vector<ListedArray>& host) const {
  for (const ListedArray& listed : host) {
    if (!listed.is_input) continue;
    for (const Array& each : arrays_) {
      if (each.name != listed.name) continue;
      if (each.type != listed.type)
        throw std::logic_error(each.name + " is drawn with elements of another type");
      if (const auto [bytes, size] = each.type->bytes_of(*each.vector); size > 0)
        listed.point_at(bytes);
    }
  }
}

void NamedArrays::round(const std::vector<ListedArray>& stored) {
  for (const auto& [name, count] : inputs()) {
    const Precision precision = precision_of(name, stored);
    if (precision == Precision::kFp32) continue;
    for (float& x : (*this)[name])
      x = rounded(x, precision);
  }
}

Precision precision_of(const std::string& array, const std::vector<ListedArray>& stored) {
  for (const ListedArray& each : stored) {
    if (each.name == array) return each.type->precision;
  }
  return Precision::kFp32;
}

float (*rounding_of(Precision precision))(double value) {
  switch (precision) {
    case Precision::kFp32: return [](double value) { return static_cast<float>(value); };
    case Precision::kFp16:
      return [](double value) { return rounded(static_cast<float>(value), Precision::kFp16); };
    default:
      return [](double value) { return rounded(static_cast<float>(value), Precision::kBf16); };
  }
}

Layout layout_of(const ListedArray& array) {
  Layout layout{array.name, {}, {}};
  for (const Axis& axis : array.axes) {
    layout.axes.push_back(axis.name);
    layout.sizes.push_back(axis.size);
  }
  return layout;
}

Roundings counted_roundings(const std::vector<ListedArray>& stored, const std::string& output,
                            double additions, Arithmetic arithmetic) {
  Roundings result = stored_in(precision_of(output, stored));
  for (const ListedArray& array : stored) {
    const Precision precision = array.type->precision;
    if (precision != Precision::kFp32 && arithmetic == Arithmetic::kBf16Operands)
      result.operands = std::max(result.operands, unit_roundoff(precision) * std::sqrt(2.0));
  }
  result.sums = kFp32Roundoff * std::sqrt(additions + kFewRoundings);
  return result;
}

std::string case_name(const Shape& shape, const Options& options, const std::string& storage) {
  std::string text;
  for (const Size& size : shape.sizes())
    text += size.name + std::to_string(size.value) + "_";
  for (const auto& [option, value] : options)
    text += option + "_" + value + "_";
  std::replace_if(
      text.begin(), text.end(), [](char x) { return std::isalnum(x) == 0; }, '_');
  return text + storage;
}

}  // namespace ladder
