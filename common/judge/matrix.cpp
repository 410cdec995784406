#include "common/judge/matrix.hpp"

namespace ladder {

Matrix product(const MatrixPart& a, const MatrixPart& b) {
  return a * b;
}

Matrix matrix_of(const float* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  if (rows == 0) return Matrix(0, columns);
  using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  return Eigen::Map<const Floats, 0, Stride>(data, rows, columns, Stride(stride)).cast<double>();
}

}  // namespace ladder
