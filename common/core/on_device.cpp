#include "common/core/on_device.hpp"

namespace ladder {
namespace {

using Role = GuardedArray::Role;

std::vector<std::max_align_t> room_for(const ElementType& type, std::size_t count) {
  return std::vector<std::max_align_t>(count * type.size / sizeof(std::max_align_t) + 1);
}

// The host's array of that name, if its elements can be converted to the stored type.
const ListedArray* source_of(const ListedArray& stored, const std::vector<ListedArray>& host) {
  for (const ListedArray& array : host) {
    if (array.name == stored.name && convert(*array.type, nullptr, 0, *stored.type, nullptr))
      return &array;
  }
  return nullptr;
}

}  // namespace

DeviceArrays::Output::Output(Device& device, const ListedArray& stored, const void* elements)
    : name(stored.name),
      type(stored.type),
      count(static_cast<std::size_t>(stored.elements())),
      array(device, name, elements, count * type->size, type->size, Role::kOutput, stored.axes) {}

void DeviceArrays::Output::download(const ElementType& as, void* values) const {
  if (type == &as) return array.download(values);
  std::vector<std::max_align_t> elements = room_for(*type, count);
  array.download(elements.data());
  if (!convert(*type, elements.data(), count, as, values))
    throw std::logic_error(name + " cannot be downloaded as another kind of numbers");
}

DeviceArrays::DeviceArrays(Device& device, const std::string& op,
                           const std::vector<ListedArray>& stored,
                           const std::vector<ListedArray>& host, const Store& store) {
  for (const ListedArray& array : stored) {
    const ElementType& type = *array.type;
    const auto count = static_cast<std::size_t>(array.elements());
    std::vector<std::max_align_t> elements = room_for(type, count);
    type.poison(elements.data(), count);
    if (!array.is_input) {
      const Output& output = outputs_.emplace_back(device, array, elements.data());
      array.point_at(output.array.pointer());
      continue;
    }
    const ListedArray* source = source_of(array, host);
    if (source != nullptr && source->pointer() == nullptr) continue;
    if (source != nullptr) {
      convert(*source->type, source->pointer(), count, type, elements.data());
    } else if (!store(array, elements.data())) {
      throw std::logic_error(op + " has no array " + array.name +
                             " on the host, and no function `store` to make it");
    }
    const GuardedArray& input =
        inputs_.emplace_back(device, array.name, elements.data(), count * type.size, type.size,
                             Role::kInput, array.axes);
    array.point_at(input.pointer());
  }
}

const std::deque<DeviceArrays::Output>& DeviceArrays::checked_outputs() const {
  for (const GuardedArray& input : inputs_)
    input.check_unchanged();
  for (const Output& output : outputs_)
    output.array.check_guards();
  return outputs_;
}

std::vector<unsigned char> DeviceArrays::output_bytes() const {
  std::vector<unsigned char> bytes;
  for (const Output& output : checked_outputs()) {
    const std::size_t first = bytes.size();
    bytes.resize(first + output.count * output.type->size);
    output.array.download(bytes.data() + first);
  }
  return bytes;
}

void DeviceArrays::set_output_bytes(const std::vector<unsigned char>& bytes) const {
  std::size_t first = 0;
  for (const Output& output : outputs_) {
    output.array.upload(bytes.data() + first);
    first += output.count * output.type->size;
  }
}

bool DeviceArrays::is_untouched() const {
  for (const GuardedArray& input : inputs_) {
    if (!input.is_unchanged()) return false;
  }
  for (const Output& output : outputs_) {
    if (!output.array.is_unchanged()) return false;
  }
  return true;
}

}  // namespace ladder
