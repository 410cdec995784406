// Eigen's matrices for the float64 truths, with one product (Eigen's own is slow to compile).
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace ladder {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
// A matrix, or some of its rows and columns.
using MatrixPart = Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>;

Matrix product(const MatrixPart& a, const MatrixPart& b);

// fp32 rows that begin `stride` elements apart.
Matrix matrix_of(const float* data, std::int64_t rows, std::int64_t columns, std::int64_t stride);
inline Matrix matrix_of(const float* data, std::int64_t rows, std::int64_t columns) {
  return matrix_of(data, rows, columns, columns);
}

}  // namespace ladder
