#include "common/operators/planted.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace ladder::testing {
namespace {

std::vector<float> rounded_all(const std::vector<double>& values, Precision precision) {
  std::vector<float> result(values.begin(), values.end());
  for (float& x : result)
    x = rounded(x, precision);
  return result;
}

std::vector<float> in_fp32(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

WkvOutputs stored(const WkvProblem& problem, const reference::WkvResult& truth) {
  return {rounded_all(truth.o, problem.wkv_case.precision), in_fp32(truth.final_state)};
}

WkvGradients stored(const WkvGradProblem& problem, const BasicWkvGradients<double>& truth) {
  const Precision p = problem.forward.wkv_case.precision;
  const Precision of_decay = p == Precision::kBf16 ? p : Precision::kFp32;
  return {rounded_all(truth.dq, p), rounded_all(truth.dk, p),
          rounded_all(truth.dv, p), rounded_all(truth.d_log_w, of_decay),
          in_fp32(truth.du),        in_fp32(truth.d_initial_state)};
}

std::vector<float> stored(const LinearAttentionProblem& problem, const std::vector<double>& truth) {
  return rounded_all(truth, problem.attention_case.precision);
}

AttentionOutputs stored(const AttentionProblem& problem, const reference::AttentionResult& truth) {
  return {rounded_all(truth.o, problem.attention_case.precision), in_fp32(truth.lse)};
}

AttentionGradients stored(const AttentionGradProblem& problem,
                          const BasicAttentionGradients<double>& truth) {
  const Precision p = problem.forward.attention_case.precision;
  return {rounded_all(truth.dq, p), rounded_all(truth.dk, p), rounded_all(truth.dv, p)};
}

std::vector<Planted> planted_in(const reference::Part& part, bool fp32) {
  std::vector<Planted> result;
  const std::int64_t row = part.layout.row(), rows = std::ssize(*part.truth) / row;
  const auto size_of = [&](std::int64_t i) {
    return std::max(std::abs((*part.truth)[i]), (*part.terms)[i]);
  };
  // In the largest row but the last, so that the fault is none of a row that is next to nothing.
  std::int64_t largest = 0;
  double most = -1;
  for (std::int64_t r = 0; r < std::max<std::int64_t>(1, rows - 1); ++r) {
    double size = 0;
    for (std::int64_t i = r * row; i < (r + 1) * row; ++i)
      size += size_of(i) * size_of(i);
    if (size > most) most = size, largest = r;
  }
  // Where nothing is left of the terms, as of a gradient through one key, there is nothing to be wrong.
  const auto row_of = [&](const auto& values, std::int64_t r) {
    return Eigen::Map<const Eigen::VectorX<typename std::decay_t<decltype(values)>::value_type>>(
        values.data() + r * row, row);
  };
  if (row_of(*part.truth, largest).norm() < 1e-6 * std::sqrt(most)) return result;
  if (rows > 1) {
    std::vector<float> swapped = *part.result;
    std::copy_n(part.result->begin() + (largest + 1) * row, row, swapped.begin() + largest * row);
    const double change =
        (row_of(swapped, largest) - row_of(*part.result, largest)).cast<double>().norm();
    if (change > 0.1 * std::sqrt(most)) result.push_back({"row", std::move(swapped)});
  }
  std::int64_t element = largest * row;
  for (std::int64_t i = element; i < (largest + 1) * row; ++i) {
    if (size_of(i) > size_of(element)) element = i;
  }
  std::vector<float> off = *part.result;
  off[element] += static_cast<float>((fp32 ? 1e-4 : 0.1) * size_of(element));
  if (off != *part.result) result.push_back({"element", std::move(off)});
  return result;
}

}  // namespace ladder::testing
