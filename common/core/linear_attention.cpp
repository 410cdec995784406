#include "common/core/linear_attention.hpp"

#include "common/core/errors.hpp"

namespace ladder {

template <typename Element>
void validate(const BasicLinearAttentionArgs<Element>& args) {
  require_at_least("B", args.B, 0);
  require_at_least("T_q", args.T_q, 0);
  require_at_least("T_k", args.T_k, 0);
  require_at_least("H", args.H, 1);
  require_at_least("K", args.K, 1);
  require_at_least("V", args.V, 1);
  require(args.eps >= 0.0f, "eps is " + std::to_string(args.eps) + "; allowed: 0 or more");
  if (args.B == 0 || args.T_q == 0) return;
  require_pointer("q", args.q, alignof(Element));
  require_pointer("o", args.o, alignof(Element));
  if (args.T_k == 0) return;
  require_pointer("k", args.k, alignof(Element));
  require_pointer("v", args.v, alignof(Element));
  if (args.key_lengths != nullptr) {
    require_pointer("key_lengths", args.key_lengths, alignof(std::int64_t));
  }
}

template <typename Element>
double linear_attention_fma_count(const BasicLinearAttentionArgs<Element>& args) {
  return static_cast<double>(args.B) * (args.T_q + args.T_k) * args.H * args.K * args.V;
}

template <typename Element>
double linear_attention_bytes(const BasicLinearAttentionArgs<Element>& args) {
  const double heads = static_cast<double>(args.B) * args.H;
  return sizeof(Element) * heads * (args.T_q + args.T_k) * (args.K + args.V);
}

template void validate(const LinearAttentionArgs&);
template void validate(const LinearAttentionBf16Args&);
template double linear_attention_fma_count(const LinearAttentionArgs&);
template double linear_attention_fma_count(const LinearAttentionBf16Args&);
template double linear_attention_bytes(const LinearAttentionArgs&);
template double linear_attention_bytes(const LinearAttentionBf16Args&);

}  // namespace ladder
