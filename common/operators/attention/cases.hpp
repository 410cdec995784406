// Cases of softmax attention and of its gradients: a shape with options, and the inputs drawn for it. The same case gives the same
// inputs on every machine.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/core/precision.hpp"
#include "common/judge/design.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/attention/attention.hpp"

namespace ladder {

// As the shapes of the other operators are said: D is K, and D_v is V; T counts the keys.
struct AttentionSizes {
  std::int64_t B = 4, T = 4096, H = 16, K = 128, V = 128;
  std::int64_t T_q = 0;   // 0: T
  std::int64_t H_kv = 0;  // 0: H

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("T_q", s.T_q, 0), visit("H_kv", s.H_kv, 0);
  }
};

// A case's scale where none is chosen: NaN, for every number may be.
inline constexpr float kUsualScale = std::numeric_limits<float>::quiet_NaN();

struct AttentionCase {
  struct Lengths {
    std::int64_t queries, keys;
  };

  std::int64_t B = 1, T_q = 1, T_k = 1, H_q = 1, H_kv = 1, D = 64;
  std::int64_t D_v = 0;               // 0: D
  std::vector<Lengths> lengths = {};  // of packed sequences; then B = 1, T_q and T_k are their sums
  bool causal = false;
  bool key_lengths = false;   // drawn from 0..T_k, the first one 0 where B > 1
  float scale = kUsualScale;  // that: default_attention_scale(D)
  std::int64_t window = 0;
  float softcap = 0.0f;
  float magnitude = 1.0f;  // of q and k. At 1 and the default scale q . k is about 1, at 100 1e4
  Precision precision = Precision::kFp32;  // or kBf16, kFp16
  std::uint32_t seed = 1;

  std::int64_t channels_of_v() const { return D_v > 0 ? D_v : D; }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B), visit("T_q", s.T_q), visit("T_k", s.T_k), visit("H_q", s.H_q);
    visit("H_kv", s.H_kv), visit("D", s.D), visit("D_v", s.D_v);
  }
  template <typename Self, typename Visit>
  static void options(Self& s, const Visit& visit) {
    visit("lengths", s.lengths), visit("causal", s.causal), visit("key_lengths", s.key_lengths);
    visit("scale", s.scale), visit("window", s.window), visit("softcap", s.softcap, 0);
    visit("magnitude", s.magnitude, 0, kLargestMagnitude), visit("seed", s.seed);
  }
};

// "17x9": 17 queries, 9 keys.
std::string read_option(const std::string& text, AttentionCase::Lengths& lengths);
std::string to_text(const AttentionCase::Lengths& lengths);

// "B2_Tq37_Tk50_Hq6_Hkv2_D64_causal_bf16", "B1_Tq22_Tk9_Hq2_Hkv2_D64_packed_5x0_17x9_full"
std::string name_of(const AttentionCase& c);

// The case with these packed sequences in the place of its batches.
AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths);

// Everything but the pointers.
AttentionArgs sizes_of(const AttentionCase& c);

struct AttentionInputs {
  using Op = Attention;
  using Case = AttentionCase;
  using Host = AttentionArgs;
  static const Operator& of(const Case& c);
};

// The gradients of sum(o * d_o): o and lse are what the forward pass gives.
struct AttentionGradInputs {
  using Op = AttentionBackward;
  using Case = AttentionCase;
  using Host = AttentionGradArgs;
  static const Operator& of(const Case& c);
};

using AttentionProblem = ProblemOf<AttentionInputs>;
using AttentionGradProblem = ProblemOf<AttentionGradInputs>;

void draw_attention(Problem& problem);
inline AttentionProblem make_problem(const AttentionCase& c) {
  return AttentionProblem(c);
}
// With the exact o and lse of these inputs, rounded to what they are stored in, and d_o drawn.
AttentionGradProblem make_grad_problem(const AttentionProblem& forward);
// Sets o and lse to those of its other inputs.
void take_forward_pass(Problem& problem);

struct AttentionOutputs {
  std::vector<float> o;    // (B, T_q, H_q, D_v)
  std::vector<float> lse;  // (B, H_q, T_q)

  bool operator==(const AttentionOutputs&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("o", s.o), visit("lse", s.lse);
  }
};

template <typename Number>
struct BasicAttentionGradients {
  std::vector<Number> dq;  // (B, T_q, H_q, D)
  std::vector<Number> dk;  // (B, T_k, H_kv, D)
  std::vector<Number> dv;  // (B, T_k, H_kv, D_v)

  bool operator==(const BasicAttentionGradients&) const = default;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("dq", s.dq), visit("dk", s.dk), visit("dv", s.dv);
  }
};

using AttentionGradients = BasicAttentionGradients<float>;

// What its tests are made of. A Support of attention may refuse "causal", "groups" (fewer key heads than query heads), "packed" (sequences)
// and "key_lengths". What it has besides, "window", "softcap", any "scale" and "D_v", are options with levels. Its sizes are D, and T_q with T_k, two lists of one length: the n-th number of queries comes with the n-th of keys. It
// may limit B, H_q and T_q (of a packed sequence, too).
Design<AttentionCase> attention_design(const Support& support);
// Sizes that are unlike each other and no powers of two, as far as they are supported.
AttentionCase ragged_attention_case(const Support& support);
// The case on which no two mistakes give the same.
AttentionCase plain_attention_case(const Support& support);
std::vector<bool> attention_masks(const Support& support);
bool has_option(const Support& support, const std::string& option);
std::vector<std::int64_t> attention_channels(const Support& support);
// `queries`, or the most that it takes.
std::int64_t limited_queries(const Support& support, std::int64_t queries);

}  // namespace ladder
