// A whole layer of gated linear attention, forward: the arguments every implementation takes.
//
//     q = x W_q    k = x W_k    v = x W_v    g = logsigmoid(x W_1 W_2 + b) / 16
//     o = GLA(q, k, v, g), head by head                                     (common/core/wkv.hpp)
//     n = o / sqrt(mean(o^2) + eps) * norm                                  per head: the mean is over its V channels
//     y = (n * silu(x W_g)) W_o                                             silu(z) = z / (1 + exp(-z))
//
// Source: Yang et al., "Gated Linear Attention Transformers with Hardware-Efficient Training" (2024), sec. 4.4.
#pragma once

#include <cstdint>

namespace ladder {

// Arrays are contiguous and row-major; a weight is (inputs, outputs).
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
  float eps = 1e-5f;
};

}  // namespace ladder
