#include "common/bench/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "common/core/device_problem.hpp"

namespace ladder::bench {
namespace {

bool computes(const Implementation& implementation, const Selection& selection) {
  if (selection.op != "wkv") return implementation.linear_attention != nullptr;
  return with_types(selection.precision, [&]<typename Element, typename LogW>() {
    return wkv_launcher<Element, LogW>(implementation) != nullptr;
  });
}

// Whether somebody who writes `wanted` ("03", "03_cuda_baseline" or, completed by a shell, "03_cuda_baseline/") means that chapter.
bool means(const std::string& wanted, const std::string& chapter) {
  return wanted == chapter || wanted == chapter + "/" || wanted == chapter.substr(0, 2);
}

}  // namespace

std::string to_string(Precision precision) {
  constexpr const char* names[] = {"fp32", "bf16", "bf16_fp32_decay"};
  return names[static_cast<std::size_t>(precision)];
}

Precision parse_precision(const std::string& text) {
  for (const Precision each : {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
    if (to_string(each) == text) return each;
  }
  throw std::invalid_argument(
      fmt::format("--precision is '{}'; allowed: fp32, bf16, bf16_fp32_decay", text));
}

std::vector<Implementation> chosen(const Selection& selection) {
  const std::set<std::string> operators = {"wkv", "linear_attention", "causal_dot_product"};
  if (operators.count(selection.op) == 0) {
    throw std::invalid_argument(
        fmt::format("operator is '{}'; allowed: {}", selection.op, fmt::join(operators, ", ")));
  }
  if (selection.op != "wkv" && selection.precision != Precision::kFp32) {
    throw std::invalid_argument(fmt::format("precision is '{}'; allowed for {}: fp32",
                                            to_string(selection.precision), selection.op));
  }
  if (selection.op != "wkv" && selection.states)
    throw std::invalid_argument(
        fmt::format("--states is given; allowed for wkv, not for {}", selection.op));
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

WkvProblem wkv_problem_of(const Selection& selection) {
  const Shape& s = selection.shape;
  return make_problem(WkvCase{.B = s.B,
                              .T = s.T,
                              .H = s.H,
                              .K = s.K,
                              .V = s.V,
                              .initial_state = selection.states,
                              .final_state = selection.states,
                              .precision = selection.precision});
}

LinearAttentionProblem linear_attention_problem_of(const Selection& selection) {
  const Shape& s = selection.shape;
  LinearAttentionCase c{.B = s.B, .T_q = s.T, .T_k = s.T, .H = s.H, .K = s.K, .V = s.V};
  if (selection.op == "causal_dot_product") {
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = false;
  }
  return make_problem(c);
}

}  // namespace ladder::bench
