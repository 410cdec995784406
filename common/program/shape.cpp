#include "common/program/shape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ladder::program {
namespace {

// Larger sizes would only overflow further on: 2^31 elements of one axis are more than any memory holds.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

// No shape needs more elements than this in one array: 2^34 floats are 64 GiB.
constexpr double kMostElements = 17179869184.0;

std::vector<std::pair<std::string, Shape>> named_shapes() {
  std::vector<std::pair<std::string, Shape>> all;
  for (const auto& op : operators()) {
    const auto shapes = op->named_shapes();
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

std::int64_t parse_size(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kLargest) {
    throw std::invalid_argument(fmt::format(
        "--shape: {} is '{}'; allowed: a whole number from 1 to {}", name, text, kLargest));
  }
  return value;
}

}  // namespace

Shape parse_shape(const std::string& text, const AnyOperator& op, const Shape& base) {
  Shape shape = base;
  const auto set = [&](const std::string& name, std::int64_t value) {
    if (op.set_size(shape, name, value)) return;
    throw std::invalid_argument(
        fmt::format("--shape is '{}'; allowed for {}: sizes such as {}, or one of\n{}", text,
                    op.name(), to_string(base), known_shapes()));
  };
  bool any = false;
  for (const auto& [name, named] : named_shapes()) {
    if (name != text) continue;
    shape = op.shape();
    for (const Size& size : named.sizes())
      set(size.name, size.value);
    any = true;
  }
  std::istringstream items(any ? "" : text);
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    const std::string name = item.substr(0, equals);
    set(equals == std::string::npos ? "" : name,
        parse_size(name, equals == std::string::npos ? "1" : item.substr(equals + 1)));
    any = true;
  }
  if (!any) {
    throw std::invalid_argument("--shape is empty; allowed: sizes such as " + to_string(base) +
                                ", or one of\n" + known_shapes());
  }
  const double most = op.make_case(shape, {}, op.storages().front())->largest_array();
  if (most > kMostElements) {
    throw std::invalid_argument(
        fmt::format("--shape is {}: its largest array has {:.3g} elements; allowed: up to {:.0f}",
                    to_string(shape), most, kMostElements));
  }
  return shape;
}

nlohmann::json to_json(const Shape& shape) {
  nlohmann::json json = nlohmann::json::object();
  for (const Size& size : shape.sizes()) {
    if (size.value != 0) json[size.name] = size.value;
  }
  return json;
}

std::string known_shapes() {
  std::string text;
  for (const auto& [name, shape] : named_shapes()) {
    text += fmt::format("  {:<16} {}\n", name, to_string(shape));
  }
  return text;
}

}  // namespace ladder::program
