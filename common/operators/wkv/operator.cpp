#include "common/operators/wkv/operator.hpp"

namespace ladder {
namespace {

// Finds the sequence of a packed step.
void settle_belonging(const Problem& problem, const std::string&, const std::string& axis,
                      std::int64_t index, Belonging& belonging) {
  const auto& ends = problem.array<std::int64_t>("cu_seqlens");
  if (axis != "t" || ends.empty()) return;
  belonging.sequence = std::upper_bound(ends.begin(), ends.end(), index) - ends.begin() - 1;
}

void settle(Struct& value, Shape& shape) {
  WkvCase& c = value.as<WkvCase>();
  if (c.lengths.empty()) return;
  for (const std::int64_t length : c.lengths)
    require_at_least("a length", length, 0);
  c = packed(c, c.lengths);
  shape.set("B", c.B);
  shape.set("T", c.T);
}

void check_values(const Problem& problem) {
  const WkvCase& c = problem.as<WkvCase>();
  const std::vector<float>& log_w = problem["log_w"];
  check_log_w(log_w.data(), std::ssize(log_w));
  check_ends("cu_seqlens", problem.array<std::int64_t>("cu_seqlens"), c.B, c.T);
}

}  // namespace

Operator wkv_operator(Recurrence recurrence, Operator op) {
  op.case_with = [recurrence](const Struct& sizes) {
    const auto& s = sizes.as<WkvSizes>();
    return Struct(
        WkvCase{.recurrence = recurrence, .B = s.B, .T = s.T, .H = s.H, .K = s.K, .V = s.V});
  };
  op.name_of = [](const Struct& c) { return name_of(c.as<WkvCase>()); };
  op.wants = [](const Struct& c, const std::string& array) {
    return has_array(c.as<WkvCase>(), array);
  };
  op.check_options = [](const Struct& c, const Options& given) {
    require_both(given, "fixed_log_w", c.as<WkvCase>().decay == Decay::kFixed, "decay=fixed");
  };
  op.check_values = check_values;
  op.settle = settle;
  op.linear_in = {"q", "k", "v", "u", "d_o", "initial_state", "d_final_state"};
  op.truth_bytes = [](const Struct& value) {
    const WkvCase& c = value.as<WkvCase>();
    return bytes_of_walk(c.K, c.V, c.B * c.H);
  };
  op.settle_belonging = settle_belonging;
  return on_sequences(std::move(op));
}

template <typename Op>
Operator wkv_forward(Operator op) {
  op.host = [](const Struct& c) { return Struct(sizes_of(c.as<WkvCase>())); };
  op.fma_count = [](const Struct& host) { return wkv_fma_count(host.as<WkvArgs>()); };
  op.truth = of_any(wkv_truth);
  op.draw = draw_wkv;
  op.reports_first = true;
  return with_case<Op, WkvSizes, WkvCase, WkvArgs, WkvArgs, WkvBf16Args, WkvBf16Fp32DecayArgs,
                   WkvFp16Args>(wkv_operator(Op::kRecurrence, std::move(op)));
}
template Operator wkv_forward<Gla>(Operator op);

template <>
Operator& operator_of<Wkv>() {
  static Operator op = wkv_forward<Wkv>({
      .name = Wkv::kName,
      .climbed = {"fp32", "bf16"},
      .named_shapes = {{"rwkv6-1.6b", {{"B", 1}, {"T", 1024}, {"H", 32}, {"K", 64}, {"V", 64}}},
                       {"rwkv6-7b", {{"B", 1}, {"T", 1024}, {"H", 64}, {"K", 64}, {"V", 64}}},
                       {"profile", {{"B", 1}, {"T", 54}, {"H", 32}, {"K", 64}, {"V", 64}}},
                       {"training", {{"B", 8}, {"T", 4096}, {"H", 32}, {"K", 64}, {"V", 64}}}},
  });
  return op;
}

// Found by name, because a program without others.cpp has neither GLA nor a backward pass.
const Operator& WkvInputs::of(const WkvCase& c) {
  return find_operator(c.recurrence == Recurrence::kGla ? Gla::kName : Wkv::kName);
}

const Operator& WkvGradInputs::of(const WkvCase& c) {
  return find_operator(c.recurrence == Recurrence::kGla ? GlaBackward::kName : WkvBackward::kName);
}

namespace {

const OperatorRegistration wkv_registration(operator_of<Wkv>(), 1);

}  // namespace

}  // namespace ladder
