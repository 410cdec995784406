#include "common/operators/wkv/wkv.hpp"

#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/options.hpp"

namespace ladder {

namespace {

// Validates everything except u, for WKV, GLA and their gradients.
template <typename Args, typename Element, typename LogW>
void validate_all(const Args& args, const BasicWkvArgs<Element, LogW>& forward,
                  PackedSequences packed) {
  validate_lists(args);
  require((forward.log_w_stride_B == 0 && forward.log_w_stride_T == 0) ||
              (forward.log_w_stride_B == forward.T * forward.H * forward.K &&
               forward.log_w_stride_T == forward.H * forward.K),
          "log_w has strides (" + std::to_string(forward.log_w_stride_B) + ", " +
              std::to_string(forward.log_w_stride_T) +
              "); allowed: (T*H*K, H*K) for a decay per token, (0, 0) for a decay per head");
  if (forward.cu_seqlens == nullptr) return;
  require(packed == PackedSequences::kAllowed,
          "cu_seqlens is given; allowed here: a null pointer, one sequence per batch");
  require_at_least("sequences", forward.sequences, 0);
  require(forward.B == 1,
          "B is " + std::to_string(forward.B) + "; packed sequences (cu_seqlens) allow only B = 1");
}

template <typename Element, typename LogW>
void require_no_bonus(const BasicWkvArgs<Element, LogW>& args) {
  require(args.u == nullptr, "u is given; gated linear attention allows only a null pointer");
}

}  // namespace

template <typename Element, typename LogW>
void validate(const BasicWkvArgs<Element, LogW>& args, PackedSequences packed) {
  validate_all(args, args, packed);
  if (args.B > 0 && args.T > 0) require_pointer("u", args.u, alignof(Element));
}

template <typename Element, typename LogW>
void validate_gla(const BasicWkvArgs<Element, LogW>& args, PackedSequences packed) {
  validate_all(args, args, packed);
  require_no_bonus(args);
}

template <typename Element, typename LogW>
void validate(const BasicWkvGradArgs<Element, LogW>& args) {
  validate_all(args, args.forward, PackedSequences::kRefused);
  if (args.forward.B > 0 && args.forward.T > 0)
    require_pointer("u", args.forward.u, alignof(Element));
  require_pointer("du", args.du, alignof(float));
}

template <typename Element, typename LogW>
void validate_gla(const BasicWkvGradArgs<Element, LogW>& args) {
  validate_all(args, args.forward, PackedSequences::kRefused);
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
            "log_w[" + std::to_string(i) + "] is " + to_text(log_w[i]) +
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

template void validate(const WkvArgs&, PackedSequences);
template void validate_gla(const WkvArgs&, PackedSequences);
template void validate(const WkvGradArgs&);
template void validate_gla(const WkvGradArgs&);
template void validate(const WkvBf16Args&, PackedSequences);
template void validate_gla(const WkvBf16Args&, PackedSequences);
template void validate(const WkvGradBf16Args&);
template void validate_gla(const WkvGradBf16Args&);
template void validate(const WkvFp16Args&, PackedSequences);
template void validate_gla(const WkvFp16Args&, PackedSequences);
template void validate(const WkvBf16Fp32DecayArgs&, PackedSequences);
template void validate_gla(const WkvBf16Fp32DecayArgs&, PackedSequences);
template void validate(const WkvGradBf16Fp32DecayArgs&);
template void validate_gla(const WkvGradBf16Fp32DecayArgs&);
template double wkv_fma_count(const WkvArgs&);
template double wkv_fma_count(const WkvBf16Args&);
template double wkv_fma_count(const WkvBf16Fp32DecayArgs&);
template double wkv_fma_count(const WkvFp16Args&);
template double wkv_fma_count(const WkvGradArgs&);
template double wkv_fma_count(const WkvGradBf16Args&);
template double wkv_fma_count(const WkvGradBf16Fp32DecayArgs&);

}  // namespace ladder
