// The batched matrix product with one left matrix as an operator, for the tests, the ladder and the
// X-ray.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "00_warmup/18b_shared_a/shared_a.hpp"
#include "00_warmup/known_part.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

using ladder::Matrix;
using ladder::matrix_of;
using ladder::product;

struct SharedAMatmul {
  using Case = ladder::SizedCase<SharedAMatmulSizes>;
  static bool wants(const Case& c, const std::string& array) {
    return array != "bias" || c.with_bias;
  }

  static double fma_count(const SharedAMatmulArgs& x) {
    return static_cast<double>(x.B) * static_cast<double>(x.M) * static_cast<double>(x.N) *
           static_cast<double>(x.K);
  }

  static double additions(const SharedAMatmulArgs& x) { return static_cast<double>(x.K) + 1; }

  using Index = std::function<std::int64_t(std::int64_t)>;

  // The results if batch i had a b that begins at place(i), and bias(i, n) were added.
  template <typename Bias>
  static std::vector<double> results(const SharedAMatmulArgs& x, const Index& place,
                                     const Bias& bias) {
    std::vector<double> c;
    const Matrix a = matrix_of(x.a, x.M, x.K);
    for (std::int64_t batch = 0; batch < x.B; ++batch) {
      Matrix b = Matrix::Zero(x.K, x.N);
      for (std::int64_t i = 0; i < b.size(); ++i) {
        const std::int64_t at = place(batch) + i;
        b.data()[i] = at < x.B * x.K * x.N ? x.b[at] : NAN;
      }
      const Matrix ab = product(a, b);
      for (std::int64_t i = 0; i < ab.size(); ++i)
        c.push_back(ab.data()[i] + bias(batch, i % x.N));
    }
    return c;
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const SharedAMatmulArgs& x = problem.args<SharedAMatmulArgs>();
    const auto bias = [&](std::int64_t batch, std::int64_t) {
      return x.bias == nullptr ? 0.0 : x.bias[batch];
    };
    ladder::Truth c{results(
        x, [&](std::int64_t batch) { return batch * x.K * x.N; }, bias)};
    const Matrix a = matrix_of(x.a, x.M, x.K).cwiseAbs2();
    for (std::int64_t batch = 0; batch < x.B; ++batch) {
      const Matrix b = matrix_of(x.b + batch * x.K * x.N, x.K, x.N).cwiseAbs2();
      const Matrix squares = product(a, b).array() + bias(batch, 0) * bias(batch, 0);
      for (std::int64_t i = 0; i < squares.size(); ++i)
        c.terms.push_back(std::sqrt(squares.data()[i]));
    }
    return {c};
  }

  // Wrong answers are computed only after a failure, and for the small shapes of tests.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const SharedAMatmulArgs& x = problem.args<SharedAMatmulArgs>();
    const std::vector<double>& right = *outputs[0].truth;
    if (right.empty()) return "";
    const auto only_where = [&](const std::function<bool(std::int64_t, std::int64_t)>& written) {
      std::vector<double> others_missing = right;
      for (std::int64_t i = 0; i < x.B * x.M * x.N; ++i)
        if (!written(i / (x.M * x.N), i % x.N)) others_missing[i] = NAN;
      return outputs[0].equals(others_missing);
    };
    if (only_where([&](std::int64_t batch, std::int64_t n) {
          return batch * x.N + n < (x.N + 31) / 32 * 32;
        }))
      return "only as many tiles of columns were written as one batch has\n";
    if (only_where([](std::int64_t batch, std::int64_t) { return batch == 0; }))
      return "only the first batch was written\n";

    const auto bias = [&](std::int64_t batch, std::int64_t) {
      return x.bias == nullptr ? 0.0 : x.bias[batch];
    };
    const auto batch_at = [&](const Index& place) {
      return equals_where_known(outputs[0], results(x, place, bias));
    };
    if (x.B > 1 && x.K > 0) {
      if (batch_at([&](std::int64_t i) { return i + x.K * x.N; }))
        return "equals the product with b's batch at batch + K N, should be batch * K N: the index "
               "is added to the stride\n";
      if (batch_at([](std::int64_t) { return 0; }))
        return "equals the product with the first batch's b for every batch\n";
      if (batch_at([&](std::int64_t i) { return i * x.N; }))
        return "equals the product with b's batch at batch * N, should be batch * K N: the stride "
               "of a row\n";
      if (batch_at([&](std::int64_t i) { return i * x.M * x.N; }))
        return "equals the product with b's batch at batch * M N, should be batch * K N: c's "
               "stride\n";
    }
    if (x.bias == nullptr) return "";
    const Index place = [&](std::int64_t batch) { return batch * x.K * x.N; };
    const auto with_bias = [&](const auto& other) {
      return equals_where_known(outputs[0], results(x, place, other));
    };
    if (with_bias([](std::int64_t, std::int64_t) { return 0.0; }))
      return "equals the product without the bias\n";
    if (with_bias([&](std::int64_t, std::int64_t n) { return n < x.B ? x.bias[n] : NAN; }))
      return "equals the product with bias[n] in the place of bias[batch]: a bias by column\n";
    return "";
  }
};

const ladder::OperatorRegistration shared_a_operator_registration(
    ladder::with_types<SharedAMatmul, SharedAMatmulSizes, SharedAMatmulArgs, SharedAMatmulArgs>({
        .name = "shared_a_matmul",
        .fma_count = ladder::of_host(SharedAMatmul::fma_count),
        .truth = SharedAMatmul::truth,
        .additions = ladder::of_host(SharedAMatmul::additions),
        .wants = ladder::of_case(SharedAMatmul::wants),
        .explain = SharedAMatmul::explain,
    }));

}  // namespace warmup
