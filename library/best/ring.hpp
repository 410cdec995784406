// Divides a pool among the arrays of successive calls, so that each call finds cold caches.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace ladder::best {

class Ring {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit Ring(std::size_t bytes) : bytes_(bytes) {}

  // Bytes of the pool used by an array of `bytes`.
  static constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  // Keeps the next arrays, of `bytes` in all (sum of aligned()), from overlapping. Without it, the
  // ring could start again between two arrays of a call and overlap them.
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
