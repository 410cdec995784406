// WKV, the recurrent linear attention of RWKV-5/6: the arguments every implementation takes.
//
// For each (b, h), with S_0 the initial state or zeros, key row j and value column i:
//
//     o_t[i]    = scale * sum_j q_t[j] * (S_{t-1}[j][i] + u[j] * k_t[j] * v_t[i])
//     S_t[j][i] = exp(log_w_t[j]) * S_{t-1}[j][i] + k_t[j] * v_t[i]
//
// Source: Peng et al., "Eagle and Finch: RWKV with Matrix-Valued States and Dynamic Recurrence" (2024);
// there q is r (receptance), o is y, and K = V is the head size N.
//
// Gated linear attention (GLA) is the same recurrence, read after the update and without the bonus; its gate g is log_w here:
//
//     S_t = diag(exp(g_t)) S_{t-1} + k_t v_t        o_t = scale * q_t S_t
//
// Source: Yang et al., "Gated Linear Attention Transformers with Hardware-Efficient Training" (2024). Its launchers take the
// same arguments with u = null.
#pragma once

#include <cstdint>

#include "common/core/bfloat16.hpp"

namespace ladder {

// Arrays are contiguous and row-major. Sizes count elements, never bytes. `Element` is what q, k, v, u and o are stored as,
// `LogW` what log_w is; states are always float, and so is all arithmetic.
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
  const float* initial_state = nullptr;  // (B, H, K, V); null: zeros
  Element* o = nullptr;                  // (B, T, H, V)
  float* final_state = nullptr;          // (B, H, K, V); null: not wanted

  // How far log_w moves per batch and per time step: T*H*K and H*K for RWKV-6, 0 and 0 for RWKV-5.
  std::int64_t log_w_stride_B = 0;
  std::int64_t log_w_stride_T = 0;

  float scale = 1.0f;    // 1 in RWKV; 1/sqrt(K) is the other common choice
  bool reverse = false;  // time runs from T-1 down to 0

  // Sequences of different lengths, packed one behind the other along T with B = 1: sequence n is steps
  // cu_seqlens[n] to cu_seqlens[n + 1] - 1, may be empty, and has a state of its own: states are then
  // (sequences, H, K, V). cu_seqlens[0] = 0, cu_seqlens[sequences] = T; it lies where the tensors lie. Null: each
  // batch is one sequence.
  const std::int64_t* cu_seqlens = nullptr;  // (sequences + 1)
  std::int64_t sequences = 0;
};

using WkvArgs = BasicWkvArgs<float>;
using WkvBf16Args = BasicWkvArgs<bfloat16>;
using WkvBf16Fp32DecayArgs = BasicWkvArgs<bfloat16, float>;

// The gradients of a loss with respect to everything the forward pass reads, from those with respect to what it writes. The
// forward pass is computed again: its o and final_state are not needed and stay null.
template <typename Element, typename LogW = Element>
struct BasicWkvGradArgs {
  BasicWkvArgs<Element, LogW> forward;

  const Element* d_o = nullptr;          // (B, T, H, V)
  const float* d_final_state = nullptr;  // (B, H, K, V); null: zeros

  Element* dq = nullptr;             // (B, T, H, K)
  Element* dk = nullptr;             // (B, T, H, K)
  Element* dv = nullptr;             // (B, T, H, V)
  LogW* d_log_w = nullptr;           // as log_w: (B, T, H, K), or (H, K) summed over B and T
  float* du = nullptr;               // (H, K), summed over B and T; null for GLA
  float* d_initial_state = nullptr;  // (B, H, K, V); null: not wanted
};

using WkvGradArgs = BasicWkvGradArgs<float>;
using WkvGradBf16Args = BasicWkvGradArgs<bfloat16>;
using WkvGradBf16Fp32DecayArgs = BasicWkvGradArgs<bfloat16, float>;

// Two operators with the same arguments: when the state is read, and whether there is a bonus.
enum class Recurrence { kWkv, kGla };

enum class PackedSequences { kRefused, kAllowed };

// Refuses sizes, strides and pointers that no implementation can take (std::invalid_argument that names
// the argument). Values are not read: a positive log_w is refused where data enters, by check_log_w.
template <typename Element, typename LogW>
void validate(const BasicWkvArgs<Element, LogW>& args,
              PackedSequences packed = PackedSequences::kRefused);

// The same for GLA, which has no bonus: u must be null.
template <typename Element, typename LogW>
void validate_gla(const BasicWkvArgs<Element, LogW>& args,
                  PackedSequences packed = PackedSequences::kRefused);

template <typename Element, typename LogW>
void validate(const BasicWkvGradArgs<Element, LogW>& args);
template <typename Element, typename LogW>
void validate_gla(const BasicWkvGradArgs<Element, LogW>& args);

// The further limits of the early CUDA chapters: no states, forward time, K = V one of 4, 32, 64, 100, 128, 256.
// `chapter` ("chapter 03") says who refuses.
void require_square_heads_without_state(const WkvArgs& args, const char* chapter);

// For kernels that read q, k, log_w and u in words of `alignment` bytes, along K.
void require_aligned_rows(const WkvArgs& args, std::uintptr_t alignment);

// Refuses (std::invalid_argument) the first element that is positive or NaN: a decay is at most 1.
void check_log_w(const float* log_w, std::int64_t count);

// Work and compulsory traffic, from the shape alone.
// 3 fused-multiply-add-class operations per state element and step: k*v, w*S + kv, o += q*S.
template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvArgs<Element, LogW>& args);
// 8 for the gradients: k*v, w*S + kv, dq += d_o*S; q*d_o, w*G + q d_o (G: the state's gradient), dk += G*v, dv += G*k, G*S.
template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvGradArgs<Element, LogW>& args);
// Bytes when every tensor but the states moves once; log_w counts as often as it is stored.
template <typename Element, typename LogW>
double wkv_bytes(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence = Recurrence::kWkv);
template <typename Element, typename LogW>
double wkv_bytes(const BasicWkvGradArgs<Element, LogW>& args,
                 Recurrence recurrence = Recurrence::kWkv);

}  // namespace ladder
