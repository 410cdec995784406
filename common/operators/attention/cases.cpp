#include "common/operators/attention/cases.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>
#include <utility>

#include "common/core/errors.hpp"
#include "common/core/generator.hpp"
#include "common/core/options.hpp"
#include "common/judge/sequences.hpp"

namespace ladder {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

// Pairs of queries and keys.
std::vector<Pair> lengths_of(const Support& support) {
  const auto queries = support.levels("T_q", {0, 5, 1, 1, 15, 16, 17, 17, 63, 64, 65, 130});
  const auto keys = support.levels("T_k", {5, 0, 1, 65, 17, 16, 1, 63, 15, 64, 130, 64});
  require(queries.size() == keys.size(), "a suite's support has " + std::to_string(queries.size()) +
                                             " sizes T_q and " + std::to_string(keys.size()) +
                                             " sizes T_k; allowed: as many");
  std::vector<Pair> lengths;
  for (std::size_t n = 0; n < keys.size(); ++n)
    lengths.emplace_back(limited_queries(support, queries[n]), keys[n]);
  return lengths;
}

// `usual`, followed by the levels of the option if the support has it.
template <typename Value>
std::vector<Value> levels_of(const Support& support, const std::string& option,
                             std::vector<Value> usual) {
  for (const auto& [name, levels] : support.options) {
    if (name != option) continue;
    for (const std::string& level : levels)
      read_option(level, usual.emplace_back());
  }
  return usual;
}

// Pairs of query heads and key heads.
std::vector<Pair> heads_of(const Support& support) {
  if (support.has("groups")) return {{2, 2}, {2, 1}, {4, 2}, {5, 1}};
  return {{2, 2}, {3, 3}};
}

}  // namespace

std::string read_option(const std::string& text, AttentionCase::Lengths& lengths) {
  const auto cross = text.find('x');
  const bool read = cross != std::string::npos &&
                    read_option(text.substr(0, cross), lengths.queries).empty() &&
                    read_option(text.substr(cross + 1), lengths.keys).empty() &&
                    lengths.queries >= 0 && lengths.keys >= 0;
  return read ? "" : "queries and keys, such as 17x9";
}

std::string to_text(const AttentionCase::Lengths& lengths) {
  return std::to_string(lengths.queries) + "x" + std::to_string(lengths.keys);
}

std::string name_of(const AttentionCase& c) {
  std::ostringstream name;
  name << "B" << c.B << "_Tq" << c.T_q << "_Tk" << c.T_k << "_Hq" << c.H_q << "_Hkv" << c.H_kv
       << "_D" << c.D;
  if (c.channels_of_v() != c.D) name << "_Dv" << c.D_v;
  name << (c.lengths.empty() ? "" : "_packed");
  for (const auto& [queries, keys] : c.lengths)
    name << "_" << queries << "x" << keys;
  name << (c.causal ? "_causal" : "_full") << (c.key_lengths ? "_key_lengths" : "")
       << (c.scale > 0.0f    ? "_scaled"
           : c.scale < 0.0f  ? "_scaled_below_0"
           : c.scale == 0.0f ? "_scaled_by_0"
                             : "");
  if (c.window > 0) name << "_window" << c.window;
  if (c.softcap > 0) name << "_softcap" << c.softcap;
  name << magnitude_word(c.magnitude) << precision_word(c.precision);
  return name.str();
}

AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths) {
  c.B = 1;
  c.T_q = c.T_k = 0;
  for (const auto& [queries, keys] : lengths) {
    c.T_q += queries;
    c.T_k += keys;
  }
  c.lengths = std::move(lengths);
  return c;
}

AttentionArgs sizes_of(const AttentionCase& c) {
  AttentionArgs args;
  args.B = c.B;
  args.T_q = c.T_q;
  args.T_k = c.T_k;
  args.H_q = c.H_q;
  args.H_kv = c.H_kv;
  args.D = c.D;
  args.D_v = c.D_v;
  args.sequences = static_cast<std::int64_t>(c.lengths.size());
  args.causal = c.causal;
  args.scale = std::isnan(c.scale) ? default_attention_scale(c.D) : c.scale;
  args.window = c.window;
  args.softcap = c.softcap;
  return args;
}

void draw_attention(Problem& problem) {
  const AttentionCase& c = problem.as<AttentionCase>();
  Generator generator(c.seed);
  const float m = std::sqrt(3.0f) * c.magnitude;  // gives a variance of magnitude^2
  problem["q"] = generator.reals(c.B * c.T_q * c.H_q * c.D, -m, m);
  problem["k"] = generator.reals(c.B * c.T_k * c.H_kv * c.D, -m, m);
  problem["v"] = generator.reals(c.B * c.T_k * c.H_kv * c.channels_of_v(), -1.0f, 1.0f);
  if (c.key_lengths) problem.array<std::int64_t>("key_lengths") = generator.key_lengths(c.B, c.T_k);
  if (c.lengths.empty()) return;
  std::vector<std::int64_t> queries, keys;
  for (const AttentionCase::Lengths& each : c.lengths) {
    queries.push_back(each.queries);
    keys.push_back(each.keys);
  }
  const auto &ends_q = problem.array<std::int64_t>("cu_seqlens_q") = cumulative(queries),
             &ends_k = problem.array<std::int64_t>("cu_seqlens_k") = cumulative(keys);
  require(c.B == 1 && !c.key_lengths && ends_q.back() == c.T_q && ends_k.back() == c.T_k,
          name_of(c) +
              ": packed sequences allow only B = 1, T_q and T_k = the sums of their lengths, and "
              "no key_lengths");
}

std::vector<bool> attention_masks(const Support& support) {
  if (support.has("causal")) return {false, true};
  return {false};
}

std::vector<std::int64_t> attention_channels(const Support& support) {
  return support.levels("D", {32, 64, 96, 128, 256});
}

std::int64_t limited_queries(const Support& support, std::int64_t queries) {
  const std::int64_t most = support.most_of("T_q");
  return most > 0 ? std::min(queries, most) : queries;
}

AttentionCase ragged_attention_case(const Support& support) {
  const std::vector<std::int64_t> D = attention_channels(support);
  return {.B = 2,
          .T_q = limited_queries(support, 37),
          .T_k = 50,
          .H_q = 3,
          .H_kv = support.has("groups") ? 1 : 3,
          .D = std::count(D.begin(), D.end(), 64) > 0 ? 64 : D.front(),
          .precision = precision_of(support.storages.front())};
}

Design<AttentionCase> attention_design(const Support& support) {
  using Case = AttentionCase;
  Design<Case> design;
  design.factor(
      "T_qxT_k", lengths_of(support),
      [](Case& c, const Pair& length) { std::tie(c.T_q, c.T_k) = length; },
      [](const Case& c) {
        return Pair{c.T_q, c.T_k};
      });
  design.factor("D", attention_channels(support), &Case::D);
  design.factor(
      "H_qxH_kv", heads_of(support),
      [](Case& c, const Pair& heads) { std::tie(c.H_q, c.H_kv) = heads; },
      [](const Case& c) {
        return Pair{c.H_q, c.H_kv};
      });
  design.factor("causal", attention_masks(support), &Case::causal);
  design.factor("scale", levels_of<float>(support, "scale", {kUsualScale, 0.5f}), &Case::scale);
  design.factor("precision", precisions_of(support.storages), &Case::precision);
  if (const auto windows = levels_of<std::int64_t>(support, "window", {0}); windows.size() > 1) {
    design.factor("window", windows, &Case::window);
    for (const std::int64_t window : windows) {
      if (window > 0) design.exclude("causal", false, "window", window, "it is causal");
    }
  }
  if (const auto softcaps = levels_of<float>(support, "softcap", {0.0f}); softcaps.size() > 1)
    design.factor("softcap", softcaps, &Case::softcap);
  if (const auto widths = levels_of<std::int64_t>(support, "D_v", {0}); widths.size() > 1)
    design.factor("D_v", widths, &Case::D_v);
  return design;
}

bool has_option(const Support& support, const std::string& option) {
  return std::any_of(support.options.begin(), support.options.end(),
                     [&](const auto& each) { return each.first == option; });
}

AttentionCase plain_attention_case(const Support& support) {
  AttentionCase c = ragged_attention_case(support);
  c.T_k = support.plain_steps > 0 ? support.plain_steps : 17;
  c.T_q = limited_queries(support, c.T_k > 17 ? 20 : 11);  // 20: rows of two warps
  c.H_q = support.has("groups") ? 4 : 3;
  c.H_kv = support.has("groups") ? 2 : 3;
  // With fewer than 16 channels, too many of them share a vector. With fewer channels than keys, o
  // does not show each key's contribution.
  c.D = from(c.T_k > 17 ? c.T_k + 40 : 16, attention_channels(support));
  c.causal = support.has("causal");
  if (has_option(support, "window")) c.window = c.T_k / 2;
  c.magnitude = c.T_k > 17 ? 1.0f : 2.0f;  // distinct weights, none negligible
  return c;
}

}  // namespace ladder
