// Problems of softmax attention and of its gradients: a shape with options, and inputs drawn for it. The same case gives the same
// inputs on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/tensor.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/precision.hpp"

namespace ladder {

struct AttentionCase {
  struct Lengths {
    std::int64_t queries, keys;
  };

  std::int64_t B = 1, T_q = 1, T_k = 1, H_q = 1, H_kv = 1, D = 64;
  std::vector<Lengths> lengths = {};  // of packed sequences; then B = 1, T_q and T_k are their sums
  bool causal = false;
  bool key_lengths = false;  // drawn from 0..T_k, the first one 0 where B > 1
  float scale = 0.0f;        // 0: default_attention_scale(D)
  float magnitude = 1.0f;    // of q and k. At 1 and the default scale q . k is about 1, at 100 1e4
  Precision precision = Precision::kFp32;  // or kBf16, kFp16
  std::uint32_t seed = 1;

  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("lengths", s.lengths), visit("causal", s.causal), visit("key_lengths", s.key_lengths);
    visit("scale", s.scale), visit("magnitude", s.magnitude), visit("seed", s.seed);
  }

  // Each has keys of its own.
  std::int64_t sequences() const {
    return lengths.empty() ? B : static_cast<std::int64_t>(lengths.size());
  }
};

// "17x9": 17 queries, 9 keys.
std::string read_option(const std::string& text, AttentionCase::Lengths& lengths);
std::string to_text(const AttentionCase::Lengths& lengths);

// "B2_Tq37_Tk50_Hq6_Hkv2_D64_causal_bf16", "B1_Tq22_Tk9_Hq2_Hkv2_D64_packed_5x0_17x9_full"
std::string name_of(const AttentionCase& c);

// The case with these packed sequences in the place of its batches.
AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths);

struct AttentionProblem {
  AttentionCase attention_case;
  Tensor<float> q, k, v;
  Tensor<std::int64_t> key_lengths;                 // empty: none
  Tensor<std::int64_t> cu_seqlens_q, cu_seqlens_k;  // empty: each batch is one sequence

  // A sequence is this part of the B * T_q queries and of the B * T_k keys.
  struct Sequence {
    std::int64_t first_query, queries, first_key, keys;
  };
  Sequence sequence(std::int64_t n) const;
  // Its query l, counted from its first, sees so many of its first keys.
  std::int64_t keys_seen(const Sequence& sequence, std::int64_t l) const;
  // Where the lse of query `row` of the B * T_q and of query head h is.
  std::int64_t lse_index(std::int64_t row, std::int64_t h) const;

  // Arguments that point at these host arrays; the outputs are for the caller to set.
  AttentionArgs args() const;
};

AttentionProblem make_problem(const AttentionCase& c);

// Everything but the pointers.
AttentionArgs sizes_of(const AttentionCase& c);

struct AttentionOutputs {
  std::vector<float> o;    // (B, T_q, H_q, D)
  std::vector<float> lse;  // (B, H_q, T_q)

  bool operator==(const AttentionOutputs&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("o", s.o), visit("lse", s.lse);
  }
};

// The gradients of sum(o * d_o).
struct AttentionGradProblem {
  AttentionProblem forward;
  Tensor<float> o;    // (B, T_q, H_q, D), what the forward pass gave
  Tensor<float> lse;  // (B, H_q, T_q), likewise
  Tensor<float> d_o;  // (B, T_q, H_q, D)

  AttentionGradArgs args() const;  // likewise
};

// With d_o drawn. The forward pass's outputs come from whoever can compute them (reference::make_attention_grad_problem does); o is
// rounded to what the case stores.
AttentionGradProblem make_grad_problem(AttentionProblem forward, std::vector<float> o,
                                       std::vector<float> lse);

template <typename Number>
struct BasicAttentionGradients {
  std::vector<Number> dq;      // (B, T_q, H_q, D)
  std::vector<Number> dk, dv;  // (B, T_k, H_kv, D)

  bool operator==(const BasicAttentionGradients&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("dq", s.dq), visit("dk", s.dk), visit("dv", s.dv);
  }
};

using AttentionGradients = BasicAttentionGradients<float>;

}  // namespace ladder
