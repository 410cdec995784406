#include "common/judge/sequences.hpp"

#include <algorithm>
#include <thread>

namespace ladder {
namespace {

constexpr std::int64_t kPartSteps = 128;

// Query heads per key head.
std::int64_t group_of(const Shape& shape) {
  return shape["H_kv"] > 0 ? shape["H"] / shape["H_kv"] : 1;
}

void set_heads(Shape& part, std::int64_t heads, const Shape& whole) {
  const std::int64_t group = group_of(whole), groups = whole["H"] / group;
  const std::int64_t count = std::clamp<std::int64_t>((heads + group - 1) / group, 1, groups);
  part.set("H", count * group);
  if (whole["H_kv"] > 0) part.set("H_kv", count);
}

Shape small_shape() {
  return {{"B", 1}, {"T", 16}, {"H", 2}, {"K", 64}, {"V", 64}};
}

Shape small_shape_like(const Shape& like) {
  Shape small = small_shape();
  for (const char* channels : {"K", "V"})
    small.set(channels, like[channels]);
  return small;
}

std::string axis_word(const std::string&, const std::string& axis) {
  for (const auto& [letter, word] :
       {std::pair{"b", "batch"}, {"t", "step"}, {"h", "head"}, {"i", "column"}, {"j", "key row"}}) {
    if (axis == letter) return word;
  }
  return axis;
}

Shape part_of(const Shape& whole, const Operator::Fma& fma, double most) {
  Shape part = whole;
  part.set("B", 1);
  part.set("T", std::min(whole["T"], kPartSteps));
  const auto cut_queries = [&] {
    if (whole["T_q"] > 0) part.set("T_q", std::min(part["T_q"], part["T"]));
  };
  cut_queries();
  // Enough heads for all cores, so that a part keeps the machine as busy as the whole does.
  set_heads(part, std::max<std::int64_t>(2, std::thread::hardware_concurrency()), whole);
  while (fma(part) > most && part["T"] > 1) {
    part.set("T", (part["T"] + 1) / 2);
    cut_queries();
  }
  while (fma(part) > most && part["H"] > group_of(whole))
    set_heads(part, part["H"] / 2, whole);
  return part;
}

Shape larger_part(const Shape& part, const Shape& whole) {
  Shape larger = part;
  if (part["T"] < whole["T"] || part["T_q"] < whole["T_q"]) {
    larger.set("T", std::min(4 * part["T"], whole["T"]));
    if (whole["T_q"] > 0) larger.set("T_q", std::min(4 * part["T_q"], whole["T_q"]));
  } else if (part["B"] < whole["B"]) {
    larger.set("B", std::min(4 * part["B"], whole["B"]));
  } else {
    set_heads(larger, 4 * part["H"], whole);
  }
  return larger;
}

}  // namespace

Operator on_sequences(Operator op) {
  op.steps = "T";
  if (!op.axis_word) op.axis_word = axis_word;
  op.own_small_shape = small_shape;
  op.own_small_shape_like = small_shape_like;
  op.own_part = part_of;
  op.own_larger = larger_part;
  return op;
}

}  // namespace ladder
