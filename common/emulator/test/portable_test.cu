// Tensor-core instructions are plain matrix products in the documented layouts, here and on a GPU.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/core/float16.hpp"
#include "device_vector.hpp"
#include "matrices.hpp"
#include "portable_kernels.hpp"

namespace {

using namespace portable_kernels;

constexpr int kMost = 16;  // of whole numbers

Matrix each(const Matrix& matrix, float (*change)(float)) {
  Matrix result;
  for (const float x : matrix)
    result.push_back(change(x));
  return result;
}

// x rounded to this many bits after the point.
float rounded(float x, int bits, bool ties_to_even) {
  if (x == 0.0f || !std::isfinite(x)) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), -126) - bits);
  const double steps = std::fabs(x) / step;
  const double nearest = ties_to_even ? std::nearbyint(steps) : std::floor(steps + 0.5);
  return static_cast<float>(std::copysign(nearest * step, x));
}
float as_bf16(float x) {
  return rounded(x, 7, true);
}
float as_fp16(float x) {
  return ladder::to_float(ladder::to_float16(x));
}
float as_tf32(float x) {
  return rounded(x, 10, false);
}

// d += a b, and the same with absolute values, to which errors are relative.
struct Sums {
  std::vector<double> value, magnitude;
};
Sums plain_product(const Matrix& d, const Matrix& a, const Matrix& b, int columns) {
  const int depth = static_cast<int>(b.size()) / columns;
  Sums sums;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(columns);
    const std::size_t column = i % static_cast<std::size_t>(columns);
    double value = d[i], magnitude = std::fabs(value);
    for (int k = 0; k < depth; ++k) {
      const double product =
          double{a[row * static_cast<std::size_t>(depth) + static_cast<std::size_t>(k)]} *
          b[static_cast<std::size_t>(k * columns) + column];
      value += product;
      magnitude += std::fabs(product);
    }
    sums.value.push_back(value);
    sums.magnitude.push_back(magnitude);
  }
  return sums;
}

using Multiply = void (*)(float* d, const float* a, const float* b);

Matrix product(Multiply multiply, const Matrix& d, const Matrix& a, const Matrix& b) {
  const DeviceVector<float> on_device(d), of_a(a), of_b(b);
  multiply(on_device.data(), of_a.data(), of_b.data());
  return on_device.host();
}

void expect_near(const Matrix& result, const Sums& expected, double allowed) {
  for (std::size_t i = 0; i < result.size(); ++i)
    EXPECT_NEAR(result[i], expected.value[i], allowed * expected.magnitude[i]) << i;
}

TEST(TensorCore, ProductsOfWholeNumbersAreExact) {
  const Matrix d = whole_numbers(kRows * kColumns, 1, kMost);
  Matrix a = whole_numbers(kRows * kDepth16, 2, kMost),
         b = whole_numbers(kDepth16 * kColumns, 3, kMost);
  expect_near(product(multiply_bf16, d, a, b), plain_product(d, a, b, kColumns), 0);
  expect_near(product(multiply_fp16, d, a, b), plain_product(d, a, b, kColumns), 0);
  a.resize(kRows * kDepthTf32);
  b.resize(kDepthTf32 * kColumns);
  expect_near(product(multiply_tf32, d, a, b), plain_product(d, a, b, kColumns), 0);
  const Matrix zeros(16 * 16);
  a = whole_numbers(16 * 16, 4, kMost), b = whole_numbers(16 * 16, 5, kMost);
  expect_near(product(multiply_loaded, zeros, a, b), plain_product(zeros, a, b, 16), 0);
}

TEST(TensorCore, RaggedNumbersAreRoundedAsOperandsAndSummedInFp32) {
  const Matrix d = ragged_numbers(kRows * kColumns, 1);
  Matrix a = ragged_numbers(kRows * kDepth16, 2), b = ragged_numbers(kDepth16 * kColumns, 3);
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  expect_near(product(multiply_bf16, d, a, b),
              plain_product(d, each(a, as_bf16), each(b, as_bf16), kColumns), 4 * kEpsilon);
  expect_near(product(multiply_fp16, d, a, b),
              plain_product(d, each(a, as_fp16), each(b, as_fp16), kColumns), 4 * kEpsilon);
  a.resize(kRows * kDepthTf32);
  b.resize(kDepthTf32 * kColumns);
  expect_near(product(multiply_tf32, d, a, b),
              plain_product(d, each(a, as_tf32), each(b, as_tf32), kColumns), 4 * kEpsilon);
}

// One nonzero element in A and in B gives exactly one in D.
TEST(TensorCore, EveryElementIsWhereTheLayoutSays) {
  const auto expect_one = [](Multiply multiply, int depth) {
    const Matrix zeros(kRows * kColumns);
    for (int row = 0; row < kRows; ++row) {
      for (int k = 0; k < depth; ++k) {
        Matrix a(static_cast<std::size_t>(kRows * depth)),
            b(static_cast<std::size_t>(depth * kColumns));
        Matrix expected = zeros;
        const int column = (row + k) % kColumns;
        a[static_cast<std::size_t>(row * depth + k)] = 2.0f;
        b[static_cast<std::size_t>(k * kColumns + column)] = 3.0f;
        expected[static_cast<std::size_t>(row * kColumns + column)] = 6.0f;
        EXPECT_EQ(product(multiply, zeros, a, b), expected) << row << " " << k;
      }
    }
  };
  expect_one(multiply_bf16, kDepth16);
  expect_one(multiply_fp16, kDepth16);
  expect_one(multiply_tf32, kDepthTf32);
}

TEST(TensorCore, NotANumberStaysInItsRow) {
  const Matrix d(kRows * kColumns);
  Matrix a(kRows * kDepth16, 1.0f);
  const Matrix b(kDepth16 * kColumns, 1.0f);
  a[3 * kDepth16 + 5] = std::numeric_limits<float>::quiet_NaN();
  const Matrix result = product(multiply_bf16, d, a, b);
  for (int i = 0; i < kRows * kColumns; ++i)
    EXPECT_EQ(std::isnan(result[static_cast<std::size_t>(i)]), i / kColumns == 3) << i;
}

TEST(TensorCore, LoadsGiveEachLaneItsElements) {
  std::vector<std::uint16_t> elements(32 * 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::uint16_t>(257 * i + 1);
  const DeviceVector<std::uint16_t> in(elements);
  const DeviceVector<std::uint32_t> straight(32 * 4), transposed(32 * 4);
  load(straight.data(), in.data());
  load_transposed(transposed.data(), in.data());
  const std::vector<std::uint32_t> rows = straight.host(), columns = transposed.host();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = [&](std::size_t row, std::size_t column) -> std::uint32_t {
        return elements[(8 * i + row) * 8 + column];
      };
      const std::size_t one = lane / 4, two = lane % 4 * 2;
      EXPECT_EQ(rows[lane * 4 + i], at(one, two) | at(one, two + 1) << 16);
      EXPECT_EQ(columns[lane * 4 + i], at(two, one) | at(two + 1, one) << 16);
    }
  }
}

TEST(TensorCore, OperandsAreRounded) {
  Matrix numbers = ragged_numbers(kRounded, 7);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // tf32 ties (away from zero), bf16 and fp16 ties (to even), the largest numbers, denormal ones.
  const Matrix special = {0.0f,
                          -0.0f,
                          1.0f,
                          1.0f + 0x1p-11f,
                          1.0f + 3 * 0x1p-11f,
                          -1.0f - 0x1p-11f,
                          1.0f + 0x1p-11f - 0x1p-23f,
                          1.0f + 0x1p-8f,
                          1.0f + 3 * 0x1p-8f,
                          65520.0f,
                          3 * 0x1p-25f,
                          std::numeric_limits<float>::max(),
                          kInfinity,
                          -kInfinity,
                          0x1p-140f,
                          0x1p-149f};
  std::copy(special.begin(), special.end(), numbers.begin());
  const DeviceVector<float> in(numbers);
  const DeviceVector<std::uint32_t> tf32(kRounded), bf16(kRounded), fp16(kRounded);
  round_tf32(tf32.data(), in.data());
  pack_with_negative_bf16(bf16.data(), in.data());
  pack_with_negative_fp16(fp16.data(), in.data());
  const std::vector<std::uint32_t> tf32_bits = tf32.host(), bf16_bits = bf16.host();
  const std::vector<std::uint32_t> fp16_bits = fp16.host();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(tf32_bits[i], std::bit_cast<std::uint32_t>(as_tf32(numbers[i]))) << numbers[i];
    const auto expected = std::bit_cast<std::uint32_t>(as_bf16(numbers[i]));
    EXPECT_EQ(bf16_bits[i], expected >> 16 | (expected ^ 0x80000000u)) << numbers[i];
    const std::uint32_t half = ladder::to_float16(numbers[i]).bits;
    EXPECT_EQ(fp16_bits[i], half | (half ^ 0x8000u) << 16) << numbers[i];
  }
}

TEST(Portable, MoreThreadsThanLaunchBoundsAllowAreNotLaunched) {
  DeviceVector<int> count(std::vector<int>{0});
  count_threads(count.data(), kBoundThreads);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(count.host()[0], kBoundThreads);
  for (const int threads : {kBoundThreads + 1, 2 * kBoundThreads, 1024}) {
    count_threads(count.data(), threads);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue) << threads << " threads";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(count.host()[0], kBoundThreads) << "a refused launch has no effect";
  }
}

}  // namespace
