// A GLA layer as an operator, with its judge (gla_layer.hpp has the formula and its source).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/06_gla_layer/gla_layer.hpp"
#include "common/core/on_device.hpp"
#include "common/core/tensor.hpp"
#include "common/core/verdict.hpp"

namespace ladder::reference {

struct GlaLayerCase {
  std::int64_t B = 1, T = 1, d_model = 64, H = 2, K = 16, V = 32, rank = 16;
  std::uint32_t seed = 1;
  std::string precision = "fp32";
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

namespace ladder {

struct GlaLayerSizes {
  std::int64_t B = 1, T = 256, d_model = 512, H = 4, K = 64, V = 128, rank = 16;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("d_model", s.d_model, 1), visit("H", s.H, 1);
    visit("K", s.K, 1), visit("V", s.V, 1), visit("rank", s.rank, 1);
  }
};

struct GlaLayer {
  static constexpr const char* kName = "gla_layer";
  static constexpr const char* kSteps = "T";
  using Sizes = GlaLayerSizes;
  using Case = reference::GlaLayerCase;
  using Problem = reference::GlaLayerProblem;
  using Outputs = std::vector<float>;  // y
  using Storages = Types<GlaLayerArgs>;

  static Case make_case(const Sizes& s) {
    return {.B = s.B, .T = s.T, .d_model = s.d_model, .H = s.H, .K = s.K, .V = s.V, .rank = s.rank};
  }
  static Problem make_problem(const Case& c) { return reference::make_problem(c); }
  static const Case& case_of(const Problem& problem) { return problem.layer_case; }
  static GlaLayerArgs args(const Problem& problem) { return problem.args(); }
  static GlaLayerArgs sizes(const Case& c);
  static double fma_count(const GlaLayerArgs& args);
  static Verdict judge(const Problem& problem, const Outputs& y, Arithmetic arithmetic);
};

}  // namespace ladder
