// A whole layer of gated linear attention, forward. These are the arguments of every
// implementation.
//
//   q = x W_q    k = x W_k    v = x W_v    g = logsigmoid(x W_1 W_2 + b) / 16
//   o = GLA(q, k, v, g), head by head         (common/operators/wkv/wkv.hpp)
// n = o / sqrt(mean(o^2) + eps) * norm      per head, with the mean over its V channels
//   y = (n * silu(x W_g)) W_o                 silu(z) = z / (1 + exp(-z))
//
// Source: Yang et al., "Gated Linear Attention Transformers with Hardware-Efficient Training"
// (2024), sec. 4.4.
#pragma once

#include <cstdint>
#include <functional>

#include "common/core/arrays.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder {

struct GlaLayer;  // the operator: gla_layer_operator.cpp

// Arrays are contiguous and row-major. A weight is (inputs, outputs).
struct GlaLayerArgs {
  std::int64_t B = 0;        // batch, 0 or more
  std::int64_t T = 0;        // time steps, 0 or more
  std::int64_t d_model = 0;  // width of x and y, 1 or more
  std::int64_t H = 0;        // heads, 1 or more
  std::int64_t K = 0;        // key channels per head, 1 or more
  std::int64_t V = 0;        // value channels per head, 1 or more
  std::int64_t rank = 0;     // of the gate, 1 or more; 16 in the paper

  const float* x = nullptr;     // (B, T, d_model)
  const float* w_q = nullptr;   // (d_model, H * K)
  const float* w_k = nullptr;   // (d_model, H * K)
  const float* w_v = nullptr;   // (d_model, H * V)
  const float* w_1 = nullptr;   // (d_model, rank)
  const float* w_2 = nullptr;   // (rank, H * K)
  const float* b = nullptr;     // (H * K)
  const float* norm = nullptr;  // (V)
  const float* w_g = nullptr;   // (d_model, H * V)
  const float* w_o = nullptr;   // (H * V, d_model)
  float* y = nullptr;           // (B, T, d_model)

  float scale = 1.0f;  // of GLA; 1 / sqrt(K) in the paper
  float eps = 1e-5f;   // 0 or more

  static constexpr const char* kStorage = "fp32";

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("d_model", s.d_model, 1), visit("H", s.H, 1);
    visit("K", s.K, 1), visit("V", s.V, 1), visit("rank", s.rank, 1), visit("scale", s.scale);
    visit("eps", s.eps, 0.0f);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    const std::int64_t keys = s.H * s.K, values = s.H * s.V;
    // Without tokens no array is checked.
    const Presence weight = s.B == 0 || s.T == 0 ? Presence::kOptional : Presence::kRequired;
    visit("x", s.x, {{"b", s.B}, {"t", s.T}, {"c", s.d_model}});
    visit("w_q", s.w_q, {{"c", s.d_model}, {"j", keys}}, weight);
    visit("w_k", s.w_k, {{"c", s.d_model}, {"j", keys}}, weight);
    visit("w_v", s.w_v, {{"c", s.d_model}, {"i", values}}, weight);
    visit("w_1", s.w_1, {{"c", s.d_model}, {"r", s.rank}}, weight);
    visit("w_2", s.w_2, {{"r", s.rank}, {"j", keys}}, weight);
    visit("b", s.b, {{"j", keys}}, weight);
    visit("norm", s.norm, {{"i", s.V}}, weight);
    visit("w_g", s.w_g, {{"c", s.d_model}, {"i", values}}, weight);
    visit("w_o", s.w_o, {{"i", values}, {"c", s.d_model}}, weight);
    visit("y", s.y, {{"b", s.B}, {"t", s.T}, {"c", s.d_model}});
  }
};

}  // namespace ladder

namespace chunkwise {

using GlaLauncher = std::function<void(const ladder::WkvArgs&)>;

// `gla` is a launcher of the registry, from launcher<Gla, WkvArgs>(implementation). Throws
// std::invalid_argument for bad arguments, before anything is written.
void gla_layer(const ladder::GlaLayerArgs& args, const GlaLauncher& gla);

}  // namespace chunkwise
