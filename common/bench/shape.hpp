// Shapes by the names of the models they come from, or spelled out.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace ladder::bench {

// Softmax attention has K = V (written D), and may have other numbers of queries and of key heads.
struct Shape {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64;
  std::int64_t T_q = 0;   // 0: T
  std::int64_t H_kv = 0;  // 0: H
  bool operator==(const Shape&) const = default;
};

// A known name ("rwkv6-1.6b"), or sizes such as "B=8,T=4096": those left out are those of `base`.
// std::invalid_argument names the size that is no positive number and lists what is allowed.
Shape parse_shape(const std::string& text, const Shape& base = {});

// "B=1, T=1024, H=32, K=64, V=64", and T_q and H_kv where they are given
std::string to_string(const Shape& shape);

nlohmann::json to_json(const Shape& shape);

// One line per known name, for --help.
std::string known_shapes();

}  // namespace ladder::bench
