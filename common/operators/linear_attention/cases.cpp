#include "common/operators/linear_attention/cases.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "common/core/generator.hpp"
#include "common/judge/sequences.hpp"

namespace ladder {
namespace {

constexpr float kLargeEps = 8.0f;  // as large as a normaliser of few keys

const std::vector<std::int64_t> kLengths = {0, 1, 15, 16, 17, 63, 64, 65, 130, 1000};
const std::vector<std::int64_t> kChannels = {4, 32, 64, 100, 128, 256};

bool is_causal_product(const Support& support) {
  return !support.has(kAllButTheCausalProduct);
}

}  // namespace

std::string name_of(const LinearAttentionCase& c) {
  std::ostringstream name;
  name << "B" << c.B << "_Tq" << c.T_q << "_Tk" << c.T_k << "_H" << c.H << "_K" << c.K << "_V"
       << c.V << (c.causal ? "_causal" : "_full")
       << (c.feature_map == FeatureMap::kEluPlusOne ? "_elu" : "")
       << (c.normalize ? "_normalized" : "") << (c.eps != LinearAttentionCase{}.eps ? "_eps" : "")
       << (c.key_lengths ? "_key_lengths" : "") << magnitude_word(c.magnitude)
       << precision_word(c.precision);
  return name.str();
}

LinearAttentionArgs sizes_of(const LinearAttentionCase& c) {
  LinearAttentionArgs args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.causal = c.causal;
  args.feature_map = c.feature_map;
  args.normalize = c.normalize;
  args.eps = c.eps;
  return args;
}

std::vector<std::int64_t> linear_attention_key_rows(const Support& support) {
  return support.levels("K", kChannels);
}

LinearAttentionCase ragged_linear_attention_case(const Support& support) {
  const bool product = is_causal_product(support);
  return {.B = 2,
          .T_q = 37,
          .T_k = 37,
          .H = 3,
          .K = preferred(linear_attention_key_rows(support), 64),
          .V = preferred(support.levels("V", kChannels), 100),
          .feature_map = product ? FeatureMap::kIdentity : FeatureMap::kEluPlusOne,
          .normalize = !product,
          .precision = precision_of(support.storages.front())};
}

Design<LinearAttentionCase> linear_attention_design(const Support& support) {
  using Case = LinearAttentionCase;
  const bool product = is_causal_product(support);
  const std::vector<std::int64_t> lengths = support.levels("T", kLengths);
  Design<Case> design;
  design.factor("T_q", lengths, &Case::T_q);
  if (!product) design.factor("T_k", lengths, &Case::T_k);
  design.factor("K", linear_attention_key_rows(support), &Case::K);
  design.factor("V", support.levels("V", kChannels), &Case::V);
  design.factor(
      "magnitude", std::vector<float>{1.0f, kHuge, kTiny},
      [](Case& c, float magnitude) { c.magnitude = magnitude; },
      [](const Case& c) { return kind_of_magnitude(c.magnitude); });
  design.factor("precision", precisions_of(support.storages), &Case::precision);
  if (product) return design;
  const std::vector<bool> both = {false, true};
  const std::vector<FeatureMap> maps = {FeatureMap::kIdentity, FeatureMap::kEluPlusOne};
  design.factor("causal", std::vector<bool>{true, false}, &Case::causal);
  design.factor("normalize", both, &Case::normalize);
  design.factor("feature_map", maps, &Case::feature_map);
  design.factor("eps", std::vector<float>{Case{}.eps, kLargeEps}, &Case::eps);
  design.factor("key_lengths", both, &Case::key_lengths);
  design.exclude("normalize", true, "feature_map", FeatureMap::kIdentity,
                 "a normaliser of terms of both signs may be 0");
  design.exclude("normalize", false, "eps", kLargeEps, "eps belongs to the normaliser");
  design.exclude("feature_map", FeatureMap::kIdentity, "eps", kLargeEps,
                 "without elu + 1 there is no normaliser here");
  return design;
}

LinearAttentionCase plain_linear_attention_case(const Support& support) {
  LinearAttentionCase c = ragged_linear_attention_case(support);
  const bool product = is_causal_product(support);
  c.T_q = support.plain_steps > 0 ? support.plain_steps : 17;
  c.T_k = product ? c.T_q : c.T_q + 1;
  c.eps = product ? c.eps : kLargeEps;
  std::tie(c.K, c.V) =
      plain_sizes(linear_attention_key_rows(support), support.levels("V", kChannels), c.T_k);
  return c;
}

}  // namespace ladder
