// Compares the 16-bit types with a slow reference, the nearest of all 65536 numbers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "device_vector.hpp"
#include "portable_kernels.hpp"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct HalfCase {
  using Type = __half;
  using Pair = __half2;
  static constexpr int kMantissa = 10, kExponent = 5;
  static Type from_bits(unsigned bits) {
    return __ushort_as_half(static_cast<unsigned short>(bits));
  }
  static unsigned bits(Type value) { return __half_as_ushort(value); }
  static Type from_float(float value) { return __float2half_rn(value); }
  static float to_float(Type value) { return __half2float(value); }
};
struct Bfloat16Case {
  using Type = __nv_bfloat16;
  using Pair = __nv_bfloat162;
  static constexpr int kMantissa = 7, kExponent = 8;
  static Type from_bits(unsigned bits) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(bits));
  }
  static unsigned bits(Type value) { return __bfloat16_as_ushort(value); }
  static Type from_float(float value) { return __float2bfloat16(value); }
  static float to_float(Type value) { return __bfloat162float(value); }
};

template <typename Case>
class Float16 : public testing::Test {
 protected:
  static constexpr unsigned kInfinityBits = ((1u << Case::kExponent) - 1) << Case::kMantissa;

  // The format's definition. The number after the largest one is where rounding to infinity begins.
  static long double value_of(unsigned magnitude) {
    const int bias = (1 << (Case::kExponent - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> Case::kMantissa);
    const unsigned mantissa = magnitude & ((1u << Case::kMantissa) - 1);
    return exponent == 0
               ? std::ldexp(static_cast<long double>(mantissa), 1 - bias - Case::kMantissa)
               : std::ldexp(static_cast<long double>(mantissa + (1u << Case::kMantissa)),
                            exponent - bias - Case::kMantissa);
  }

  static unsigned nearest(long double value) {
    if (std::isnan(value)) return 0x7fff;
    const unsigned sign = std::signbit(value) ? 0x8000 : 0;
    const long double magnitude = std::fabs(value);
    unsigned below = 0, above = kInfinityBits;
    if (magnitude >= value_of(above)) return sign | above;
    while (above - below > 1) {
      const unsigned middle = (below + above) / 2;
      (value_of(middle) <= magnitude ? below : above) = middle;
    }
    const long double to_below = magnitude - value_of(below);
    const long double to_above = value_of(above) - magnitude;
    if (to_below != to_above) return sign | (to_below < to_above ? below : above);
    return sign | (below % 2 == 0 ? below : above);
  }

  static void expect_rounded(float value) {
    EXPECT_EQ(Case::bits(Case::from_float(value)), nearest(value)) << value;
  }
};

using Cases = testing::Types<HalfCase, Bfloat16Case>;
TYPED_TEST_SUITE(Float16, Cases);

TYPED_TEST(Float16, LayoutIsTheToolkits) {
  using Type = typename TypeParam::Type;
  using Pair = typename TypeParam::Pair;
  static_assert(sizeof(Type) == 2 && alignof(Type) == 2);
  static_assert(sizeof(Pair) == 4 && alignof(Pair) == 4);
  static_assert(std::is_trivially_copyable_v<Type> && std::is_trivially_copyable_v<Pair>);
  static_assert(std::is_trivially_default_constructible_v<Pair>);
  const Pair pair(TypeParam::from_bits(0x1234), TypeParam::from_bits(0x5678));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(pair), 0x56781234u);
}

TYPED_TEST(Float16, EveryPatternIsItsNumberAndComesBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const unsigned magnitude = bits & 0x7fff;
    const float value = TypeParam::to_float(TypeParam::from_bits(bits));
    if (magnitude > this->kInfinityBits) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(TypeParam::bits(TypeParam::from_float(value)), 0x7fffu) << bits;
      continue;
    }
    const long double expected =
        magnitude == this->kInfinityBits ? kInfinity : this->value_of(magnitude);
    ASSERT_EQ(value, bits >= 0x8000 ? -expected : expected) << bits;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    ASSERT_EQ(TypeParam::bits(TypeParam::from_float(value)), bits);
  }
}

TYPED_TEST(Float16, TiesGoToEvenAndTheirNeighboursDoNot) {
  for (unsigned bits = 0; bits < this->kInfinityBits; ++bits) {
    const auto tie = static_cast<float>((this->value_of(bits) + this->value_of(bits + 1)) / 2);
    for (const float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, kInfinity)}) {
      this->expect_rounded(value);
      this->expect_rounded(-value);
    }
  }
}

TYPED_TEST(Float16, RoundsAnyFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 300000; ++i)
    this->expect_rounded(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (const float value :
       {0.0f, -0.0f, kInfinity, -kInfinity, kNan, -kNan, std::numeric_limits<float>::max(),
        std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min(), 65504.0f,
        65519.0f, 65520.0f, 65536.0f}) {
    this->expect_rounded(value);
  }
}

TYPED_TEST(Float16, ArithmeticIsRoundedOnce) {
  std::mt19937 random(2);
  for (int i = 0; i < 300000; ++i) {
    const auto a = TypeParam::from_bits(random() & 0xffff);
    // b has nearly a's size, so that the last bits matter.
    const auto b = TypeParam::from_bits((TypeParam::bits(a) + random() % 4096) & 0xffff);
    const double x = TypeParam::to_float(a), y = TypeParam::to_float(b);
    const auto expect = [&](typename TypeParam::Type result, double exact) {
      ASSERT_EQ(TypeParam::bits(result), this->nearest(exact)) << x << " " << y;
    };
    expect(a + b, x + y);
    expect(a - b, x - y);
    expect(a * b, x * y);
    expect(a / b, x / y);
    expect(__hadd(a, b), x + y);
    expect(__hmul(a, b), x * y);
    EXPECT_EQ(a < b, x < y);
    EXPECT_EQ(a >= b, x >= y);
    EXPECT_EQ(a == b, x == y);
    EXPECT_EQ(a != b, x != y);
  }
}

TYPED_TEST(Float16, FusedMultiplyAddRoundsOnce) {
  using Type = typename TypeParam::Type;
  const float step = std::ldexp(1.0f, -TypeParam::kMantissa);
  std::mt19937 random(3);
  const auto any = [&] {  // multiples of a step in (-4, 4), whose product and sum a double holds
    const int limit = 4 << TypeParam::kMantissa;
    return Type(static_cast<float>(static_cast<int>(random() % (2 * limit)) - limit) * step);
  };
  for (int i = 0; i < 300000; ++i) {
    const Type a = any(), b = any(), c = any();
    const double exact = double{a} * double{b} + double{c};
    ASSERT_EQ(TypeParam::bits(__hfma(a, b, c)), this->nearest(exact)) << a << " " << b << " " << c;
  }
  // 1.5 (1 + step) is a tie that the smallest number resolves. For bfloat16 no double shows it.
  const Type a(1.5f), b(1.0f + step);
  EXPECT_EQ(float{__hfma(a, b, TypeParam::from_bits(0x0001))}, 1.5f + 2 * step);
  EXPECT_EQ(float{__hfma(a, b, TypeParam::from_bits(0x8001))}, 1.5f + step);
  EXPECT_EQ(float{__hfma(a, b, Type(0.0f))}, 1.5f + 2 * step);
  EXPECT_EQ(TypeParam::bits(__hfma(TypeParam::from_float(kInfinity), a, -b)), this->kInfinityBits);
  EXPECT_EQ(TypeParam::bits(__hfma(TypeParam::from_float(kInfinity), Type(0.0f), b)), 0x7fffu);
}

TEST(Float16Kernels, TypicalIdiomsRun) {
  std::vector<float> numbers, expected;
  for (int i = 0; i < 128; ++i) {
    const float x = static_cast<float>(i % 64) / 8 - 4;
    numbers.push_back(x);
    expected.push_back(x * x + 2 * x);
  }
  const DeviceVector<float> in(numbers), out(128);
  portable_kernels::square_plus_twice_half(out.data(), in.data());
  EXPECT_EQ(out.host(), expected);
  portable_kernels::square_plus_twice_bfloat16(out.data(), in.data());
  ASSERT_EQ(out.host().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(out.host()[i], expected[i], std::fabs(expected[i]) / 256);
}

TEST(Float16Kernels, EveryNameIsThere) {
  const std::vector<float> ones(portable_kernels::kResults, 1.0f);
  const DeviceVector<float> out(portable_kernels::kResults);
  portable_kernels::every_name_half(out.data());
  EXPECT_EQ(out.host(), ones);
  portable_kernels::every_name_bfloat16(out.data());
  EXPECT_EQ(out.host(), ones);
}

}  // namespace
