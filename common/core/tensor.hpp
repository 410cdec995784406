// Host tensors: contiguous, row-major, with their shape.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace ladder {

template <typename Element>
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<Element> data;

  Tensor() = default;
  explicit Tensor(std::vector<std::int64_t> sizes, Element value = Element{})
      : shape(std::move(sizes)), data(count(shape), value) {}

  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
  bool empty() const { return data.empty(); }
  Element* pointer() { return data.empty() ? nullptr : data.data(); }
  const Element* pointer() const { return data.empty() ? nullptr : data.data(); }

  static std::size_t count(const std::vector<std::int64_t>& sizes) {
    return static_cast<std::size_t>(
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
  }
};

}  // namespace ladder
