#include "common/bench/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "common/core/device_problem.hpp"
#include "common/reference/attention.hpp"

namespace ladder::bench {
namespace {

enum class Family { kForward, kBackward, kLinearAttention, kAttention, kAttentionBackward };

struct Operator {
  const char* name;
  Family family;
  Recurrence recurrence = Recurrence::kWkv;
};

constexpr Operator kOperators[] = {
    {"wkv", Family::kForward, Recurrence::kWkv},
    {"gla", Family::kForward, Recurrence::kGla},
    {"wkv_backward", Family::kBackward, Recurrence::kWkv},
    {"gla_backward", Family::kBackward, Recurrence::kGla},
    {"linear_attention", Family::kLinearAttention},
    {"causal_dot_product", Family::kLinearAttention},
    {"attention", Family::kAttention},
    {"attention_backward", Family::kAttentionBackward},
};

const Operator& operator_of(const Selection& selection) {
  for (const Operator& each : kOperators) {
    if (selection.op == each.name) return each;
  }
  throw std::invalid_argument(
      fmt::format("operator is '{}'; allowed: {}", selection.op, operators()));
}

bool is_attention(const Operator& op) {
  return op.family == Family::kAttention || op.family == Family::kAttentionBackward;
}

bool computes(const Implementation& implementation, const Selection& selection) {
  const Operator& op = operator_of(selection);
  if (op.family == Family::kLinearAttention) {
    return with_element(selection.precision, [&]<typename Element>() {
      return linear_attention_launcher<Element>(implementation) != nullptr;
    });
  }
  if (is_attention(op)) {
    return with_attention_element(selection.precision, [&]<typename Element>() {
      return op.family == Family::kAttention
                 ? attention_launcher<Element>(implementation) != nullptr
                 : attention_backward_launcher<Element>(implementation) != nullptr;
    });
  }
  return with_types(selection.precision, [&]<typename Element, typename LogW>() {
    return op.family == Family::kForward
               ? wkv_launcher<Element, LogW>(implementation, op.recurrence) != nullptr
               : wkv_backward_launcher<Element, LogW>(implementation, op.recurrence) != nullptr;
  });
}

WkvCase wkv_case_of(const Selection& selection) {
  const Shape& s = selection.shape;
  return {.recurrence = operator_of(selection).recurrence,
          .B = s.B,
          .T = s.T,
          .H = s.H,
          .K = s.K,
          .V = s.V,
          .initial_state = selection.states,
          .final_state = selection.states,
          .precision = selection.precision};
}

LinearAttentionCase linear_attention_case_of(const Selection& selection) {
  const Shape& s = selection.shape;
  LinearAttentionCase c{.B = s.B, .T_q = s.T, .T_k = s.T, .H = s.H, .K = s.K, .V = s.V};
  c.precision = selection.precision;
  if (selection.op == "causal_dot_product") {
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = false;
  }
  return c;
}

AttentionCase attention_case_of(const Selection& selection) {
  const Shape& s = selection.shape;
  return {.B = s.B,
          .T_q = s.T_q > 0 ? s.T_q : s.T,
          .T_k = s.T,
          .H_q = s.H,
          .H_kv = s.H_kv > 0 ? s.H_kv : s.H,
          .D = s.K,
          .causal = selection.causal,
          .precision = selection.precision};
}

// Options that the operator does not have.
void refuse_others_options(const Selection& selection) {
  const Operator& op = operator_of(selection);
  const Shape& s = selection.shape;
  const auto refuse = [&](const std::string& what, const char* allowed) {
    throw std::invalid_argument(
        fmt::format("{}; allowed for {}, not for {}", what, allowed, op.name));
  };
  const bool has_decay = op.family == Family::kForward || op.family == Family::kBackward;
  if (!has_decay && selection.precision == Precision::kBf16Fp32Decay)
    refuse("--precision is bf16_fp32_decay", "wkv, gla and their gradients");
  if (!has_decay && selection.states) refuse("--states is given", "wkv, gla and their gradients");
  if (is_attention(op)) {
    if (s.K != s.V)
      throw std::invalid_argument(
          fmt::format("--shape has K={} and V={}; allowed for {}: D = K = V", s.K, s.V, op.name));
    if (s.H_kv > 0 && s.H % s.H_kv != 0)
      throw std::invalid_argument(
          fmt::format("--shape has H={} and H_kv={}; allowed: H a multiple of H_kv", s.H, s.H_kv));
    return;
  }
  constexpr const char* kAttention = "attention and attention_backward";
  if (selection.precision == Precision::kFp16) refuse("--precision is fp16", kAttention);
  if (selection.causal) refuse("--causal is given", kAttention);
  if (s.T_q > 0 || s.H_kv > 0) refuse("--shape has T_q or H_kv", kAttention);
}

// As Implementation calls it: "attention_bf16".
std::string launcher_of(const Selection& selection) {
  const std::string op =
      operator_of(selection).family == Family::kLinearAttention ? "linear_attention" : selection.op;
  return selection.precision == Precision::kFp32 ? op : op + "_" + to_string(selection.precision);
}

// Whether somebody who writes `wanted` ("03", "03_cuda_baseline" or, completed by a shell, "03_cuda_baseline/") means that chapter.
bool means(const std::string& wanted, const std::string& chapter) {
  return wanted == chapter || wanted == chapter + "/" || wanted == chapter.substr(0, 2);
}

}  // namespace

std::string to_string(Precision precision) {
  constexpr const char* names[] = {"fp32", "bf16", "bf16_fp32_decay", "fp16"};
  return names[static_cast<std::size_t>(precision)];
}

Precision parse_precision(const std::string& text) {
  for (const Precision each :
       {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay, Precision::kFp16}) {
    if (to_string(each) == text) return each;
  }
  throw std::invalid_argument(
      fmt::format("--precision is '{}'; allowed: fp32, bf16, bf16_fp32_decay, fp16", text));
}

std::string operators() {
  std::vector<std::string> names;
  for (const Operator& each : kOperators)
    names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool grows_quadratically(const Selection& selection) {
  return is_attention(operator_of(selection));
}

std::vector<Implementation> chosen(const Selection& selection) {
  refuse_others_options(selection);
  const std::vector<Implementation> all = implementations();
  for (const std::string& wanted : selection.chapters) {
    std::set<std::string> known;
    for (const Implementation& each : all)
      known.insert(each.chapter);
    const auto meant = [&](const std::string& chapter) { return means(wanted, chapter); };
    if (std::none_of(known.begin(), known.end(), meant)) {
      throw std::invalid_argument(fmt::format("chapter is '{}'; allowed: {} or their numbers",
                                              wanted, fmt::join(known, ", ")));
    }
  }
  for (const std::string& name : selection.names)
    find_implementation(name);
  std::vector<Implementation> result;
  std::set<std::string> able;  // chapters, whether wanted or not
  for (const Implementation& each : all) {
    const auto meant = [&](const std::string& wanted) { return means(wanted, each.chapter); };
    const bool wanted = selection.chapters.empty() ||
                        std::any_of(selection.chapters.begin(), selection.chapters.end(), meant);
    const bool by_name = std::find(selection.names.begin(), selection.names.end(), each.name) !=
                         selection.names.end();
    const bool shown = selection.names.empty() ? each.rung || !selection.rungs_only : by_name;
    const bool runs = !selection.cuda_only || each.device == DeviceKind::kCuda;
    if (!shown || !runs || !computes(each, selection)) continue;
    able.insert(each.chapter);
    if (wanted) result.push_back(each);
  }
  if (result.empty()) {
    throw std::invalid_argument(fmt::format(
        "no {} in {} computes {} in {}; allowed: {}another --operator or --precision, or --all for "
        "variants",
        selection.cuda_only ? "CUDA kernel" : "implementation",
        selection.chapters.empty() ? "any chapter"
                                   : fmt::format("{}", fmt::join(selection.chapters, ", ")),
        selection.op, to_string(selection.precision),
        able.empty() ? "" : fmt::format("{}, ", fmt::join(able, ", "))));
  }
  return result;
}

std::vector<AbsentImplementation> chosen_absent(const Selection& selection) {
  refuse_others_options(selection);
  const std::string launcher = launcher_of(selection);
  std::vector<AbsentImplementation> result;
  for (const AbsentImplementation& each : absent_implementations()) {
    const auto meant = [&](const std::string& wanted) { return means(wanted, each.chapter); };
    const auto has = [](const std::vector<std::string>& list, const std::string& text) {
      return std::find(list.begin(), list.end(), text) != list.end();
    };
    const bool wanted = selection.chapters.empty() ||
                        std::any_of(selection.chapters.begin(), selection.chapters.end(), meant);
    const bool shown = selection.names.empty() ? each.rung || !selection.rungs_only
                                               : has(selection.names, each.name);
    if (wanted && shown && has(each.launchers, launcher)) result.push_back(each);
  }
  return result;
}

Problem problem_of(const Selection& selection) {
  switch (operator_of(selection).family) {
    case Family::kForward: return make_problem(wkv_case_of(selection));
    case Family::kBackward: return make_grad_problem(wkv_case_of(selection));
    case Family::kAttention: return make_problem(attention_case_of(selection));
    case Family::kAttentionBackward:
      return reference::make_attention_grad_problem(make_problem(attention_case_of(selection)));
    default: return make_problem(linear_attention_case_of(selection));
  }
}

Cost cost_of(const Selection& selection) {
  const Operator& op = operator_of(selection);
  if (op.family == Family::kLinearAttention) {
    return with_element(selection.precision, [&]<typename Element>() {
      LinearAttentionProblem problem;  // sizes only
      problem.attention_case = linear_attention_case_of(selection);
      const auto args = problem.sizes<Element>();
      return Cost{linear_attention_fma_count(args), linear_attention_bytes(args)};
    });
  }
  if (is_attention(op)) {
    return with_attention_element(selection.precision, [&]<typename Element>() {
      AttentionProblem problem;  // sizes only
      problem.attention_case = attention_case_of(selection);
      const auto args = problem.sizes<Element>();
      if (op.family == Family::kAttention)
        return Cost{attention_fma_count(args), attention_bytes(args)};
      BasicAttentionGradArgs<Element> gradients;
      gradients.forward = args;
      return Cost{attention_fma_count(gradients), attention_bytes(gradients)};
    });
  }
  const Shape& s = selection.shape;
  const double state_bytes = selection.states ? sizeof(float) * 1.0 * s.B * s.H * s.K * s.V : 0;
  return with_types(selection.precision, [&]<typename Element, typename LogW>() {
    WkvProblem problem;  // sizes only
    problem.wkv_case = wkv_case_of(selection);
    const auto args = problem.sizes<Element, LogW>();
    if (op.family == Family::kForward) {  // one state in, one out
      return Cost{wkv_fma_count(args), wkv_bytes(args, op.recurrence) + 2 * state_bytes};
    }
    BasicWkvGradArgs<Element, LogW> gradients;
    gradients.forward = args;
    // The initial state and d_final_state in, d_initial_state out.
    return Cost{wkv_fma_count(gradients), wkv_bytes(gradients, op.recurrence) + 3 * state_bytes};
  });
}

}  // namespace ladder::bench
