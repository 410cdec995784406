// c = a + b for two matrices that are views. Strides give the offsets of their elements.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct MatrixAdd;  // the operator, in matrix_add_operator.cpp

// The distance, in elements, to the element below, and to the element on the right.
struct Strides {
  std::int64_t row = 0, col = 0;
};

struct MatrixAddSizes {
  std::int64_t M = 64, N = 96;  // rows and columns, each 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0);
  }
};

struct MatrixAddViews : MatrixAddSizes {
  Strides a_strides, b_strides, c_strides;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    MatrixAddSizes::fields(s, visit);
    visit("a_strides.row", s.a_strides.row), visit("a_strides.col", s.a_strides.col);
    visit("b_strides.row", s.b_strides.row), visit("b_strides.col", s.b_strides.col);
    visit("c_strides.row", s.c_strides.row), visit("c_strides.col", s.c_strides.col);
  }
  // The number of elements from the view's first to its last.
  std::int64_t span(const Strides& strides) const {
    return M == 0 || N == 0 ? 0 : (M - 1) * strides.row + (N - 1) * strides.col + 1;
  }
};

struct MatrixAddArgs : MatrixAddViews {
  static constexpr const char* kStorage = "fp32";
  const float* a = nullptr;  // (M, N) with a_strides
  const float* b = nullptr;  // (M, N) with b_strides
  float* c = nullptr;        // (M, N) with c_strides

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"element", s.span(s.a_strides)}});
    visit("b", s.b, {{"element", s.span(s.b_strides)}});
    visit("c", s.c, {{"element", s.span(s.c_strides)}});
  }
};

}  // namespace warmup
