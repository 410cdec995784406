// The judge for a GLA layer (common/core/gla_layer.hpp has the formula and its source).
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/gla_layer.hpp"
#include "common/core/tensor.hpp"

namespace ladder::reference {

struct GlaLayerCase {
  std::int64_t B = 1, T = 1, d_model = 64, H = 2, K = 16, V = 32, rank = 16;
  std::uint32_t seed = 1;
};

struct GlaLayerProblem {
  GlaLayerCase layer_case;
  Tensor<float> x, w_q, w_k, w_v, w_1, w_2, b, norm, w_g, w_o;

  // Points at these host arrays; y is for the caller to set.
  GlaLayerArgs args() const;
};

// x about 1, weights about 1 / sqrt(inputs), scale 1 / sqrt(K). The same case gives the same inputs on every machine.
GlaLayerProblem make_problem(const GlaLayerCase& c);

std::vector<double> gla_layer(const GlaLayerProblem& problem);  // y, (B, T, d_model)

// The same statements in fp32: the yardstick.
std::vector<float> gla_layer_plain_fp32(const GlaLayerProblem& problem);

}  // namespace ladder::reference
