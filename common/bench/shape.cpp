#include "common/bench/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ladder::bench {
namespace {

// Larger sizes would only overflow further on: 2^31 elements of one axis are more than any memory holds.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

// No shape needs more elements than this in one array: 2^34 floats are 64 GiB.
constexpr double kMostElements = 17179869184.0;

const std::vector<std::pair<std::string, Shape>>& named_shapes() {
  static const std::vector<std::pair<std::string, Shape>> shapes = {
      {"rwkv6-1.6b", {.B = 1, .T = 1024, .H = 32, .K = 64, .V = 64}},
      {"rwkv6-7b", {.B = 1, .T = 1024, .H = 64, .K = 64, .V = 64}},
      {"gla-1.3b", {.B = 1, .T = 4096, .H = 4, .K = 256, .V = 512}},
      {"profile", {.B = 1, .T = 54, .H = 32, .K = 64, .V = 64}},
      {"training", {.B = 8, .T = 4096, .H = 32, .K = 64, .V = 64}},
      {"attention", {.B = 4, .T = 4096, .H = 16, .K = 128, .V = 128}},
      {"llama3-8b", {.B = 1, .T = 8192, .H = 32, .K = 128, .V = 128, .H_kv = 8}},
      {"llama3-8b-decode", {.B = 1, .T = 32768, .H = 32, .K = 128, .V = 128, .T_q = 1, .H_kv = 8}},
  };
  return shapes;
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

Shape parse_shape(const std::string& text, const Shape& base) {
  for (const auto& [name, shape] : named_shapes()) {
    if (name == text) return shape;
  }
  Shape shape = base;
  std::int64_t D = 0;
  const std::map<std::string, std::int64_t*> sizes = {
      {"B", &shape.B}, {"T", &shape.T},     {"H", &shape.H},       {"K", &shape.K},
      {"V", &shape.V}, {"T_q", &shape.T_q}, {"H_kv", &shape.H_kv}, {"D", &D}};
  std::istringstream items(text);
  bool any = false;
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    const auto size = sizes.find(item.substr(0, equals));
    if (equals == std::string::npos || size == sizes.end()) {
      throw std::invalid_argument(
          fmt::format("--shape is '{}'; allowed: sizes such as B=8,T=4096,H=32,K=64,V=64 "
                      "(attention: T_q, H_kv and D = K = V, too), or one of\n{}",
                      text, known_shapes()));
    }
    *size->second = parse_size(size->first, item.substr(equals + 1));
    any = true;
  }
  if (!any) {
    throw std::invalid_argument("--shape is empty; allowed: sizes such as B=8,T=4096, or one of\n" +
                                known_shapes());
  }
  if (D > 0) shape.K = shape.V = D;
  const double tokens = static_cast<double>(shape.B) * std::max(shape.T, shape.T_q) * shape.H;
  if (tokens * std::max(shape.K, shape.V) > kMostElements) {
    throw std::invalid_argument(
        fmt::format("--shape is {}; allowed: B * T * H * K and B * T * H * V up to {:.0f}",
                    to_string(shape), kMostElements));
  }
  return shape;
}

std::string to_string(const Shape& shape) {
  std::string text =
      fmt::format("B={}, T={}, H={}, K={}, V={}", shape.B, shape.T, shape.H, shape.K, shape.V);
  if (shape.T_q > 0) text += fmt::format(", T_q={}", shape.T_q);
  if (shape.H_kv > 0) text += fmt::format(", H_kv={}", shape.H_kv);
  return text;
}

nlohmann::json to_json(const Shape& s) {
  nlohmann::json json = {{"B", s.B}, {"T", s.T}, {"H", s.H}, {"K", s.K}, {"V", s.V}};
  if (s.T_q > 0) json["T_q"] = s.T_q;
  if (s.H_kv > 0) json["H_kv"] = s.H_kv;
  return json;
}

std::string known_shapes() {
  std::string text;
  for (const auto& [name, shape] : named_shapes()) {
    text += fmt::format("  {:<16} {}\n", name, to_string(shape));
  }
  return text;
}

}  // namespace ladder::bench
