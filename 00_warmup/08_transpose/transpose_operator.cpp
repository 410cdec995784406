// The transpose as an operator, for the tests, the ladder and the X-ray.
#include <Eigen/Core>
#include <limits>

#include "00_warmup/08_transpose/transpose.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct Transpose {
  static double fma_count(const TransposeArgs&) { return 0; }
  static double additions(const TransposeArgs&) { return 0; }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const TransposeArgs& a = problem.args<TransposeArgs>();
    const Matrix y = Eigen::Map<const Floats>(a.x, a.M, a.N).transpose().cast<double>();
    return {{{y.data(), y.data() + y.size()}}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    constexpr std::int64_t kTile = 32, kWideTile = 64, kVec = 4;
    const TransposeArgs& a = problem.args<TransposeArgs>();
    // Where tiles land that are not moved or not turned, and NaN where nothing is written.
    const std::vector<double> nothing(outputs[0].truth->size(),
                                      std::numeric_limits<double>::quiet_NaN());
    std::vector<double> copied = nothing, not_moved = nothing, not_turned = nothing,
                        squares_not_turned = nothing, straight = nothing;
    for (std::int64_t m = 0; m < a.M; ++m) {
      for (std::int64_t n = 0; n < a.N; ++n) {
        const double x = a.x[m * a.N + n];
        const std::int64_t tile_m = m / kTile * kTile, tile_n = n / kTile * kTile;
        const auto put = [&](std::vector<double>& y, std::int64_t row, std::int64_t column) {
          if (row < a.N && column < a.M) y[row * a.M + column] = x;
        };
        copied[m * a.N + n] = x;
        put(not_moved, tile_m + n - tile_n, tile_n + m - tile_m);
        put(not_turned, tile_n + m - tile_m, tile_m + n - tile_n);
        const std::int64_t square_m = m / kVec * kVec, square_n = n / kVec * kVec;
        put(squares_not_turned, square_n + m - square_m, square_m + n - square_n);
        const std::int64_t wide_m = m / kWideTile * kWideTile, row = n % kWideTile / kVec;
        put(straight, n, wide_m + ((m - wide_m) / kVec ^ row) * kVec + m % kVec);
      }
    }
    if (outputs[0].equals(copied)) return "equals x in its old order: nothing is transposed\n";
    if (outputs[0].equals(not_moved))
      return "equals the result with tiles that are turned and stay in their old places\n";
    if (outputs[0].equals(not_turned))
      return "equals the result with tiles that are moved and not turned\n";
    if (outputs[0].equals(squares_not_turned))
      return "equals the result with squares of 4 x 4 that are moved and not turned\n";
    if (outputs[0].equals(straight))
      return "equals the result with vectors exchanged as v ^ (n / 4) on one side of the tile "
             "only\n";
    return "";
  }
};

const ladder::OperatorRegistration transpose_operator_registration(
    ladder::with_types<Transpose, TransposeSizes, TransposeArgs, TransposeArgs>({
        .name = "transpose",
        .fma_count = ladder::of_host(Transpose::fma_count),
        .truth = Transpose::truth,
        .additions = ladder::of_host(Transpose::additions),
        .explain = Transpose::explain,
    }));

}  // namespace warmup
