// Linear attention with one decay per head and step, the scalar decay of Mamba-2. For each batch
// and head, from a state of zeros:
//
//     S_t = exp(log_w_t) S_{t-1} + k_t v_t        K x V
//     o_t = scale q_t S_t
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace chunkwise {

struct DecayPerHead;  // the operator: decay_per_head_operator.cpp

struct DecayPerHeadSizes {
  std::int64_t B = 1, T = 4096, H = 32, K = 64, V = 64;  // B and T 0 or more, the others 1 or more
  float scale = 1;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("scale", s.scale);
  }
};

template <typename Element>
struct DecayPerHeadArgs : DecayPerHeadSizes {
  static constexpr const char* kStorage = sizeof(Element) == sizeof(float) ? "fp32" : "bf16";
  const Element* q = nullptr;    // (B, T, H, K)
  const Element* k = nullptr;    // (B, T, H, K)
  const Element* v = nullptr;    // (B, T, H, V)
  const float* log_w = nullptr;  // (B, T, H), at most 0; -infinity forgets everything
  Element* o = nullptr;          // (B, T, H, V)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("q", s.q, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"k", s.K}});
    visit("k", s.k, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"k", s.K}});
    visit("v", s.v, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"v", s.V}});
    visit("log_w", s.log_w, {{"b", s.B}, {"t", s.T}, {"h", s.H}});
    visit("o", s.o, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"v", s.V}});
  }
};

}  // namespace chunkwise
