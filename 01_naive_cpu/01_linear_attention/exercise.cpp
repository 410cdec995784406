// 01 naive_cpu: linear attention, as a running state and as a score matrix.
// Change: none, this is the first kernel of the second operator.
// Why:    two orders. (phi(q) phi(K)^T) V costs T_q * T_k, phi(q) (phi(K)^T V) T_q + T_k.
// Needs:  a C++20 compiler. Any sizes, both feature maps, key lengths, T_q != T_k.
// Costs:  one thread. Every step loads and stores a whole state (or a row of scores).
//         See README for measurements.
#include "common/operators/linear_attention/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"

namespace {

using ladder::FeatureMap;
using ladder::LinearAttentionArgs;

float phi(FeatureMap map, float x) {
  if (map == FeatureMap::kIdentity) return x;
  return x > 0.0f ? x + 1.0f : std::exp(x);
}

// S += k^T v, the column vector k^T times the row vector v, for S (K, V), k (K), v (V).
void vvt_dot(const float* k, const float* v, float* S, std::int64_t K, std::int64_t V) {
  for (std::int64_t ik = 0; ik < K; ++ik) {
    for (std::int64_t iv = 0; iv < V; ++iv)
      S[ik * V + iv] += k[ik] * v[iv];
  }
}

// o = q S, the vector q times the matrix S, for q (K), S (K, V), o (V).
void vm_dot(const float* q, const float* S, float* o, std::int64_t K, std::int64_t V) {
  for (std::int64_t iv = 0; iv < V; ++iv)
    o[iv] = 0.0f;
  for (std::int64_t ik = 0; ik < K; ++ik) {
    for (std::int64_t iv = 0; iv < V; ++iv)
      o[iv] += q[ik] * S[ik * V + iv];
  }
}

float dot(const float* x, const float* y, std::int64_t size) {
  float sum = 0.0f;
  for (std::int64_t i = 0; i < size; ++i)
    sum += x[i] * y[i];
  return sum;
}

void check(const LinearAttentionArgs& args) {
  ladder::validate(args);
  if (args.key_lengths == nullptr || args.T_q == 0) return;
  for (std::int64_t b = 0; b < args.B; ++b) {
    ladder::require(args.key_lengths[b] >= 0 && args.key_lengths[b] <= args.T_k,
                    "key_lengths[" + std::to_string(b) + "] is " +
                        std::to_string(args.key_lengths[b]) + "; allowed: 0 to T_k, which is " +
                        std::to_string(args.T_k));
  }
}

// The state form, in which KV = sum phi(k)^T v and z = sum phi(k) grow key by key.
void linear_attention(const LinearAttentionArgs& args) {
  check(args);
  const std::int64_t T_q = args.T_q, T_k = args.T_k, H = args.H, K = args.K, V = args.V;
  std::vector<float> kv(K * V), z(K), phi_q(K), phi_k(K);
  for (std::int64_t b = 0; b < args.B; ++b) {
    const std::int64_t keys = args.key_lengths != nullptr ? args.key_lengths[b] : T_k;
    for (std::int64_t h = 0; h < H; ++h) {
      std::fill(kv.begin(), kv.end(), 0.0f);
      std::fill(z.begin(), z.end(), 0.0f);
      std::int64_t seen = 0;  // keys added to kv and z
      for (std::int64_t l = 0; l < T_q; ++l) {
        // A causal query l sees keys up to l. Without the mask the first query sees all keys.
        const std::int64_t visible = args.causal ? std::min(keys, l + 1) : keys;
        for (; seen < visible; ++seen) {
          const std::int64_t key_row = (b * T_k + seen) * H + h;
          // TODO(1): roughly 4 lines; store phi of this key in phi_k, and add phi_k to z, the sum
          // TODO(1): from which the normaliser is computed.
          // TODO(1): budget: one phi per element of the key.
          vvt_dot(phi_k.data(), args.v + key_row * V, kv.data(), K, V);
        }

        const std::int64_t row = (b * T_q + l) * H + h;
        float* o = args.o + row * V;  // (V)
        for (std::int64_t ik = 0; ik < K; ++ik) {
          phi_q[ik] = phi(args.feature_map, args.q[row * K + ik]);
        }
        vm_dot(phi_q.data(), kv.data(), o, K, V);
        if (args.normalize) {
          const float denominator = dot(phi_q.data(), z.data(), K) + args.eps;
          for (std::int64_t iv = 0; iv < V; ++iv)
            o[iv] /= denominator;
        }
      }
    }
  }
}

// The quadratic form, with one row of scores phi(q) . phi(k) per query, which ends at the mask.
void linear_attention_quadratic(const LinearAttentionArgs& args) {
  check(args);
  const std::int64_t T_q = args.T_q, T_k = args.T_k, H = args.H, K = args.K, V = args.V;
  std::vector<float> phi_q(K), phi_k(T_k * K), scores(T_k);
  for (std::int64_t b = 0; b < args.B; ++b) {
    const std::int64_t keys = args.key_lengths != nullptr ? args.key_lengths[b] : T_k;
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t s = 0; s < keys; ++s) {
        for (std::int64_t ik = 0; ik < K; ++ik) {
          phi_k[s * K + ik] = phi(args.feature_map, args.k[((b * T_k + s) * H + h) * K + ik]);
        }
      }
      for (std::int64_t l = 0; l < T_q; ++l) {
        const std::int64_t visible = args.causal ? std::min(keys, l + 1) : keys;
        const std::int64_t row = (b * T_q + l) * H + h;
        float* o = args.o + row * V;  // (V)
        for (std::int64_t ik = 0; ik < K; ++ik) {
          phi_q[ik] = phi(args.feature_map, args.q[row * K + ik]);
        }
        float denominator = args.eps;
        // TODO(2): roughly 4 lines; store one score per visible key in `scores`, and add all scores
        // TODO(2): to `denominator`.
        // TODO(2): budget: one dot product per visible key.
        for (std::int64_t iv = 0; iv < V; ++iv)
          o[iv] = 0.0f;
        for (std::int64_t s = 0; s < visible; ++s) {
          const float* v = args.v + ((b * T_k + s) * H + h) * V;  // (V)
          for (std::int64_t iv = 0; iv < V; ++iv)
            o[iv] += scores[s] * v[iv];
        }
        if (args.normalize) {
          for (std::int64_t iv = 0; iv < V; ++iv)
            o[iv] /= denominator;
        }
      }
    }
  }
}

const ladder::Registration registrations[] = {
    ladder::Registration{
        {.name = "linear_attention_naive",
         .device = ladder::DeviceKind::kCpu,
         .rung = true,
         .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}},
    ladder::Registration{
        {.name = "linear_attention_quadratic",
         .device = ladder::DeviceKind::kCpu,
         .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention_quadratic)}},
};

}  // namespace
