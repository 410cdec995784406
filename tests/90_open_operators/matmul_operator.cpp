// C = A B as defined for the tests, the ladder and the X-ray.
#include <cmath>

#include "common/core/bfloat16.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"
#include "tests/90_open_operators/matmul.hpp"

namespace ladder {

struct Matmul {
  static double fma_count(const MatmulArgs<float>& a) {
    return static_cast<double>(a.M) * static_cast<double>(a.N) * static_cast<double>(a.K);
  }

  static std::vector<Truth> truth(const Problem& problem, Arithmetic) {
    const auto& x = problem.args<MatmulArgs<float>>();
    const Matrix a = matrix_of(x.a, x.M, x.K), b = matrix_of(x.b, x.K, x.N);
    const Matrix c = product(a, b);
    const Matrix terms = product(a.cwiseAbs2(), b.cwiseAbs2()).cwiseSqrt();
    return {{{c.data(), c.data() + c.size()}, {terms.data(), terms.data() + terms.size()}}};
  }

  static double additions(const MatmulArgs<float>& a) { return static_cast<double>(a.K); }

  static std::string explain(const Problem& problem, const Parts& outputs) {
    const auto& x = problem.args<MatmulArgs<float>>();
    std::vector<double> late(outputs[0].truth->size());
    for (std::int64_t i = 0; i < x.M * x.N; ++i) {
      for (std::int64_t k = 0; k + 1 < x.K; ++k)
        late[i] += static_cast<double>(x.a[i / x.N * x.K + k]) * x.b[k * x.N + i % x.N];
    }
    return outputs[0].equals(late) ? "equals the product without the last k\n" : "";
  }
};

namespace {
const OperatorRegistration matmul_registration(
    with_types<Matmul, MatmulSizes, MatmulArgs<float>, MatmulArgs<float>, MatmulArgs<bfloat16>>({
        .name = "matmul",
        .fma_count = of_host(Matmul::fma_count),
        .truth = Matmul::truth,
        .additions = of_host(Matmul::additions),
        .explain = Matmul::explain,
    }));
}  // namespace

}  // namespace ladder
