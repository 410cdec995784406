// The product with a 4-bit matrix as defined for the tests, the ladder and the X-ray. On the host,
// codes are integers, and they are packed only for storage.
#include <cmath>

#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"
#include "tests/90_open_operators/matmul_int4.hpp"

namespace ladder {
struct MatmulInt4Host : MatmulInt4Sizes {
  const float* a = nullptr;            // (M, K)
  const std::int32_t* code = nullptr;  // (K, N)
  const float* scale = nullptr;        // (K / 32, N)
  const std::int32_t* zero = nullptr;  // (K / 32, N)
  float* c = nullptr;                  // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("code", s.code, {{"k", s.K}, {"n", s.N}});
    visit("scale", s.scale, {{"group", s.K / kInt4Group}, {"n", s.N}});
    visit("zero", s.zero, {{"group", s.K / kInt4Group}, {"n", s.N}});
    visit("c", s.c, {{"m", s.M}, {"n", s.N}});
  }
  float b(std::int64_t k, std::int64_t n) const {
    const std::int64_t group = k / kInt4Group * N + n;
    return scale[group] * static_cast<float>(code[k * N + n] - zero[group]);
  }
};

struct MatmulInt4 {
  using Case = SizedCase<MatmulInt4Sizes>;
  using Host = MatmulInt4Host;

  static Struct case_of(const Struct& any) {
    const auto& sizes = any.as<MatmulInt4Sizes>();
    require(sizes.K % kInt4Group == 0,
            "K is " + std::to_string(sizes.K) + "; allowed: multiples of 32");
    Case c{sizes};
    c.precision = MatmulInt4Args::kStorage;
    return Struct(c);
  }
  static bool draw(Problem& problem, const std::string& input, Generator& generator) {
    if (input != "code" && input != "zero") return false;
    for (std::int32_t& code : problem.array<std::int32_t>(input))
      code = static_cast<std::int32_t>(generator.uniform(0.0f, 15.999f));
    return true;
  }
  static bool store(const Problem& problem, const Struct& args, const ListedArray& stored,
                    void* elements) {
    const Host host = problem.args<Host>();
    const std::int64_t N = args.as<MatmulInt4Args>().N;
    auto* const packed = static_cast<std::uint32_t*>(elements);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(stored.elements()); ++i) {
      packed[i] = 0;
      for (std::int64_t j = 0; j < 8; ++j)
        packed[i] |= static_cast<std::uint32_t>(host.code[(i / N * 8 + j) * N + i % N]) << (4 * j);
    }
    return true;
  }

  static double fma_count(const Host& a) {
    return static_cast<double>(a.M) * static_cast<double>(a.N) * static_cast<double>(a.K);
  }
  // The sum, the difference to the zero point and the product with the scale.
  static double additions(const Host& a) { return static_cast<double>(a.K) + 2; }
  static std::vector<Truth> truth(const Problem& problem, Arithmetic) {
    const Host& x = problem.args<MatmulInt4Host>();
    const auto elements = static_cast<std::size_t>(x.M * x.N);
    Truth c{std::vector<double>(elements), std::vector<double>(elements)};
    for (std::int64_t i = 0; i < x.M * x.N; ++i) {
      for (std::int64_t k = 0; k < x.K; ++k) {
        const double term = static_cast<double>(x.a[i / x.N * x.K + k]) * x.b(k, i % x.N);
        c.values[i] += term;
        c.terms[i] += term * term;
      }
      c.terms[i] = std::sqrt(c.terms[i]);
    }
    return {c};
  }
};

namespace {
const OperatorRegistration matmul_int4_registration(
    with_types<MatmulInt4, MatmulInt4Sizes, MatmulInt4Host, MatmulInt4Args>({
        .name = "matmul_int4",
        .case_with = MatmulInt4::case_of,
        .fma_count = of_host(MatmulInt4::fma_count),
        .truth = MatmulInt4::truth,
        .additions = of_host(MatmulInt4::additions),
        .draw_input = MatmulInt4::draw,
        .store = MatmulInt4::store,
    }));
}  // namespace

}  // namespace ladder
