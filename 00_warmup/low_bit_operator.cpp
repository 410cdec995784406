// C = A W with weights of 8 or 4 bits as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "00_warmup/low_bit.hpp"
#include "common/core/generator.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

using ladder::Matrix;
using ladder::matrix_of;
using ladder::product;

template <int kBits>
struct LowBit {
  static constexpr const char* kName = kBits == 4 ? "int4_matmul" : "int8_matmul";
  using Args = LowBitArgs<kBits>;
  using Case = ladder::SizedCase<LowBitSizes>;

  static bool wants(const Case& c, const std::string& array) {
    return array != "zero" || !c.symmetric;
  }

  static double fma_count(const Args& x) {
    return static_cast<double>(x.M) * static_cast<double>(x.N) * static_cast<double>(x.K);
  }

  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const float magnitude = problem.as<Case>().magnitude;
    const float values_of_one = input == "zero" && kBits == 4 ? 16.0f : 256.0f;
    if (input == "a" || input == "scale") {
      for (float& x : problem[input])
        x = input == "scale" ? generator.uniform(0.5f, 1.5f)
                             : generator.uniform(-magnitude, magnitude);
    } else {
      for (std::uint8_t& x : problem.array<std::uint8_t>(input))
        x = static_cast<std::uint8_t>(
            std::min(generator.uniform(0.0f, values_of_one), values_of_one - 1));
    }
    return true;
  }

  // How a weight is read, correctly or with a misconception.
  struct Reading {
    bool high_first = false;  // the nibbles of a byte are swapped
    bool is_signed = false;   // q as a number with a sign
    // W of q, zero point and scale
    std::function<double(double, double, double)> value = [](double q, double zero, double scale) {
      return scale * (q - zero);
    };
    bool first_scale = false;  // group 0's scale for all
  };

  static double stored(const Args& x, std::int64_t k, std::int64_t n, const Reading& how) {
    int q = 0;
    if constexpr (kBits == 4) {
      const std::uint8_t byte = x.w[(k / kNibbles * x.N + n) * 4 + k % kNibbles / 2];
      q = (k % 2 == 1) != how.high_first ? byte >> 4 : byte & 15;
    } else {
      q = x.w[k * x.N + n];
    }
    const int half = 1 << (kBits - 1);
    return how.is_signed && q >= half ? q - 2 * half : q;
  }
  static Matrix weights(const Args& x, const Reading& how) {
    Matrix w(x.K, x.N);
    for (std::int64_t k = 0; k < x.K; ++k) {
      const std::int64_t group = k / x.GROUP, of_scale = how.first_scale ? 0 : group;
      for (std::int64_t n = 0; n < x.N; ++n) {
        const double zero = x.zero != nullptr ? x.zero[group * x.N + n] : 1 << (kBits - 1);
        w(k, n) = how.value(stored(x, k, n, how), zero, x.scale[of_scale * x.N + n]);
      }
    }
    return w;
  }
  static std::vector<double> values(const Matrix& c) { return {c.data(), c.data() + c.size()}; }
  static Matrix a_of(const Args& x) { return matrix_of(x.a, x.M, x.K); }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const Args& x = problem.args<Args>();
    const Matrix a = a_of(x), w = weights(x, {});
    return {{values(product(a, w)), values(product(a.cwiseAbs2(), squares(x, w)).cwiseSqrt())}};
  }

  // The squares of a weight's terms. In four bits a kernel may sum a q and zero a separately, and
  // subtract them at the end.
  static Matrix squares(const Args& x, const Matrix& w) {
    if constexpr (kBits == 8) return w.cwiseAbs2();
    const auto of = [&](const auto& value) -> Matrix {
      return weights(x, {.value = value}).cwiseAbs2();
    };
    return of([](double q, double, double scale) { return scale * q; }) +
           of([](double, double zero, double scale) { return scale * zero; });
  }

  static double additions(const Args& x) { return static_cast<double>(x.K) + 1; }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const Args& x = problem.args<Args>();
    if (x.M * x.N * x.K == 0) return "";
    const Matrix a = a_of(x);
    const auto equals = [&](const Matrix& c) { return outputs[0].equals(values(c)); };
    const std::pair<const char*, Reading> readings[] = {
        {"equals the product without zero points",
         {.value = [](double q, double, double scale) { return scale * q; }}},
        {"equals the product with zero points added, not subtracted",
         {.value = [](double q, double zero, double scale) { return scale * (q + zero); }}},
        {"equals the product with the zero point subtracted after scaling: s q - z",
         {.value = [](double q, double zero, double scale) { return scale * q - zero; }}},
        {"equals the product without scales",
         {.value = [](double q, double zero, double) { return q - zero; }}},
        {"equals the product with every scale taken twice",
         {.value = [](double q, double zero, double s) { return s * s * (q - zero); }}},
        {"equals the product with the high four bits of each byte first", {.high_first = true}},
        {"equals the product with weights read as numbers with a sign", {.is_signed = true}},
        {"equals the product with the scale of the first group for all", {.first_scale = true}},
    };
    for (const auto& [words, how] : readings) {
      if (equals(product(a, weights(x, how)))) return std::string(words) + "\n";
    }
    const Matrix w = weights(x, {});
    const auto part = [&](std::int64_t first, std::int64_t end) {
      return product(a.middleCols(first, end - first), w.middleRows(first, end - first));
    };
    for (std::int64_t depth = 8; depth < x.K; depth *= 2) {
      const std::int64_t last = (x.K - 1) / depth * depth;
      if (equals(part(0, depth)))
        return "equals the product of the first part of K alone, k below " + std::to_string(depth) +
               "\n";
      if (equals(part(last, x.K)))
        return "equals the product of the last part of K alone, k from " + std::to_string(last) +
               " on\n";
      if (equals(part(0, last)))
        return "equals the product without the last part of K, k from " + std::to_string(last) +
               " on\n";
    }
    return "";
  }
};

template <int kBits>
ladder::Operator low_bit_matmul() {
  using Op = LowBit<kBits>;
  using Args = LowBitArgs<kBits>;
  return ladder::with_types<Op, LowBitSizes, Args, Args>({
      .name = Op::kName,
      .fma_count = ladder::of_host(Op::fma_count),
      .truth = Op::truth,
      .additions = ladder::of_host(Op::additions),
      .draw_input = Op::draw,
      .wants = ladder::of_case(Op::wants),
      .explain = Op::explain,
  });
}

const ladder::OperatorRegistration int8_registration(low_bit_matmul<8>());
const ladder::OperatorRegistration int4_registration(low_bit_matmul<4>());

}  // namespace warmup
