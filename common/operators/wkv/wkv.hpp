// Arguments of WKV, the recurrent linear attention of RWKV-5 and RWKV-6, for all implementations.
//
// For each (b, h), with S_0 the initial state or zeros, key row j and value column i:
//
//     o_t[i]    = scale * sum_j q_t[j] * (S_{t-1}[j][i] + u[j] * k_t[j] * v_t[i])
//     S_t[j][i] = exp(log_w_t[j]) * S_{t-1}[j][i] + k_t[j] * v_t[i]
//
// Source: Peng et al., "Eagle and Finch: RWKV with Matrix-Valued States and Dynamic Recurrence"
// (2024). There q is r (receptance), o is y, and K = V is the head size N.
//
// Gated linear attention (GLA) has no bonus and reads the updated state. Its gate g is log_w here:
//
//     S_t = diag(exp(g_t)) S_{t-1} + k_t v_t        o_t = scale * q_t S_t
//
// Source: Yang et al., "Gated Linear Attention Transformers with Hardware-Efficient Training"
// (2024). Launchers of GLA have the same arguments with u = null.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/core/arrays.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"

namespace ladder {

// Operator tags, defined in common/operators/wkv/operator.hpp.
struct Wkv;
struct Gla;
struct WkvBackward;
struct GlaBackward;

// The storage of the tensors. States and sums are always fp32.
template <typename Element, typename LogW>
inline constexpr const char* kWkvStorage = std::is_same_v<Element, float>     ? "fp32"
                                           : std::is_same_v<Element, float16> ? "fp16"
                                           : std::is_same_v<LogW, float>      ? "bf16_fp32_decay"
                                                                              : "bf16";

// Contiguous row-major arrays. Sizes count elements, never bytes. q, k, v, u and o are stored as
// `Element` and log_w as `LogW`. States and all arithmetic are float.
template <typename Element, typename LogW = Element>
struct BasicWkvArgs {
  std::int64_t B = 0;  // batch, 0 or more
  std::int64_t T = 0;  // time steps, 0 or more
  std::int64_t H = 0;  // heads, 1 or more
  std::int64_t K = 0;  // key channels per head, 1 or more
  std::int64_t V = 0;  // value channels per head, 1 or more

  const Element* q = nullptr;   // (B, T, H, K)
  const Element* k = nullptr;   // (B, T, H, K)
  const Element* v = nullptr;   // (B, T, H, V)
  const LogW* log_w = nullptr;  // (B, T, H, K) in RWKV-6, (H, K) in RWKV-5; natural log, <= 0
  const Element* u = nullptr;   // (H, K), the bonus; null for GLA
  const float* initial_state = nullptr;  // (B, H, K, V), or null for zeros
  Element* o = nullptr;                  // (B, T, H, V)
  float* final_state = nullptr;          // (B, H, K, V), or null

  // Strides of log_w per batch and per time step: T*H*K and H*K for RWKV-6, 0 and 0 for RWKV-5.
  std::int64_t log_w_stride_B = 0;
  std::int64_t log_w_stride_T = 0;

  float scale = 1.0f;    // 1 in RWKV; 1/sqrt(K) is the other common choice
  bool reverse = false;  // time runs from T-1 down to 0

  // Sequences of different lengths, packed along T with B = 1. Sequence n is steps cu_seqlens[n] to
  // cu_seqlens[n + 1] - 1, may be empty, and has its own state, so states are (sequences, H, K, V).
  // cu_seqlens begins with 0, ends with T, and is in the tensors' memory. Null: one per batch.
  const std::int64_t* cu_seqlens = nullptr;  // (sequences + 1)
  std::int64_t sequences = 0;

  static constexpr const char* kStorage = kWkvStorage<Element, LogW>;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("T", s.T, 0), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1), visit("log_w_stride_B", s.log_w_stride_B);
    visit("log_w_stride_T", s.log_w_stride_T), visit("scale", s.scale);
    visit("reverse", s.reverse), visit("sequences", s.sequences);
  }

  // Arrays with values per token are not read if there are no tokens.
  template <typename Self>
  static Presence presence(const Self& s) {
    return s.B == 0 || s.T == 0 ? Presence::kOptional : Presence::kRequired;
  }
  template <typename Self>
  static Axes log_w_axes(const Self& s) {
    if (s.log_w_stride_T == 0) return {{"h", s.H}, {"j", s.K}};
    return {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"j", s.K}};
  }
  template <typename Self>
  static Axes state_axes(const Self& s) {
    const bool packed = s.cu_seqlens != nullptr || s.sequences > 0;
    return {{packed ? "sequence" : "b", packed ? s.sequences : s.B},
            {"h", s.H},
            {"j", s.K},
            {"i", s.V}};
  }

  // Inputs of the forward pass, which the backward pass reads too.
  template <typename Self, typename Visit>
  static void inputs(Self& s, const Visit& visit) {
    const Presence tokens = presence(s);
    visit("q", s.q, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"j", s.K}}, tokens);
    visit("k", s.k, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"j", s.K}}, tokens);
    visit("v", s.v, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"i", s.V}}, tokens);
    visit("log_w", s.log_w, log_w_axes(s), tokens);
    visit("u", s.u, {{"h", s.H}, {"j", s.K}}, Presence::kOptional);  // GLA has none
    visit("initial_state", s.initial_state, state_axes(s), Presence::kOptional);
    visit("cu_seqlens", s.cu_seqlens, {{"n", s.sequences + 1}}, Presence::kOptional);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    inputs(s, visit);
    visit("o", s.o, {{"b", s.B}, {"t", s.T}, {"h", s.H}, {"i", s.V}}, presence(s));
    visit("final_state", s.final_state, state_axes(s), Presence::kOptional);
  }
};

using WkvArgs = BasicWkvArgs<float>;
using WkvBf16Args = BasicWkvArgs<bfloat16>;
using WkvBf16Fp32DecayArgs = BasicWkvArgs<bfloat16, float>;
using WkvFp16Args = BasicWkvArgs<float16>;  // forward only

// The gradients of a loss with respect to all inputs of the forward pass, from the gradients with
// respect to its outputs. As the forward pass is recomputed, its o and final_state stay null.
template <typename Element, typename LogW = Element>
struct BasicWkvGradArgs {
  BasicWkvArgs<Element, LogW> forward;

  const Element* d_o = nullptr;          // (B, T, H, V)
  const float* d_final_state = nullptr;  // (B, H, K, V), or null for zeros

  Element* dq = nullptr;             // (B, T, H, K)
  Element* dk = nullptr;             // (B, T, H, K)
  Element* dv = nullptr;             // (B, T, H, V)
  LogW* d_log_w = nullptr;           // as log_w: (B, T, H, K), or (H, K) summed over B and T
  float* du = nullptr;               // (H, K), summed over B and T; null for GLA
  float* d_initial_state = nullptr;  // (B, H, K, V), or null

  static constexpr const char* kStorage = kWkvStorage<Element, LogW>;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    BasicWkvArgs<Element, LogW>::fields(s.forward, visit);
  }

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    using Forward = BasicWkvArgs<Element, LogW>;
    const auto& f = s.forward;
    const Presence tokens = Forward::presence(f);
    Forward::inputs(s.forward, visit);
    visit("d_o", s.d_o, {{"b", f.B}, {"t", f.T}, {"h", f.H}, {"i", f.V}}, tokens);
    visit("d_final_state", s.d_final_state, Forward::state_axes(f), Presence::kOptional);
    visit("dq", s.dq, {{"b", f.B}, {"t", f.T}, {"h", f.H}, {"j", f.K}}, tokens);
    visit("dk", s.dk, {{"b", f.B}, {"t", f.T}, {"h", f.H}, {"j", f.K}}, tokens);
    visit("dv", s.dv, {{"b", f.B}, {"t", f.T}, {"h", f.H}, {"i", f.V}}, tokens);
    visit("d_log_w", s.d_log_w, Forward::log_w_axes(f));  // written even if there are no steps
    visit("du", s.du, {{"h", f.H}, {"j", f.K}}, Presence::kOptional);  // GLA has none
    visit("d_initial_state", s.d_initial_state, Forward::state_axes(f), Presence::kOptional);
  }
};

using WkvGradArgs = BasicWkvGradArgs<float>;
using WkvGradBf16Args = BasicWkvGradArgs<bfloat16>;
using WkvGradBf16Fp32DecayArgs = BasicWkvGradArgs<bfloat16, float>;

// Operators with the same arguments, which differ in when o reads the state, and in the bonus.
enum class Recurrence { kWkv, kGla };

enum class PackedSequences { kRefused, kAllowed };

// Rejects unsupported sizes, strides and pointers with a std::invalid_argument that names the
// argument. Values are not read, because check_log_w rejects a positive log_w where data enters.
template <typename Element, typename LogW>
void validate(const BasicWkvArgs<Element, LogW>& args,
              PackedSequences packed = PackedSequences::kRefused);

// The same for GLA, where u must be null because there is no bonus.
template <typename Element, typename LogW>
void validate_gla(const BasicWkvArgs<Element, LogW>& args,
                  PackedSequences packed = PackedSequences::kRefused);

template <typename Element, typename LogW>
void validate(const BasicWkvGradArgs<Element, LogW>& args);
template <typename Element, typename LogW>
void validate_gla(const BasicWkvGradArgs<Element, LogW>& args);

// Further limits of the early CUDA chapters: no states, forward time, K = V one of 4, 32, 64, 100,
// 128, 256. The error names `chapter`, such as "chapter 03".
void require_square_heads_without_state(const WkvArgs& args, const char* chapter);

// For kernels that load q, k, log_w and u in vectors of `alignment` bytes along K.
void require_aligned_rows(const WkvArgs& args, std::uintptr_t alignment);

// Rejects (std::invalid_argument) the first positive or NaN element, because a decay is at most 1.
void check_log_w(const float* log_w, std::int64_t count);

// FMA-class operations from the shape alone: 3 per state element and step, k*v, w*S + kv, o += q*S.
template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvArgs<Element, LogW>& args);
// 8 for the gradients, with G the state's gradient: k*v, w*S + kv, dq += d_o*S, q*d_o, w*G + q d_o,
// dk += G*v, dv += G*k and G*S.
template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvGradArgs<Element, LogW>& args);

}  // namespace ladder
