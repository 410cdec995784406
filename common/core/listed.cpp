#include "common/core/listed.hpp"

#include <algorithm>

#include "common/core/errors.hpp"
#include "common/core/text.hpp"

namespace ladder {

bool convert(const ElementType& from, const void* elements, std::size_t count,
             const ElementType& to, void* converted) {
  if (&from == &to) {
    if (count > 0) std::memcpy(converted, elements, count * from.size);
    return true;
  }
  if (from.to_integers != nullptr && to.from_integers != nullptr) {
    std::vector<std::int64_t> numbers(count);
    from.to_integers(elements, count, numbers.data());
    to.from_integers(numbers.data(), count, converted);
    return true;
  }
  if (from.to_floats == nullptr || to.from_floats == nullptr) return false;
  // Fast path without a temporary. Tensors are large, and one of the types is usually fp32.
  if (&from == &kElementType<float>) {
    to.from_floats(static_cast<const float*>(elements), count, converted);
    return true;
  }
  if (&to == &kElementType<float>) {
    from.to_floats(elements, count, static_cast<float*>(converted));
    return true;
  }
  std::vector<float> numbers(count);
  from.to_floats(elements, count, numbers.data());
  to.from_floats(numbers.data(), count, converted);
  return true;
}

void* ListedArray::pointer() const {
  void* pointer = nullptr;
  std::memcpy(&pointer, pointer_at, sizeof pointer);
  return pointer;
}

void ListedArray::point_at(const void* elements) const {
  std::memcpy(pointer_at, &elements, sizeof elements);
}

std::int64_t ListedField::number() const {
  if (*type == typeid(std::int64_t)) return *static_cast<const std::int64_t*>(value);
  require(*type == typeid(int),
          "the type of " + name + " is none of a size; allowed: std::int64_t");
  return *static_cast<const int*>(value);
}

void ListedField::set(std::int64_t number) const {
  if (*type == typeid(std::int64_t)) {
    *static_cast<std::int64_t*>(value) = number;
  } else {
    *static_cast<int*>(value) = static_cast<int>(number);
  }
}

std::vector<ListedArray> unbound(std::vector<ListedArray> arrays) {
  for (ListedArray& array : arrays)
    array.pointer_at = nullptr;
  return arrays;
}

void copy_fields(const std::vector<ListedField>& from, const std::vector<ListedField>& to) {
  for (const ListedField& field : to) {
    for (const ListedField& other : from) {
      if (field.name == other.name && *field.type == *other.type)
        std::memcpy(field.value, other.value, field.size);
    }
  }
}

Shape shape_of(const std::vector<ListedField>& fields) {
  Shape shape;
  for (const ListedField& field : fields) {
    if (field.is_size()) shape.set(field.name, field.number());
  }
  return shape;
}

void set_shape(const std::vector<ListedField>& fields, const Shape& shape, const std::string& op) {
  const Shape known = shape_of(fields);
  for (const Size& size : shape.sizes()) {
    std::vector<std::string> names;
    for (const Size& each : known.sizes())
      names.push_back(each.name);
    require(known.has(size.name),
            "--shape has " + size.name + "; allowed for " + op + ": " + joined(names));
  }
  for (const ListedField& field : fields) {
    if (field.is_size() && shape.has(field.name)) field.set(shape[field.name]);
  }
}

void for_each_bad_input(const std::vector<ListedField>& fields,
                        const std::vector<ListedArray>& arrays,
                        const std::function<void(const std::string&)>& try_it) {
  for (const ListedField& field : fields) {
    if (!field.least_real) continue;
    float& number = *static_cast<float*>(field.value);
    const float kept = number;
    for (const float bad : {*field.least_real - 1, std::numeric_limits<float>::quiet_NaN()}) {
      number = bad;
      try_it(field.name);
    }
    number = kept;
  }
  for (const ListedField& field : fields) {
    if (!field.is_size()) continue;
    const std::int64_t kept = field.number();
    field.set(field.least() - 1);
    try_it(field.name);
    if (field.limits.size() > 1) {
      field.set(field.most() + 1);
      try_it(field.name);
    }
    field.set(kept);
  }
  for (const ListedArray& array : arrays) {
    void* const kept = array.pointer();
    if (kept == nullptr) continue;
    if (array.presence == Presence::kRequired && array.elements() > 0) {
      array.point_at(nullptr);
      try_it(array.name);
    }
    if (array.type->alignment > 1) {
      array.point_at(static_cast<const unsigned char*>(kept) + 1);
      try_it(array.name);
    }
    array.point_at(kept);
  }
}

}  // namespace ladder
