// A GLA layer as an operator (gla_layer.hpp has the formula and its source).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/06_gla_layer/gla_layer.hpp"
#include "common/judge/typed.hpp"

namespace ladder {

struct GlaLayerSizes {
  std::int64_t B = 1, T = 256, d_model = 512, H = 4, K = 64, V = 128, rank = 16;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("d_model", s.d_model, 1), visit("H", s.H, 1);
    visit("K", s.K, 1), visit("V", s.V, 1), visit("rank", s.rank, 1);
  }
};

using GlaLayerCase = SizedCase<GlaLayerSizes>;

struct GlaLayer {
  using Op = GlaLayer;
  using Case = GlaLayerCase;
  using Host = GlaLayerArgs;
  using Outputs = std::vector<float>;  // y
  static const Operator& of(const Case&) { return find_operator("gla_layer"); }
};

using GlaLayerProblem = ProblemOf<GlaLayer>;

std::vector<double> gla_layer(const GlaLayerArgs& problem);  // y, (B, T, d_model)

// The same statements in fp32.
std::vector<float> gla_layer_plain_fp32(const GlaLayerArgs& problem);

}  // namespace ladder
