// What the operators on sequences share: how their shapes are cut for a first look, and for the X-ray.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "common/core/shape.hpp"

namespace ladder {

struct SequenceOperator {
  static constexpr const char* kSteps = "T";

  // B=1, T=16, H=2; with the K and V of `like`.
  static Shape small_shape();
  static Shape small_shape(const Shape& like);
  // Some heads and few steps, with the shape's K and V; the shape itself if that is small.
  static Shape part(const Shape& whole, const std::function<double(const Shape&)>& fma,
                    double most);
  static Shape larger(const Shape& part, const Shape& whole);

  // What the float64 reference of a recurrence takes: it walks with three states of (K, V) per thread, and a thread per head.
  static double bytes_of_walk(std::int64_t K, std::int64_t V, std::int64_t heads) {
    return 3.0 * sizeof(double) * static_cast<double>(K * V) *
           std::min(64.0, static_cast<double>(heads));
  }
};

}  // namespace ladder
