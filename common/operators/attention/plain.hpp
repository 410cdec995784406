// Softmax attention as a loop over tiles of keys, in fp32, for the tests of the suites and of the judge. It shares nothing with the
// references; what a kernel may get wrong in it can be switched on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/operators/attention/attention.hpp"

namespace ladder::testing {

struct Wrong {
  bool operands_rounded = false;  // not wrong: as tensor cores take them
  bool no_causal_mask = false, first_with_first = false, no_scale = false;
  bool no_key_lengths = false, last_tile_unmasked = false, masked_after_exp = false;
  bool heads_modulo = false, maximum_not_carried = false;
  bool o_not_rescaled = false, sum_not_rescaled = false, not_divided = false;
  bool lse_in_base_2 = false, lse_without_maximum = false;
  bool delta_forgotten = false, dk_unscaled = false;
  std::int64_t key_tile = 32, query_tile = 16;
};

template <typename Element>
Element stored_element(float x) {
  if constexpr (std::is_same_v<Element, bfloat16>) {
    return to_bfloat16(x);
  } else if constexpr (std::is_same_v<Element, float16>) {
    return to_float16(x);
  } else {
    return x;
  }
}

// One query head of one batch or packed sequence.
template <typename Element>
struct PlainHead {
  const BasicAttentionArgs<Element>& a;
  const Wrong& wrong;
  std::int64_t h, first_query, queries, first_key, keys, first_lse;

  PlainHead(const BasicAttentionArgs<Element>& args, const Wrong& w, std::int64_t n,
            std::int64_t head)
      : a(args), wrong(w), h(head) {
    if (a.cu_seqlens_q != nullptr) {
      first_query = a.cu_seqlens_q[n], queries = a.cu_seqlens_q[n + 1] - first_query;
      first_key = a.cu_seqlens_k[n], keys = a.cu_seqlens_k[n + 1] - first_key;
      first_lse = h * a.T_q + first_query;
    } else {
      first_query = n * a.T_q, queries = a.T_q, first_key = n * a.T_k;
      keys = a.key_lengths != nullptr && !w.no_key_lengths ? a.key_lengths[n] : a.T_k;
      first_lse = (n * a.H_q + h) * a.T_q;
    }
  }

  std::int64_t group() const { return a.H_q / a.H_kv; }
  std::int64_t key_head() const { return wrong.heads_modulo ? h % a.H_kv : h / group(); }
  std::int64_t query(std::int64_t l) const { return ((first_query + l) * a.H_q + h) * a.D; }
  std::int64_t key(std::int64_t c) const { return ((first_key + c) * a.H_kv + key_head()) * a.D; }

  std::int64_t seen(std::int64_t l) const {
    if (!a.causal || wrong.no_causal_mask) return keys;
    if (wrong.first_with_first) return std::min(l + 1, keys);
    return std::max<std::int64_t>(0, l + 1 + keys - queries);
  }
  float operand(float x) const {
    return wrong.operands_rounded ? to_float(stored_element<Element>(x)) : x;
  }
  float score(std::int64_t l, std::int64_t c) const {
    float sum = 0;
    for (std::int64_t j = 0; j < a.D && c < keys; ++j)
      sum += to_float(a.q[query(l) + j]) * to_float(a.k[key(c) + j]);
    return wrong.no_scale ? sum : sum * a.scale;
  }
};

template <typename Element, typename Visit>
void for_each_head(const BasicAttentionArgs<Element>& a, const Wrong& wrong, const Visit& visit) {
  const std::int64_t sequences = a.cu_seqlens_q != nullptr ? a.sequences : a.B;
  for (std::int64_t n = 0; n < sequences; ++n) {
    for (std::int64_t h = 0; h < a.H_q; ++h)
      visit(PlainHead<Element>(a, wrong, n, h));
  }
}

template <typename Element>
void plain_attention(const BasicAttentionArgs<Element>& a, const Wrong& wrong = {}) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  validate(a);
  for_each_head(a, wrong, [&](const PlainHead<Element>& head) {
    for (std::int64_t l = 0; l < head.queries; ++l) {
      const std::int64_t tile = wrong.key_tile, seen = head.seen(l);
      const std::int64_t last_of_tile = l / wrong.query_tile * wrong.query_tile + wrong.query_tile;
      const std::int64_t seen_by_tile = head.seen(std::min(last_of_tile, head.queries) - 1);
      std::vector<float> o(a.D, 0.0f);
      float largest = -kInfinity, sum = 0;
      for (std::int64_t first = 0; first < seen_by_tile; first += tile) {
        const bool padded = wrong.masked_after_exp || (wrong.last_tile_unmasked && !a.causal);
        const std::int64_t end = padded ? first + tile : std::min(first + tile, seen);
        if (end <= first) break;
        float of_tile = -kInfinity;
        for (std::int64_t c = first; c < end; ++c)
          of_tile = std::max(of_tile, head.score(l, c));
        const float before = largest;
        largest = wrong.maximum_not_carried ? of_tile : std::max(largest, of_tile);
        const float rescale = std::exp(before - largest);
        if (!wrong.sum_not_rescaled) sum *= rescale;
        for (std::int64_t i = 0; i < a.D && !wrong.o_not_rescaled; ++i)
          o[i] *= rescale;
        for (std::int64_t c = first; c < end; ++c) {
          const float p = std::exp(head.score(l, c) - largest);
          sum += p;
          for (std::int64_t i = 0; i < a.D && c < seen; ++i)
            o[i] += head.operand(p) * to_float(a.v[head.key(c) + i]);
        }
      }
      const float divisor = wrong.not_divided || sum == 0 ? 1.0f : sum;
      for (std::int64_t i = 0; i < a.D; ++i)
        a.o[head.query(l) + i] = stored_element<Element>(o[i] / divisor);
      const float lse = (wrong.lse_without_maximum ? 0.0f : largest) + std::log(sum);
      a.lse[head.first_lse + l] = wrong.lse_in_base_2 ? lse * 1.44269504f : lse;
    }
  });
}

template <typename Element>
void plain_attention_backward(const BasicAttentionGradArgs<Element>& args,
                              const Wrong& wrong = {}) {
  validate(args);
  const BasicAttentionArgs<Element>& a = args.forward;
  const std::int64_t query_elements = a.B * a.T_q * a.H_q * a.D;
  const std::int64_t key_elements = a.B * a.T_k * a.H_kv * a.D;
  std::vector<float> dq(query_elements), dk(key_elements), dv(key_elements);
  for_each_head(a, wrong, [&](const PlainHead<Element>& head) {
    const auto dot = [&](const Element* x, const Element* y) {
      float sum = 0;
      for (std::int64_t i = 0; i < a.D; ++i)
        sum += to_float(x[i]) * to_float(y[i]);
      return sum;
    };
    for (std::int64_t l = 0; l < head.queries; ++l) {
      const std::int64_t query = head.query(l);
      const Element* d_o = args.d_o + query;
      const float delta = wrong.delta_forgotten ? 0.0f : dot(d_o, a.o + query);
      for (std::int64_t c = 0; c < head.seen(l); ++c) {
        const std::int64_t key = head.key(c);
        const float p = std::exp(head.score(l, c) - a.lse[head.first_lse + l]);
        const float ds = head.operand(p * (dot(d_o, a.v + key) - delta));
        for (std::int64_t i = 0; i < a.D; ++i) {
          dv[key + i] += head.operand(p) * to_float(d_o[i]);
          dk[key + i] += ds * (wrong.dk_unscaled ? 1.0f : a.scale) * to_float(a.q[query + i]);
          dq[query + i] += ds * a.scale * to_float(a.k[key + i]);
        }
      }
    }
  });
  std::transform(dq.begin(), dq.end(), args.dq, stored_element<Element>);
  std::transform(dk.begin(), dk.end(), args.dk, stored_element<Element>);
  std::transform(dv.begin(), dv.end(), args.dv, stored_element<Element>);
}

}  // namespace ladder::testing
