#include "common/core/wkv.hpp"

#include <string>

#include "common/core/errors.hpp"

namespace ladder {

namespace {

// What WKV and GLA share: everything but u and o.
template <typename Element, typename LogW>
void validate_inputs(const BasicWkvArgs<Element, LogW>& args, PackedSequences packed) {
  require_at_least("B", args.B, 0);
  require_at_least("T", args.T, 0);
  require_at_least("H", args.H, 1);
  require_at_least("K", args.K, 1);
  require_at_least("V", args.V, 1);
  require((args.log_w_stride_B == 0 && args.log_w_stride_T == 0) ||
              (args.log_w_stride_B == args.T * args.H * args.K &&
               args.log_w_stride_T == args.H * args.K),
          "log_w has strides (" + std::to_string(args.log_w_stride_B) + ", " +
              std::to_string(args.log_w_stride_T) +
              "); allowed: (T*H*K, H*K) for a decay per token, (0, 0) for a decay per head");
  if (args.cu_seqlens != nullptr) {
    require(packed == PackedSequences::kAllowed,
            "cu_seqlens is given; allowed here: a null pointer, one sequence per batch");
    require_pointer("cu_seqlens", args.cu_seqlens, alignof(std::int64_t));
    require_at_least("sequences", args.sequences, 0);
    require(args.B == 1,
            "B is " + std::to_string(args.B) + "; packed sequences (cu_seqlens) allow only B = 1");
  }
  if (args.initial_state != nullptr)
    require_pointer("initial_state", args.initial_state, alignof(float));
  if (args.final_state != nullptr) require_pointer("final_state", args.final_state, alignof(float));
  if (args.B == 0 || args.T == 0) return;
  require_pointer("q", args.q, alignof(Element));
  require_pointer("k", args.k, alignof(Element));
  require_pointer("v", args.v, alignof(Element));
  require_pointer("log_w", args.log_w, alignof(LogW));
}

template <typename Element, typename LogW>
void validate_gradients(const BasicWkvGradArgs<Element, LogW>& args) {
  const BasicWkvArgs<Element, LogW>& a = args.forward;
  if (args.d_final_state != nullptr)
    require_pointer("d_final_state", args.d_final_state, alignof(float));
  if (args.d_initial_state != nullptr)
    require_pointer("d_initial_state", args.d_initial_state, alignof(float));
  const bool empty = a.B == 0 || a.T == 0;
  // A sum over no steps is written too.
  if (!empty || a.log_w_stride_T == 0) require_pointer("d_log_w", args.d_log_w, alignof(LogW));
  if (empty) return;
  require_pointer("d_o", args.d_o, alignof(Element));
  require_pointer("dq", args.dq, alignof(Element));
  require_pointer("dk", args.dk, alignof(Element));
  require_pointer("dv", args.dv, alignof(Element));
}

template <typename Element, typename LogW>
void require_no_bonus(const BasicWkvArgs<Element, LogW>& args) {
  require(args.u == nullptr, "u is given; gated linear attention allows only a null pointer");
}

}  // namespace

template <typename Element, typename LogW>
void validate(const BasicWkvArgs<Element, LogW>& args, PackedSequences packed) {
  validate_inputs(args, packed);
  if (args.B == 0 || args.T == 0) return;
  require_pointer("u", args.u, alignof(Element));
  require_pointer("o", args.o, alignof(Element));
}

template <typename Element, typename LogW>
void validate_gla(const BasicWkvArgs<Element, LogW>& args, PackedSequences packed) {
  validate_inputs(args, packed);
  require_no_bonus(args);
  if (args.B == 0 || args.T == 0) return;
  require_pointer("o", args.o, alignof(Element));
}

template <typename Element, typename LogW>
void validate(const BasicWkvGradArgs<Element, LogW>& args) {
  validate_inputs(args.forward, PackedSequences::kRefused);
  validate_gradients(args);
  require_pointer("u", args.forward.u, alignof(Element));
  require_pointer("du", args.du, alignof(float));
}

template <typename Element, typename LogW>
void validate_gla(const BasicWkvGradArgs<Element, LogW>& args) {
  validate_inputs(args.forward, PackedSequences::kRefused);
  validate_gradients(args);
  require_no_bonus(args.forward);
}

void require_square_heads_without_state(const WkvArgs& args, const char* chapter) {
  const std::string who = std::string(chapter) + " ";
  bool supported = false;
  for (std::int64_t size : {4, 32, 64, 100, 128, 256})
    supported = supported || args.K == size;
  require(supported && args.K == args.V, "K is " + std::to_string(args.K) + " and V is " +
                                             std::to_string(args.V) + "; " + who +
                                             "allows K = V in {4, 32, 64, 100, 128, 256}");
  require(args.initial_state == nullptr,
          "initial_state is given; " + who + "allows only a null pointer: it starts from zeros");
  require(
      args.final_state == nullptr,
      "final_state is given; " + who + "allows only a null pointer: it does not return the state");
  require(!args.reverse, "reverse is true; " + who + "allows only false: it runs forward in time");
}

void require_aligned_rows(const WkvArgs& args, std::uintptr_t alignment) {
  require_pointer("q", args.q, alignment);
  require_pointer("k", args.k, alignment);
  require_pointer("log_w", args.log_w, alignment);
  require_pointer("u", args.u, alignment);
}

void check_log_w(const float* log_w, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    require(log_w[i] <= 0.0f,
            "log_w[" + std::to_string(i) + "] is " + std::to_string(log_w[i]) +
                "; allowed: at most 0 (the logarithm of a decay factor), -inf included");
  }
}

template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvArgs<Element, LogW>& args) {
  return 3.0 * args.B * args.T * args.H * args.K * args.V;
}

template <typename Element, typename LogW>
double wkv_fma_count(const BasicWkvGradArgs<Element, LogW>& args) {
  const BasicWkvArgs<Element, LogW>& a = args.forward;
  return 8.0 * a.B * a.T * a.H * a.K * a.V;
}

template <typename Element, typename LogW>
double wkv_bytes(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence) {
  const double heads = static_cast<double>(args.B) * args.T * args.H;
  const double log_w_elements = args.log_w_stride_T == 0 ? args.H * args.K : heads * args.K;
  const double u_elements = recurrence == Recurrence::kWkv ? args.H * args.K : 0;
  return sizeof(Element) * (2 * heads * args.K + 2 * heads * args.V + u_elements) +
         sizeof(LogW) * log_w_elements;
}

// Everything the forward pass reads, with d_o in the place of o; then the gradients: all of that but o, and du in fp32.
template <typename Element, typename LogW>
double wkv_bytes(const BasicWkvGradArgs<Element, LogW>& args, Recurrence recurrence) {
  const BasicWkvArgs<Element, LogW>& a = args.forward;
  const double o_elements = static_cast<double>(a.B) * a.T * a.H * a.V;
  const double u_elements = recurrence == Recurrence::kWkv ? a.H * a.K : 0;
  return 2 * wkv_bytes(a, recurrence) - sizeof(Element) * o_elements +
         (sizeof(float) - sizeof(Element)) * u_elements;
}

template void validate(const WkvArgs&, PackedSequences);
template void validate_gla(const WkvArgs&, PackedSequences);
template void validate(const WkvGradArgs&);
template void validate_gla(const WkvGradArgs&);
template void validate(const WkvBf16Args&, PackedSequences);
template void validate_gla(const WkvBf16Args&, PackedSequences);
template void validate(const WkvGradBf16Args&);
template void validate_gla(const WkvGradBf16Args&);
template void validate(const WkvBf16Fp32DecayArgs&, PackedSequences);
template void validate_gla(const WkvBf16Fp32DecayArgs&, PackedSequences);
template void validate(const WkvGradBf16Fp32DecayArgs&);
template void validate_gla(const WkvGradBf16Fp32DecayArgs&);
template double wkv_fma_count(const WkvArgs&);
template double wkv_fma_count(const WkvBf16Args&);
template double wkv_fma_count(const WkvBf16Fp32DecayArgs&);
template double wkv_fma_count(const WkvGradArgs&);
template double wkv_fma_count(const WkvGradBf16Args&);
template double wkv_fma_count(const WkvGradBf16Fp32DecayArgs&);
template double wkv_bytes(const WkvArgs&, Recurrence);
template double wkv_bytes(const WkvBf16Args&, Recurrence);
template double wkv_bytes(const WkvBf16Fp32DecayArgs&, Recurrence);
template double wkv_bytes(const WkvGradArgs&, Recurrence);
template double wkv_bytes(const WkvGradBf16Args&, Recurrence);
template double wkv_bytes(const WkvGradBf16Fp32DecayArgs&, Recurrence);

}  // namespace ladder
