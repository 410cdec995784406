#include "common/bench/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "common/reference/sample.hpp"

namespace ladder::bench {
namespace {

constexpr std::int64_t kPartSteps = 128;
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

double judged_fma(const Selection& selection, const Shape& s) {
  const double fma = fma_of(selection, s);
  if (!grows_quadratically(selection) || fma <= reference::kMostJudgedWhole) return fma;
  const double queries = static_cast<double>(s.T_q > 0 ? s.T_q : s.T);
  constexpr double kQueries = 9 * 160, kHeads = 16;  // of sample.cpp
  const double share = selection.op == "attention" ? kQueries / (s.B * queries)
                                                   : kHeads / (static_cast<double>(s.B) * s.H);
  return fma * std::min(1.0, share);
}

// Query heads of `shape` that come with each key head.
std::int64_t group_of(const Shape& shape) {
  return shape.H_kv > 0 ? shape.H / shape.H_kv : 1;
}

void set_heads(Shape& part, std::int64_t heads, const Shape& whole) {
  const std::int64_t group = group_of(whole), groups = whole.H / group;
  const std::int64_t count = std::clamp<std::int64_t>((heads + group - 1) / group, 1, groups);
  part.H = count * group;
  if (whole.H_kv > 0) part.H_kv = count;
}

}  // namespace

Shape part_of(const Selection& selection) {
  const Shape& whole = selection.shape;
  Shape part = whole;
  part.B = 1;
  part.T = std::min(whole.T, kPartSteps);
  if (whole.T_q > 0) part.T_q = std::min(whole.T_q, part.T);
  // As many as can be worked on at once, so that a part keeps the machine as busy as the whole does.
  set_heads(part, std::max<std::int64_t>(2, std::thread::hardware_concurrency()), whole);
  while (fma_of(selection, part) > kPartFma && part.T > 1) {
    part.T = (part.T + 1) / 2;
    if (whole.T_q > 0) part.T_q = std::min(part.T_q, part.T);
  }
  while (fma_of(selection, part) > kPartFma && part.H > group_of(whole))
    set_heads(part, part.H / 2, whole);
  return part;
}

Shape larger_part(const Shape& part, const Selection& selection) {
  const Shape& whole = selection.shape;
  Shape larger = part;
  if (part.T < whole.T || part.T_q < whole.T_q) {
    larger.T = std::min(4 * part.T, whole.T);
    if (whole.T_q > 0) larger.T_q = std::min(4 * part.T_q, whole.T_q);
  } else if (part.B < whole.B) {
    larger.B = std::min(4 * part.B, whole.B);
  } else {
    set_heads(larger, 4 * part.H, whole);
  }
  return larger;
}

Spent scaled(const Spent& spent, const Shape& part, const Selection& selection) {
  const double fma = fma_of(selection, selection.shape) / fma_of(selection, part);
  const double judged = judged_fma(selection, selection.shape) / judged_fma(selection, part);
  const double bytes = cost_of(selection).bytes / cost_of(with_shape(selection, part)).bytes;
  // The inputs of attention's gradients have its forward pass in them.
  const double drawn = selection.op == "attention_backward" ? std::max(fma, bytes) : bytes;
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

}  // namespace ladder::bench
