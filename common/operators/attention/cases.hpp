// Cases of softmax attention and its gradients. A case is a shape with options, and its inputs are
// drawn from a seed, so they are the same on every machine.
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

// Sizes under the names that all operators share: K is D, V is D_v, and T is T_k.
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

// Selects default_attention_scale(D). NaN, because any number may be chosen as a scale.
inline constexpr float kUsualScale = std::numeric_limits<float>::quiet_NaN();

struct AttentionCase {
  struct Lengths {
    std::int64_t queries, keys;
  };

  std::int64_t B = 1, T_q = 1, T_k = 1, H_q = 1, H_kv = 1, D = 64;
  std::int64_t D_v = 0;               // 0: D
  std::vector<Lengths> lengths = {};  // packed sequences, with B = 1 and the sums as T_q and T_k
  bool causal = false;
  bool key_lengths = false;  // drawn from 0 to T_k, but the first is 0 if B > 1
  float scale = kUsualScale;
  std::int64_t window = 0;
  float softcap = 0.0f;
  float magnitude = 1.0f;                  // of q and k; 1 gives scores of about 1, and 100 of 1e4
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

// The case with these packed sequences instead of batches.
AttentionCase packed(AttentionCase c, std::vector<AttentionCase::Lengths> lengths);

// Arguments of the case, without pointers.
AttentionArgs sizes_of(const AttentionCase& c);

struct AttentionInputs {
  using Op = Attention;
  using Case = AttentionCase;
  using Host = AttentionArgs;
  static const Operator& of(const Case& c);
};

// The gradients of sum(o * d_o), with o and lse from the forward pass.
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
// Takes over the inputs, draws d_o, and rounds the exact o and lse to their storage.
AttentionGradProblem make_grad_problem(const AttentionProblem& forward);
// Sets o and lse to the exact results for the other inputs.
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

// Factors and cases of the tests. A Support of attention may refuse "causal", "groups" (fewer key
// heads than query heads), "packed" (sequences) and "key_lengths". Its options are "window",
// "softcap", "scale" and "D_v". Its sizes are D, and T_q with T_k, paired by index. It may limit B,
// H_q and T_q, also of a packed sequence.
Design<AttentionCase> attention_design(const Support& support);
// Distinct sizes that are not powers of two, as far as they are supported.
AttentionCase ragged_attention_case(const Support& support);
// A case on which no two mistakes give the same result.
AttentionCase plain_attention_case(const Support& support);
std::vector<bool> attention_masks(const Support& support);
bool has_option(const Support& support, const std::string& option);
std::vector<std::int64_t> attention_channels(const Support& support);
// `queries`, or the limit of T_q if that is smaller.
std::int64_t limited_queries(const Support& support, std::int64_t queries);

}  // namespace ladder
