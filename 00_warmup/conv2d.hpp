// A convolution with a bias, for each of B images with C channels of H x W pixels. The weights of
// each of M channels of y are a window of KH x KW pixels of all channels of x, which moves over the
// image in steps of `stride`.
//
//     y(b, m, oy, ox) = bias(m) + sum over c, ky, kx of
//         weight(m, c, ky, kx) x(b, c, oy stride + ky - pad, ox stride + kx - pad)
//
// x is 0 out of bounds, and `pad` rows and columns on each side are used.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Conv2d;  // the operator, in conv2d_operator.cpp

struct Conv2dSizes {
  std::int64_t B = 2, M = 40, C = 5;  // images, channels of y, channels of x, 0 or more
  std::int64_t H = 14, W = 18;        // rows and columns of an image, 0 or more
  std::int64_t KH = 3, KW = 3;        // of the window, 1 or more
  std::int64_t stride = 1;            // 1 or more
  std::int64_t pad = 1;               // 0 or more

  // Rows and columns of y, which are positions of the window within the padded image.
  std::int64_t out_height() const { return places(H, KH); }
  std::int64_t out_width() const { return places(W, KW); }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("M", s.M, 0), visit("C", s.C, 0);
    visit("H", s.H, 0), visit("W", s.W, 0), visit("KH", s.KH, 1), visit("KW", s.KW, 1);
    visit("stride", s.stride, 1), visit("pad", s.pad, 0);
  }

 private:
  std::int64_t places(std::int64_t image, std::int64_t window) const {
    const std::int64_t moves = image + 2 * pad - window;
    return moves < 0 || stride < 1 ? 0 : moves / stride + 1;
  }
};

struct Conv2dArgs : Conv2dSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;       // (B, C, H, W)
  const float* weight = nullptr;  // (M, C, KH, KW)
  const float* bias = nullptr;    // (M)
  float* y = nullptr;             // (B, M, out_height(), out_width())

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"b", s.B}, {"c", s.C}, {"iy", s.H}, {"ix", s.W}});
    visit("weight", s.weight, {{"m", s.M}, {"c", s.C}, {"ky", s.KH}, {"kx", s.KW}});
    visit("bias", s.bias, {{"m", s.M}});
    visit("y", s.y, {{"b", s.B}, {"m", s.M}, {"oy", s.out_height()}, {"ox", s.out_width()}});
  }
};

}  // namespace warmup
