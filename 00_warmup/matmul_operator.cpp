// C = act(A B + bias) as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <utility>

#include "00_warmup/matmul.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

using ladder::Matrix;
using ladder::matrix_of;
using ladder::product;

struct Matmul {
  using Case = ladder::SizedCase<MatmulSizes>;
  static constexpr std::int64_t kDepths[] = {8, 16, 32, 64};  // of the lessons' tiles

  static bool wants(const Case& c, const std::string& array) {
    return array != "bias" || c.with_bias;
  }

  static double fma_count(const MatmulArgs& x) {
    return static_cast<double>(x.M) * static_cast<double>(x.N) * static_cast<double>(x.K);
  }

  static Matrix finished(const MatmulArgs& x, Matrix c) {
    if (x.bias != nullptr) c.rowwise() += matrix_of(x.bias, 1, x.N).row(0);
    if (x.relu) c = c.cwiseMax(0.0);
    return c;
  }
  static std::vector<double> values(const Matrix& c) { return {c.data(), c.data() + c.size()}; }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const MatmulArgs& x = problem.args<MatmulArgs>();
    const Matrix a = matrix_of(x.a, x.M, x.K), b = matrix_of(x.b, x.K, x.N);
    Matrix squares = product(a.cwiseAbs2(), b.cwiseAbs2());
    if (x.bias != nullptr) squares.rowwise() += matrix_of(x.bias, 1, x.N).cwiseAbs2().row(0);
    return {{values(finished(x, product(a, b))), values(squares.cwiseSqrt())}};
  }

  static double additions(const MatmulArgs& x) { return static_cast<double>(x.K) + 1; }

  // Wrong answers are computed only after a failure, and for the small shapes of tests.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const MatmulArgs& x = problem.args<MatmulArgs>();
    if (x.M * x.N == 0) return "";
    if (is_square_alone(x, *outputs[0].result, *outputs[0].truth))
      return "was written only where m < N and n < M: the mask has M and N exchanged\n";
    if (x.K == 0) return "";
    const Matrix a = matrix_of(x.a, x.M, x.K), b = matrix_of(x.b, x.K, x.N);
    const Matrix ab = product(a, b);
    const auto equals = [&](const Matrix& c) { return outputs[0].equals(values(c)); };
    const auto with_first = [&](std::int64_t terms) {
      return finished(x, product(a.leftCols(terms), b.topRows(terms)));
    };

    if (x.K > 1 && equals(with_first(x.K - 1))) return "equals the product without the last k\n";
    for (const std::int64_t depth : kDepths) {
      const std::int64_t last = (x.K - 1) / depth * depth;  // where the last tile begins
      if (last == 0) continue;
      const std::int64_t tail = x.K - last;
      if (equals(with_first(last))) return "equals the product without the last tile of K\n";
      if (last > depth && equals(with_first(last - depth)))
        return "equals the product without the last two tiles of K\n";
      if (equals(finished(x, product(a.rightCols(tail), b.bottomRows(tail)))))
        return "equals the product of the last tile of K alone: the sum begins anew\n";
      Matrix even = Matrix::Zero(x.M, x.N);  // the first of two tiles, twice
      for (std::int64_t k = 0; k < x.K; k += depth) {
        const std::int64_t from = k / depth / 2 * 2 * depth, count = std::min(depth, x.K - from);
        even += product(a.middleCols(from, count), b.middleRows(from, count));
      }
      if (equals(finished(x, even)))
        return "equals the product with every second tile of K replaced by the one before it\n";
      if (equals(finished(x, overwritten(x, a, b, depth))))
        return "equals the product with tiles overwritten while later threads still read them: a "
               "barrier is missing\n";
    }
    for (const std::int64_t depth : kDepths) {
      const std::int64_t beyond = (x.K + depth - 1) / depth * depth - x.K;
      const Matrix last = product(a.rightCols(1), b.bottomRows(1));
      if (beyond > 0 && equals(finished(x, ab + static_cast<double>(beyond) * last)))
        return "equals the product with the last k again and again: the tail of K is not zero\n";
    }
    const Matrix b_transposed = matrix_of(x.b, x.N, x.K).transpose();
    if (x.N > 1 && x.K > 1 && equals(finished(x, product(a, b_transposed))))
      return "equals the product with B read as if it were transposed\n";
    if (const std::string found = explain_register_blocks(x, a, b, equals); !found.empty())
      return found;
    if (const std::string found = explain_fragments(x, a, b, ab, equals); !found.empty())
      return found;
    if (x.bias != nullptr && x.relu &&
        equals(ab.cwiseMax(0.0).rowwise() + matrix_of(x.bias, 1, x.N).row(0)))
      return "equals act(A B) + bias: the bias is added after the activation\n";
    if (x.bias != nullptr && x.M <= x.N) {
      Matrix by_row = ab;
      by_row.colwise() += matrix_of(x.bias, 1, x.N).row(0).head(x.M).transpose();
      if (equals(x.relu ? Matrix(by_row.cwiseMax(0.0)) : by_row))
        return "equals the product with bias[m] in the place of bias[n]: a bias by row\n";
    }
    if (x.bias != nullptr) {
      MatmulArgs without = x;
      without.bias = nullptr;
      if (equals(finished(without, ab))) return "equals the product without the bias\n";
    }
    if (x.relu) {
      MatmulArgs without = x;
      without.relu = false;
      if (equals(finished(without, ab))) return "equals the product without the activation\n";
    }
    if (x.M == x.N && equals(finished(x, ab).transpose()))
      return "equals the product transposed: rows and columns are exchanged\n";
    return "";
  }

  // The result of a thread that confuses some of its 8 x 8 elements, or of the elements that it
  // fetches for them.
  template <typename Equals>
  static std::string explain_register_blocks(const MatmulArgs& x, const Matrix& a, const Matrix& b,
                                             const Equals& equals) {
    using Index = std::pair<std::int64_t, std::int64_t>;
    const auto of_a = [&](const auto& from) { return finished(x, product(moved(a, from), b)); };
    const auto of_b = [&](const auto& from) { return finished(x, product(a, moved(b, from))); };

    const auto first_row = [](std::int64_t row, std::int64_t column) {
      return Index(row & ~7, column);
    };
    if (x.M > 1 && equals(of_a(first_row)))
      return "equals the product with the first of each eight rows of A in the place of the "
             "others\n";
    const auto first_four = [](std::int64_t row, std::int64_t column) {
      return Index(row, column & ~32);
    };
    if (x.N > 32 && equals(of_b(first_four)))
      return "equals the product with the first four columns of each thread in the place of its "
             "second four\n";
    const auto first_of_four = [](std::int64_t row, std::int64_t column) {
      return Index(row, column & ~3);
    };
    if (x.K > 1 && equals(of_a(first_of_four)))
      return "equals the product with the first of each four columns of A in the place of the "
             "others\n";
    const auto eight_elements_on = [&](std::int64_t row, std::int64_t column) {
      const std::int64_t element = row % 8 * x.N + column + (row & ~7);
      return Index(element / x.N, element % x.N);
    };
    if (x.K > 8 && equals(of_b(eight_elements_on)))
      return "equals the product with B's pointer moved on by 8 elements, not by 8 rows\n";
    return "";
  }

  // The result of a warp that misinterprets its fragments, in which 8 x 8 elements are in one
  // register of its lanes.
  template <typename Equals>
  static std::string explain_fragments(const MatmulArgs& x, const Matrix& a, const Matrix& b,
                                       const Matrix& ab, const Equals& equals) {
    using Index = std::pair<std::int64_t, std::int64_t>;
    const auto exchanged = [](std::int64_t row, std::int64_t column) {
      return (row ^ column) & 8 ? Index(row ^ 8, column ^ 8) : Index(row, column);
    };
    const auto transposed = [](std::int64_t row, std::int64_t column) {
      return Index(row / 8 * 8 + column % 8, column / 8 * 8 + row % 8);
    };
    const auto along = [](std::int64_t row, std::int64_t column) { return Index(row, column ^ 1); };
    const auto of_a = [&](const auto& from) { return finished(x, product(moved(a, from), b)); };
    const auto of_b = [&](const auto& from) { return finished(x, product(a, moved(b, from))); };

    if (equals(of_a(exchanged)))
      return "equals the product with registers 1 and 2 of A's fragments exchanged\n";
    if (equals(of_b(exchanged)))
      return "equals the product with the second and the third of B's four 8 x 8 matrices "
             "exchanged\n";
    if (equals(of_a(transposed)))
      return "equals the product with each 8 x 8 matrix of A transposed\n";
    if (equals(of_b(transposed)))
      return "equals the product with each 8 x 8 matrix of B transposed\n";
    // Swapping neighbours down B's columns instead swaps the same two products.
    if (equals(of_a(along)))
      return "equals the product with each two neighbours along K exchanged: the halves of A's "
             "registers, or of B's\n";
    // Fragments next to or below each other.
    const auto above = [](std::int64_t row, std::int64_t column) {
      return Index(row & ~8, column);
    };
    const auto left = [](std::int64_t row, std::int64_t column) { return Index(row, column & ~8); };
    if (equals(of_a(above)))
      return "equals the product with rows 0 to 7 of each 16 of A in the place of rows 8 to 15\n";
    if (equals(of_b(left)))
      return "equals the product with columns 0 to 7 of each 16 of B in the place of columns 8 to "
             "15\n";
    const auto unswizzled = [](std::int64_t row, std::int64_t column) {
      return Index(row, column ^ row % 8 * 8);
    };
    if (equals(finished(x, product(moved(a, unswizzled), moved(b, unswizzled)))))
      return "equals the product with the units of each row exchanged: the tiles are swizzled when "
             "they are stored or when they are loaded, not both\n";
    const auto own = [](std::int64_t row, std::int64_t column) {  // swaps bits 3 and 0
      return Index((row & ~8) | (column & 1) << 3, (column & ~1) | (row >> 3 & 1));
    };
    if (equals(finished(x, moved(ab, own))))
      return "equals the product with elements 1 and 2 of each lane of C exchanged\n";
    return "";
  }

  // A matrix of the elements of `x` at from(row, column), with 0 out of bounds.
  template <typename From>
  static Matrix moved(const Matrix& x, const From& from) {
    Matrix result = Matrix::Zero(x.rows(), x.cols());
    for (std::int64_t row = 0; row < x.rows(); ++row) {
      for (std::int64_t column = 0; column < x.cols(); ++column) {
        const auto [from_row, from_column] = from(row, column);
        if (from_row < x.rows() && from_column < x.cols())
          result(row, column) = x(from_row, from_column);
      }
    }
    return result;
  }

  // The result of a block of depth x depth threads that run sequentially, when each stores its part
  // of the next tiles before later threads have read these.
  static Matrix overwritten(const MatmulArgs& x, const Matrix& a, const Matrix& b,
                            std::int64_t depth) {
    const auto element = [](const Matrix& of, std::int64_t row, std::int64_t column) {
      return row < of.rows() && column < of.cols() ? of(row, column) : 0.0;
    };
    Matrix c = Matrix::Zero(x.M, x.N);
    for (std::int64_t i = 0; i < x.M * x.N; ++i) {
      const std::int64_t m = i / x.N, n = i % x.N, row = m % depth, column = n % depth;
      const std::int64_t thread = row * depth + column;
      for (std::int64_t first = 0; first < x.K; first += depth) {
        for (std::int64_t k = 0; k < depth; ++k) {
          const bool last = first + depth >= x.K;
          const std::int64_t a_tile = !last && row * depth + k < thread ? first + depth : first;
          const std::int64_t b_tile = !last && k * depth + column < thread ? first + depth : first;
          c(m, n) += element(a, m, a_tile + k) * element(b, b_tile + k, n);
        }
      }
    }
    return c;
  }

  // Right where m < N and n < M, and never written elsewhere.
  static bool is_square_alone(const MatmulArgs& x, const std::vector<float>& is,
                              const std::vector<double>& right) {
    for (std::int64_t i = 0; i < x.M * x.N; ++i) {
      const bool square = i / x.N < x.N && i % x.N < x.M;
      if (square != std::isfinite(is[i])) return false;
      if (square && std::abs(is[i] - right[i]) > 1e-2 * (1 + std::abs(right[i]))) return false;
    }
    return x.M != x.N;
  }
};

const ladder::OperatorRegistration matmul_registration(
    ladder::with_types<Matmul, MatmulSizes, MatmulArgs, MatmulArgs, MatmulBf16Args>({
        .name = "matmul",
        .fma_count = ladder::of_host(Matmul::fma_count),
        .truth = Matmul::truth,
        .additions = ladder::of_host(Matmul::additions),
        .wants = ladder::of_case(Matmul::wants),
        .explain = Matmul::explain,
    }));

}  // namespace warmup
