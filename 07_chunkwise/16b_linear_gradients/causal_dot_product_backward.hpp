// The gradients of the causal product o_t = sum over s <= t of (q_t . k_s) v_s, from d_o, the
// gradient of a loss by o. With the states
//
//     S_t = sum over s <= t of k_s v_s^T      D_s = sum over t >= s of q_t d_o_t^T      K x V
//
//     dq_t = S_t d_o_t      dk_s = D_s v_s      dv_s = D_s^T k_s
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace chunkwise {

struct CausalDotProductBackward;  // the operator: causal_dot_product_backward_operator.cpp

struct CausalDotProductBackwardSizes {
  std::int64_t B = 1, T = 4096, H = 32, K = 64, V = 64;  // B and T 0 or more, the others 1 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1);
  }
};

template <typename Element>
struct CausalDotProductBackwardArgs : CausalDotProductBackwardSizes {
  static constexpr const char* kStorage = sizeof(Element) == sizeof(float) ? "fp32" : "bf16";
  const Element *q = nullptr, *k = nullptr;    // (B, T, H, K)
  const Element *v = nullptr, *d_o = nullptr;  // (B, T, H, V)
  Element *dq = nullptr, *dk = nullptr;        // (B, T, H, K)
  Element* dv = nullptr;                       // (B, T, H, V)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    const ladder::Axes keys{{"b", s.B}, {"t", s.T}, {"h", s.H}, {"j", s.K}};
    const ladder::Axes values{{"b", s.B}, {"t", s.T}, {"h", s.H}, {"i", s.V}};
    visit("q", s.q, keys), visit("k", s.k, keys), visit("v", s.v, values);
    visit("d_o", s.d_o, values);
    visit("dq", s.dq, keys), visit("dk", s.dk, keys), visit("dv", s.dv, values);
  }
};

}  // namespace chunkwise
