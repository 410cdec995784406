// Tensor-core instructions give a plain matrix product in the documented layouts, and misuse is reported.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/cuda/tensor_core.hpp"
#include "device_vector.hpp"
#include "emulator/emulator.hpp"
#include "portable_kernels.hpp"

namespace {

using emulator::Schedule;
using namespace portable_kernels;

class TensorCore : public testing::Test {
 protected:
  void SetUp() override { emulator::reset(); }
  void TearDown() override { emulator::reset(); }
};

constexpr Schedule kSchedules[] = {
    {Schedule::forward, 0}, {Schedule::reverse, 0}, {Schedule::shuffle, 1}};

using Matrix = std::vector<float>;

// Small whole numbers: every sum is exact in any order.
Matrix whole_numbers(int size, unsigned seed) {
  std::mt19937 random(seed);
  Matrix matrix(static_cast<std::size_t>(size));
  for (float& x : matrix)
    x = static_cast<float>(static_cast<int>(random() % 33) - 16);
  return matrix;
}

Matrix ragged_numbers(int size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix matrix(static_cast<std::size_t>(size));
  for (float& x : matrix)
    x = normal(random) * std::exp2(static_cast<float>(random() % 17) - 8.0f);
  return matrix;
}

Matrix each(const Matrix& matrix, float (*change)(float)) {
  Matrix result;
  for (const float x : matrix)
    result.push_back(change(x));
  return result;
}

float as_bf16(float x) {
  return std::bit_cast<float>(emulator::pack_bf16(0.0f, x));
}
float as_tf32(float x) {
  return std::bit_cast<float>(emulator::to_tf32(x));
}

// d += a b, and the sum of what is added by magnitude: what errors are relative to.
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

TEST_F(TensorCore, ProductsOfWholeNumbersAreExactUnderEverySchedule) {
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    const Matrix d = whole_numbers(kRows * kColumns, 1);
    Matrix a = whole_numbers(kRows * kDepthBf16, 2), b = whole_numbers(kDepthBf16 * kColumns, 3);
    expect_near(product(multiply_bf16, d, a, b), plain_product(d, a, b, kColumns), 0);
    a.resize(kRows * kDepthTf32);
    b.resize(kDepthTf32 * kColumns);
    expect_near(product(multiply_tf32, d, a, b), plain_product(d, a, b, kColumns), 0);
    const Matrix zeros(16 * 16);
    a = whole_numbers(16 * 16, 4), b = whole_numbers(16 * 16, 5);
    expect_near(product(multiply_loaded, zeros, a, b), plain_product(zeros, a, b, 16), 0);
  }
}

TEST_F(TensorCore, RaggedNumbersAreRoundedAsOperandsAndSummedInFp32) {
  const Matrix d = ragged_numbers(kRows * kColumns, 1);
  Matrix a = ragged_numbers(kRows * kDepthBf16, 2), b = ragged_numbers(kDepthBf16 * kColumns, 3);
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  expect_near(product(multiply_bf16, d, a, b),
              plain_product(d, each(a, as_bf16), each(b, as_bf16), kColumns), 4 * kEpsilon);
  a.resize(kRows * kDepthTf32);
  b.resize(kDepthTf32 * kColumns);
  expect_near(product(multiply_tf32, d, a, b),
              plain_product(d, each(a, as_tf32), each(b, as_tf32), kColumns), 4 * kEpsilon);
}

// One element of A and of B at a time: exactly one element of D, wherever the three lie.
TEST_F(TensorCore, EveryElementIsWhereTheLayoutSays) {
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
  expect_one(multiply_bf16, kDepthBf16);
  expect_one(multiply_tf32, kDepthTf32);
}

TEST_F(TensorCore, NotANumberStaysInItsRow) {
  const Matrix d(kRows * kColumns);
  Matrix a(kRows * kDepthBf16, 1.0f);
  const Matrix b(kDepthBf16 * kColumns, 1.0f);
  a[3 * kDepthBf16 + 5] = std::numeric_limits<float>::quiet_NaN();
  const Matrix result = product(multiply_bf16, d, a, b);
  for (int i = 0; i < kRows * kColumns; ++i)
    EXPECT_EQ(std::isnan(result[static_cast<std::size_t>(i)]), i / kColumns == 3) << i;
}

TEST_F(TensorCore, LoadsGiveEachLaneItsElements) {
  std::vector<std::uint16_t> elements(32 * 8);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::uint16_t>(257 * i + 1);
  const DeviceVector<std::uint16_t> in(elements);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
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
}

TEST_F(TensorCore, OperandsAreRounded) {
  Matrix numbers = ragged_numbers(kRounded, 7);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Ties of tf32 (up to the larger magnitude) and of bf16 (to even), the largest numbers, denormal ones.
  const Matrix special = {0.0f,
                          -0.0f,
                          1.0f,
                          1.0f + 0x1p-11f,
                          1.0f + 3 * 0x1p-11f,
                          -1.0f - 0x1p-11f,
                          1.0f + 0x1p-11f - 0x1p-23f,
                          1.0f + 0x1p-8f,
                          1.0f + 3 * 0x1p-8f,
                          std::numeric_limits<float>::max(),
                          kInfinity,
                          -kInfinity,
                          0x1p-140f,
                          0x1p-149f};
  std::copy(special.begin(), special.end(), numbers.begin());
  const DeviceVector<float> in(numbers);
  const DeviceVector<std::uint32_t> tf32(kRounded), bf16(kRounded);
  round_tf32(tf32.data(), in.data());
  pack_with_negative(bf16.data(), in.data());
  const std::vector<std::uint32_t> rounded = tf32.host(), packed = bf16.host();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float x = numbers[i];
    if (std::isinf(x) || x == 0.0f) {
      EXPECT_EQ(rounded[i], std::bit_cast<std::uint32_t>(x));
    } else {
      const int exponent = std::max(std::ilogb(x), -126);
      const double step = std::ldexp(1.0, exponent - 10);
      const double nearest = std::copysign(std::floor(std::fabs(x) / step + 0.5) * step, x);
      EXPECT_EQ(std::bit_cast<float>(rounded[i]), static_cast<float>(nearest)) << x;
      EXPECT_EQ(rounded[i] & 0x1fffu, 0u);
    }
    const std::uint32_t low = packed[i] & 0xffffu;
    EXPECT_EQ(packed[i] >> 16, low ^ 0x8000u);
    EXPECT_EQ(low, emulator::detail::Bfloat16::encode(x)) << x;
  }
}

// --- misuse -----------------------------------------------------------------------------------------------------------

enum class Missing { kNobody, kInAnotherBranch, kReturned, kAtAnotherLine };

int product_line = 0;
__global__ void lanes_that_do_not_come(float* out, Missing missing) {
  const bool odd_one = blockIdx.x == 1 && threadIdx.x == 37;
  if (odd_one && missing == Missing::kReturned) return;
  float d[4] = {};
  const std::uint32_t a[4] = {}, b[2] = {};
  if (odd_one && missing == Missing::kInAnotherBranch) __syncwarp();
  if (odd_one && missing == Missing::kAtAnotherLine) {
    ladder::cuda::mma_bf16(d, a, b);
  } else {
    product_line = __LINE__ + 1;
    ladder::cuda::mma_bf16(d, a, b);
  }
  out[threadIdx.x] = d[0];
}

void expect_failure(const std::vector<std::string>& parts) {
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, cudaErrorLaunchFailure);
  const std::string text = cudaGetErrorString(error);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
}

std::string at_line(int line) {
  return "tensor_core_test.cu:" + std::to_string(line);
}

TEST_F(TensorCore, ALaneThatIsNotThereIsReported) {
  const DeviceVector<float> out(64);
  emulator::set_workers(1);  // both blocks write the line
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    lanes_that_do_not_come<<<2, 64>>>(out.data(), Missing::kNobody);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const std::vector<std::string> common = {"mma_bf16", "kernel lanes_that_do_not_come",
                                             "block (1, 0, 0)"};
    const auto report = [&](Missing missing, std::vector<std::string> parts) {
      lanes_that_do_not_come<<<2, 64>>>(out.data(), missing);
      parts.insert(parts.end(), common.begin(), common.end());
      parts.push_back(at_line(product_line));
      expect_failure(parts);
    };
    report(Missing::kInAnotherBranch, {"deadlock", "thread (37, 0, 0)"});
    report(Missing::kReturned, {"lane 5 has returned", "thread ("});
    report(Missing::kAtAnotherLine, {"at one place", at_line(product_line - 3), "thread ("});
  }
}

TEST_F(TensorCore, AWarpThatIsNotFullIsReported) {
  const DeviceVector<float> out(64);
  lanes_that_do_not_come<<<1, 60>>>(out.data(), Missing::kNobody);
  expect_failure({at_line(product_line), "lane 28 has returned or never was"});
}

int load_line = 0;
__global__ void loads_a_wrong_row(std::uint32_t* out, int offset, bool global) {
  __shared__ __align__(16) std::uint32_t rows[32][4];
  for (int i = 0; i < 4; ++i)
    rows[threadIdx.x][i] = threadIdx.x;
  __syncwarp();
  const std::uint32_t* row = rows[threadIdx.x];
  if (threadIdx.x == 9) row = (global ? out : row) + offset;
  std::uint32_t r[4];
  load_line = __LINE__ + 1;
  ladder::cuda::load_matrices(r, row);
  out[threadIdx.x] = r[0];
}

TEST_F(TensorCore, AWrongRowIsReported) {
  const DeviceVector<std::uint32_t> out(64);
  loads_a_wrong_row<<<1, 32>>>(out.data(), 0, false);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  loads_a_wrong_row<<<1, 32>>>(out.data(), 2, false);
  expect_failure({at_line(load_line), "load_matrices: the row is not aligned to 16 bytes",
                  "thread (9, 0, 0)"});
  loads_a_wrong_row<<<1, 32>>>(out.data(), 0, true);
  expect_failure({at_line(load_line), "load_matrices: the row is not in the block's shared memory",
                  "thread (9, 0, 0)"});
}

}  // namespace
