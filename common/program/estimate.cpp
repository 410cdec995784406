#include "common/program/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ladder::program {
namespace {

// A part has at most so many multiply-adds: the emulator needs one or two seconds for them.
constexpr double kPartFma = 5e7;
// Few machines judge more multiply-adds than this in a second.
constexpr double kMostFmaPerSecond = 2e9;

Selection with_shape(Selection selection, const Shape& shape) {
  selection.shape = shape;
  return selection;
}

double fma_of(const Selection& selection, const Shape& shape) {
  return std::max(1.0, cost_of(with_shape(selection, shape)).fma_count);
}

double judged_fma(const Selection& selection, const Shape& shape) {
  return std::max(1.0, case_of(with_shape(selection, shape))->judged_fma());
}

}  // namespace

Shape part_of(const Selection& selection) {
  const AnyOperator& op = find_operator(selection.op);
  const auto fma = [&](const Shape& shape) { return fma_of(selection, shape); };
  return op.part(case_of(selection)->shape(), fma, kPartFma);
}

Shape larger_part(const Shape& part, const Selection& selection) {
  return find_operator(selection.op).larger(part, case_of(selection)->shape());
}

Spent scaled(const Spent& spent, const Shape& part, const Selection& selection) {
  const double fma = fma_of(selection, selection.shape) / fma_of(selection, part);
  const double judged = judged_fma(selection, selection.shape) / judged_fma(selection, part);
  const double bytes = cost_of(selection).bytes / cost_of(with_shape(selection, part)).bytes;
  const double drawn = find_operator(selection.op).draws_with_work() ? std::max(fma, bytes) : bytes;
  return {spent.problem * drawn, spent.launch * fma, spent.judge * judged};
}

double least_seconds(const Selection& selection) {
  return judged_fma(selection, selection.shape) / kMostFmaPerSecond;
}

std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} seconds", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 100 * 3600) return fmt::format("{:.2g} hours", seconds / 3600);
  if (seconds < 1000.0 * 86400) return fmt::format("{:.0f} days", seconds / 86400);
  return fmt::format("{:.0f} years", seconds / (365.0 * 86400));
}

}  // namespace ladder::program
