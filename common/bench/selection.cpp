#include "common/bench/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace ladder::bench {
namespace {

bool computes(const Implementation& implementation, const std::string& op) {
  return op == "wkv" ? implementation.wkv != nullptr : implementation.linear_attention != nullptr;
}

// Whether somebody who writes `wanted` ("03" or "03_cuda_baseline") means that chapter.
bool means(const std::string& wanted, const std::string& chapter) {
  return wanted == chapter || wanted == chapter.substr(0, 2);
}

}  // namespace

std::vector<Implementation> chosen(const Selection& selection) {
  const std::set<std::string> operators = {"wkv", "linear_attention", "causal_dot_product"};
  if (operators.count(selection.op) == 0) {
    throw std::invalid_argument(
        fmt::format("operator is '{}'; allowed: {}", selection.op, fmt::join(operators, ", ")));
  }
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
  std::vector<Implementation> result;
  for (const Implementation& each : all) {
    const auto meant = [&](const std::string& wanted) { return means(wanted, each.chapter); };
    const bool wanted = selection.chapters.empty() ||
                        std::any_of(selection.chapters.begin(), selection.chapters.end(), meant);
    if (wanted && computes(each, selection.op) && (each.rung || !selection.rungs_only)) {
      result.push_back(each);
    }
  }
  return result;
}

WkvProblem wkv_problem_of(const Selection& selection) {
  const Shape& s = selection.shape;
  return make_problem(WkvCase{.B = s.B, .T = s.T, .H = s.H, .K = s.K, .V = s.V});
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
