// Softmax attention. o of a query is the mean of the values, weighted by the softmax of its scores.
//
// With s(l, c) = scale * q_l . k_c, and n(l) visible keys, the first of l's batch or sequence:
//
//     lse_l = log sum_{c < n(l)} exp(s(l, c))        o_l = sum_{c < n(l)} exp(s(l, c) - lse_l) v_c
//
// q and k have D channels, v and o have D_v. With T_q queries and T_k keys, n(l) = T_k. The causal
// form has n(l) = max(0, l + 1 + T_k - T_q), which aligns the last query with the last key. A query
// that sees no key has o = 0 and lse = -inf. Query head h uses key head h / (H_q / H_kv).
// In the causal form a window leaves only the last `window` of these keys, n(l) - window to
// n(l) - 1, including the query's own. (FlashAttention-2 calls this window_size = (window - 1, 0).)
// A softcap replaces the score by softcap t(l, c), with t(l, c) = tanh(s(l, c) / softcap). Without
// one t is 0. Gradients, with p(l, c) = exp(s(l, c) - lse_l) and delta_l = d_o_l . o_l:
//
//     dv_c = sum_l p(l, c) d_o_l      ds(l, c) = p(l, c) (d_o_l . v_c - delta_l) (1 - t(l, c)^2)
//     dq_l = scale sum_c ds(l, c) k_c      dk_c = scale sum_l ds(l, c) q_l
//
// Sources: Vaswani et al., "Attention is all you need" (2017); Dao, "FlashAttention-2" (2023) for
// lse and the gradients; Ainslie et al., "GQA" (2023) for grouped heads.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"

namespace ladder {

// Operator tags, defined in common/operators/attention/operator.hpp.
struct Attention;
struct AttentionBackward;

template <typename Element>
inline constexpr const char* kAttentionStorage = "fp32";
template <>
inline constexpr const char* kAttentionStorage<bfloat16> = "bf16";
template <>
inline constexpr const char* kAttentionStorage<float16> = "fp16";

template <typename Element>
struct FullAttentionArgs;

// Contiguous row-major arrays. q, k, v and o are stored as `Element`, while arithmetic and lse are
// fp32. Most kernels support only these arguments, and their launchers reject the other options.
template <typename Element>
struct BasicAttentionArgs {
  std::int64_t B = 0;     // batch, 0 or more
  std::int64_t T_q = 0;   // queries, 0 or more
  std::int64_t T_k = 0;   // keys, 0 or more
  std::int64_t H_q = 0;   // query heads, a multiple of H_kv
  std::int64_t H_kv = 0;  // key and value heads, 1 or more
  std::int64_t D = 0;     // channels per head, 1 or more

  std::int64_t channels_of_v() const { return D; }

  const Element* q = nullptr;  // (B, T_q, H_q, D)
  const Element* k = nullptr;  // (B, T_k, H_kv, D)
  const Element* v = nullptr;  // (B, T_k, H_kv, D_v), where D_v is D here
  Element* o = nullptr;        // (B, T_q, H_q, D_v)
  float* lse = nullptr;        // (B, H_q, T_q), natural logarithm

  // Keys of each batch, 0 to T_k. Keys past this length are not read. Null: T_k for every batch.
  const std::int64_t* key_lengths = nullptr;  // (B)

  // Packed sequences, both or neither, with B = 1 and no key_lengths. Sequence n has queries
  // cu_seqlens_q[n] to cu_seqlens_q[n + 1] - 1, and its keys likewise. They begin with 0, never
  // decrease and end with T_q and T_k.
  const std::int64_t* cu_seqlens_q = nullptr;  // (sequences + 1)
  const std::int64_t* cu_seqlens_k = nullptr;  // (sequences + 1)
  std::int64_t sequences = 0;

  bool causal = false;
  float scale = 1.0f;  // finite, usually default_attention_scale(D)

  using Whole = FullAttentionArgs<Element>;
  static constexpr const char* kStorage = kAttentionStorage<Element>;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T_q", s.T_q, 0), visit("T_k", s.T_k, 0), visit("H_q", s.H_q, 1);
    visit("H_kv", s.H_kv, 1), visit("D", s.D, 1), visit("sequences", s.sequences);
    visit("causal", s.causal), visit("scale", s.scale);
  }

  // Inputs of the forward pass, which the backward pass reads too.
  template <typename Self, typename Visit>
  static void inputs(Self& s, const Visit& visit) {
    visit("q", s.q, {{"b", s.B}, {"t", s.T_q}, {"h", s.H_q}, {"i", s.D}});
    visit("k", s.k, {{"b", s.B}, {"t", s.T_k}, {"h", s.H_kv}, {"i", s.D}});
    visit("v", s.v, {{"b", s.B}, {"t", s.T_k}, {"h", s.H_kv}, {"i", s.channels_of_v()}});
    visit("key_lengths", s.key_lengths, {{"b", s.B}}, Presence::kOptional);
    visit("cu_seqlens_q", s.cu_seqlens_q, {{"n", s.sequences + 1}}, Presence::kOptional);
    visit("cu_seqlens_k", s.cu_seqlens_k, {{"n", s.sequences + 1}}, Presence::kOptional);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    inputs(s, visit);
    visit("o", s.o, {{"b", s.B}, {"t", s.T_q}, {"h", s.H_q}, {"i", s.channels_of_v()}});
    visit("lse", s.lse, {{"b", s.B}, {"h", s.H_q}, {"t", s.T_q}});
  }
};

// All arguments of the operator. If a kernel's parameters exceed 128 bytes, nvcc no longer reads
// them at its start, which changes its registers. Kernels without these options therefore keep
// BasicAttentionArgs, which has 128.
template <typename Element>
struct FullAttentionArgs : BasicAttentionArgs<Element> {
  std::int64_t window = 0;  // most keys that a query sees, only if causal, or 0 for no window
  float softcap = 0.0f;     // finite and above 0, or 0 for none
  std::int64_t D_v = 0;     // channels of v, o and their gradients, or 0 for D

  FullAttentionArgs() = default;
  FullAttentionArgs(const BasicAttentionArgs<Element>& part) : BasicAttentionArgs<Element>(part) {}

  std::int64_t channels_of_v() const { return D_v > 0 ? D_v : this->D; }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    BasicAttentionArgs<Element>::fields(s, visit);
    visit("window", s.window), visit("softcap", s.softcap), visit("D_v", s.D_v, 0);
  }

  // Rejects options that BasicAttentionArgs cannot hold.
  void require_part() const;
};

using AttentionArgs = FullAttentionArgs<float>;
using AttentionBf16Args = FullAttentionArgs<bfloat16>;
using AttentionFp16Args = FullAttentionArgs<float16>;

// The gradients of a loss with respect to q, k and v. forward.o and forward.lse are results of the
// forward pass and are only read. `Forward` is FullAttentionArgs or BasicAttentionArgs.
template <typename Element, typename Forward>
struct AttentionGradLists {
  Forward forward;
  const Element* d_o = nullptr;  // as o
  Element* dq = nullptr;         // (B, T_q, H_q, D)
  Element* dk = nullptr;         // (B, T_k, H_kv, D), summed over the heads of a group
  Element* dv = nullptr;         // as v, likewise

  static constexpr const char* kStorage = kAttentionStorage<Element>;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    Forward::fields(s.forward, visit);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    const auto& f = s.forward;
    const std::int64_t D_v = f.channels_of_v();
    BasicAttentionArgs<Element>::inputs(s.forward, visit);
    visit("o", as_input(s.forward.o), {{"b", f.B}, {"t", f.T_q}, {"h", f.H_q}, {"i", D_v}});
    visit("lse", as_input(s.forward.lse), {{"b", f.B}, {"h", f.H_q}, {"t", f.T_q}});
    visit("d_o", s.d_o, {{"b", f.B}, {"t", f.T_q}, {"h", f.H_q}, {"i", D_v}});
    visit("dq", s.dq, {{"b", f.B}, {"t", f.T_q}, {"h", f.H_q}, {"i", f.D}});
    visit("dk", s.dk, {{"b", f.B}, {"t", f.T_k}, {"h", f.H_kv}, {"i", f.D}});
    visit("dv", s.dv, {{"b", f.B}, {"t", f.T_k}, {"h", f.H_kv}, {"i", D_v}});
  }
};

template <typename Element>
struct FullAttentionGradArgs;

// Without the options window, softcap and D_v.
template <typename Element>
struct BasicAttentionGradArgs : AttentionGradLists<Element, BasicAttentionArgs<Element>> {
  using Whole = FullAttentionGradArgs<Element>;
};

template <typename Element>
struct FullAttentionGradArgs : AttentionGradLists<Element, FullAttentionArgs<Element>> {
  void require_part() const { this->forward.require_part(); }
  BasicAttentionGradArgs<Element> part() const {
    return {{this->forward, this->d_o, this->dq, this->dk, this->dv}};
  }
  operator BasicAttentionGradArgs<Element>() const { return part(); }
};

using AttentionGradArgs = FullAttentionGradArgs<float>;
using AttentionGradBf16Args = FullAttentionGradArgs<bfloat16>;
using AttentionGradFp16Args = FullAttentionGradArgs<float16>;

float default_attention_scale(std::int64_t D);  // 1 / sqrt(D)

// Reject sizes and pointers that no implementation supports (std::invalid_argument, which names the
// argument). Elements of key_lengths and cu_seqlens are not read. With BasicAttentionArgs a kernel
// passes the scales that it supports. With FullAttentionArgs, which allow any scale, it passes
// whether v may have other channels than q.
enum class Scale { kPositive, kOfAnySign };
enum class ChannelsOfV { kAsOfQ, kAny };
template <typename Element>
void validate(const BasicAttentionArgs<Element>& args, Scale scale = Scale::kPositive);
template <typename Element>
void validate(const FullAttentionArgs<Element>& args, ChannelsOfV of_v = ChannelsOfV::kAsOfQ);
template <typename Element>
void validate(const BasicAttentionGradArgs<Element>& args);
template <typename Element>
void validate(const FullAttentionGradArgs<Element>& args, ChannelsOfV of_v = ChannelsOfV::kAsOfQ);

// The channels that most implementations support.
inline bool is_usual_D(std::int64_t D) {
  return D == 32 || D == 64 || D == 96 || D == 128 || D == 256;
}
// Rejects all others with an error that names `who`, such as "chapter 08".
template <typename Element>
void require_usual_D(const BasicAttentionArgs<Element>& args, const char* who);

// FMAs of two products per query head, T_q x T_k x D and T_q x T_k x D_v, or for gradients of three
// and two. A causal mask halves them, and a window leaves only its keys. key_lengths and
// cu_seqlens are not read.
template <typename Element>
double attention_fma_count(const BasicAttentionArgs<Element>& args);
template <typename Element>
double attention_fma_count(const FullAttentionArgs<Element>& args);
template <typename Element>
double attention_fma_count(const FullAttentionGradArgs<Element>& args);

}  // namespace ladder
