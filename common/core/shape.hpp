// Sizes by name, of any operator, as in --shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace ladder {

struct Size {
  std::string name;
  std::int64_t value = 0;
  bool operator==(const Size&) const = default;
};

// In the operator's order. A size of 0 follows from the others and is not shown.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Size> sizes) : sizes_(sizes) {}

  const std::vector<Size>& sizes() const { return sizes_; }
  bool has(const std::string& name) const { return find(name) != sizes_.end(); }
  // 0 if there is no such size.
  std::int64_t operator[](const std::string& name) const {
    const auto found = find(name);
    return found == sizes_.end() ? 0 : found->value;
  }
  void set(const std::string& name, std::int64_t value) {
    const auto found = find(name);
    if (found == sizes_.end()) {
      sizes_.push_back({name, value});
    } else {
      sizes_[static_cast<std::size_t>(found - sizes_.begin())].value = value;
    }
  }
  // Compares the sizes that are shown.
  bool operator==(const Shape& other) const { return to_string(*this) == to_string(other); }

  // "B=1, T=1024, H=32, K=64, V=64"
  friend std::string to_string(const Shape& shape) {
    std::string text;
    for (const Size& size : shape.sizes_) {
      if (size.value != 0)
        text += (text.empty() ? "" : ", ") + size.name + "=" + std::to_string(size.value);
    }
    return text;
  }

 private:
  std::vector<Size>::const_iterator find(const std::string& name) const {
    return std::find_if(sizes_.begin(), sizes_.end(),
                        [&](const Size& size) { return size.name == name; });
  }

  std::vector<Size> sizes_;
};

}  // namespace ladder
