// Where the arrays of one call after another lie in a pool, so that no cache holds them when a call begins.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace ladder::best {

class Ring {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit Ring(std::size_t bytes) : bytes_(bytes) {}

  // What an array of `bytes` takes up.
  static constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  // The arrays of `bytes`, all aligned() ones together, that are taken next do not overlap. Without it, the ring can begin again between
  // two arrays of a call, and the later one lie upon the earlier one.
  void reserve(std::size_t bytes) {
    if (bytes > bytes_) throw std::runtime_error("a tensor is larger than its pool");
    if (used_ + bytes > bytes_) used_ = 0;
  }
  // The offset of an array.
  std::size_t take(std::size_t bytes) {
    const std::size_t wanted = aligned(bytes);
    reserve(wanted);
    used_ += wanted;
    return used_ - wanted;
  }

 private:
  std::size_t bytes_, used_ = 0;
};

}  // namespace ladder::best
