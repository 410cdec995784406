// Offsets in a pool for the arrays of successive calls, so that no cache holds an array when its
// call begins.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace ladder::best {

class Ring {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit Ring(std::size_t bytes) : bytes_(bytes) {}

  // The space that an array of `bytes` uses.
  static constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  // The next arrays, whose aligned() sizes add up to `bytes`, will not overlap. Without this call,
  // the ring may begin again between two arrays of a call, so that the later one overlaps the
  // earlier one.
  void reserve(std::size_t bytes) {
    if (bytes > bytes_) throw std::runtime_error("a tensor is larger than its pool");
    if (used_ + bytes > bytes_) used_ = 0;
  }
  // Returns the offset of an array.
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
