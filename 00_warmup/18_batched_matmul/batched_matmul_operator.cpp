// The batched matrix product as an operator, for the tests, the ladder and the X-ray.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "00_warmup/18_batched_matmul/batched_matmul.hpp"
#include "00_warmup/known_part.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

using ladder::Matrix;
using ladder::matrix_of;
using ladder::product;

struct BatchedMatmul {
  using Case = ladder::SizedCase<BatchedMatmulSizes>;
  static bool wants(const Case& c, const std::string& array) {
    return array != "bias" || c.with_bias;
  }

  static double fma_count(const BatchedMatmulArgs& x) {
    return static_cast<double>(x.B) * static_cast<double>(x.M) * static_cast<double>(x.N) *
           static_cast<double>(x.K);
  }

  // GELU rounds four times.
  static double additions(const BatchedMatmulArgs& x) { return static_cast<double>(x.K) + 5; }

  static double gelu(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }

  static Matrix with_bias(const BatchedMatmulArgs& x, Matrix c) {
    if (x.bias != nullptr) c.rowwise() += matrix_of(x.bias, 1, x.N).row(0);
    return c;
  }
  static Matrix finished(const BatchedMatmulArgs& x, const Matrix& c) {
    return x.gelu ? Matrix(with_bias(x, c).unaryExpr(&gelu)) : with_bias(x, c);
  }
  static std::vector<double> values(const Matrix& c) { return {c.data(), c.data() + c.size()}; }

  // The batches' rows, one below the other, because all are multiplied by the same b.
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const BatchedMatmulArgs& x = problem.args<BatchedMatmulArgs>();
    const Matrix a = matrix_of(x.a, x.B * x.M, x.K), b = matrix_of(x.b, x.K, x.N);
    Matrix squares = product(a.cwiseAbs2(), b.cwiseAbs2());
    if (x.bias != nullptr) squares.rowwise() += matrix_of(x.bias, 1, x.N).cwiseAbs2().row(0);
    return {{values(finished(x, product(a, b))), values(squares.cwiseSqrt())}};
  }

  // Wrong answers are computed only after a failure, and for the small shapes of tests.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const BatchedMatmulArgs& x = problem.args<BatchedMatmulArgs>();
    const std::vector<double>& right = *outputs[0].truth;
    if (right.empty()) return "";
    const auto equals = [&](const Matrix& c) { return equals_where_known(outputs[0], values(c)); };
    const auto only_where = [&](const std::function<bool(std::int64_t, std::int64_t)>& written) {
      std::vector<double> others_missing = right;
      for (std::int64_t i = 0; i < x.B * x.M * x.N; ++i)
        if (!written(i / x.N, i % x.N)) others_missing[i] = NAN;
      return outputs[0].equals(others_missing);
    };
    if (only_where([&](std::int64_t row, std::int64_t) { return row < x.M; }))
      return "only the first batch was written\n";
    if (only_where([&](std::int64_t row, std::int64_t n) { return row % x.M < x.N && n < x.M; }))
      return "was written only where m < N and n < M: the mask has M and N exchanged\n";

    const Matrix b = matrix_of(x.b, x.K, x.N);
    // Row m of batch i begins at place(i) + m * K.
    const auto with_batches_at = [&](const std::function<std::int64_t(std::int64_t)>& place) {
      Matrix a = Matrix::Zero(x.B * x.M, x.K);
      for (std::int64_t i = 0; i < a.size(); ++i) {
        const std::int64_t at = place(i / (x.M * x.K)) + i % (x.M * x.K);
        a.data()[i] = at < a.size() ? x.a[at] : NAN;
      }
      return finished(x, product(a, b));
    };
    if (x.B > 1 && x.K > 0) {
      if (equals(with_batches_at([&](std::int64_t i) { return i + x.M * x.K; })))
        return "equals the product with a's batch at batch + M K, should be batch * M K: the index "
               "is added to the stride\n";
      if (equals(with_batches_at([](std::int64_t) { return 0; })))
        return "equals the product with the first batch's a for every batch\n";
      if (equals(with_batches_at([&](std::int64_t i) { return i * x.M * x.N; })))
        return "equals the product with a's batch at batch * M N, should be batch * M K\n";
      if (equals(with_batches_at([&](std::int64_t i) { return i * x.K; })))
        return "equals the product with a's batch at batch * K, should be batch * M K: the stride "
               "of a row\n";
    }
    const Matrix ab = product(matrix_of(x.a, x.B * x.M, x.K), b);
    const auto with = [&](double (*act)(double)) {
      return Matrix(with_bias(x, ab).unaryExpr(act));
    };
    const bool activates_first =
        x.gelu && x.bias != nullptr && equals(with_bias(x, ab.unaryExpr(&gelu)));
    if (x.gelu) {
      if (equals(with_bias(x, ab)))  // the two are equal for K = 0
        return activates_first
                   ? "equals the product without the activation, or with it before the bias\n"
                   : "equals the product without the activation\n";
      if (equals(with([](double s) { return s > 0 ? s : 0; })))
        return "equals the product with ReLU in the place of GELU\n";
      if (equals(with([](double s) { return 2 * gelu(s); })))
        return "equals the product with x (1 + erf) in the place of x (1 + erf) / 2\n";
      if (equals(with([](double s) { return 0.5 * s * (1 + std::erf(s)); })))
        return "equals the product with erf(x) in the place of erf(x / sqrt(2))\n";
      if (equals(with([](double s) {
            return 0.5 * s * (1 + std::tanh(std::sqrt(M_2_PI) * (s + 0.044715 * s * s * s)));
          })))
        return "equals the product with the approximation of GELU by tanh\n";
    }
    if (x.bias != nullptr) {
      BatchedMatmulArgs without = x;
      without.bias = nullptr;
      if (equals(finished(without, ab))) return "equals the product without the bias\n";
      if (activates_first)
        return "equals act(a b) + bias: the bias is added after the activation\n";
      Matrix by_row = ab, by_batch = ab;
      for (std::int64_t row = 0; row < ab.rows(); ++row) {
        by_row.row(row).array() += row % x.M < x.N ? x.bias[row % x.M] : NAN;
        by_batch.row(row).array() += row / x.M < x.N ? x.bias[row / x.M] : NAN;
      }
      if (equals(finished(without, by_row)))
        return "equals the product with bias[m] in the place of bias[n]: a bias by row\n";
      if (equals(finished(without, by_batch)))
        return "equals the product with bias[batch] in the place of bias[n]: a bias by batch\n";
    }
    return "";
  }
};

const ladder::OperatorRegistration batched_matmul_operator_registration(
    ladder::with_types<BatchedMatmul, BatchedMatmulSizes, BatchedMatmulArgs, BatchedMatmulArgs>({
        .name = "batched_matmul",
        .fma_count = ladder::of_host(BatchedMatmul::fma_count),
        .truth = BatchedMatmul::truth,
        .additions = ladder::of_host(BatchedMatmul::additions),
        .wants = ladder::of_case(BatchedMatmul::wants),
        .explain = BatchedMatmul::explain,
    }));

}  // namespace warmup
