#include "common/operators/linear_attention/linear_attention.hpp"

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/options.hpp"

namespace ladder {

template <typename Element>
void validate(const BasicLinearAttentionArgs<Element>& args) {
  validate_lists(args);
  require(args.eps >= 0.0f, "eps is " + to_text(args.eps) + "; allowed: 0 or more");
}

template <typename Element>
double linear_attention_fma_count(const BasicLinearAttentionArgs<Element>& args) {
  return static_cast<double>(args.B) * (args.T_q + args.T_k) * args.H * args.K * args.V;
}

template void validate(const LinearAttentionArgs&);
template void validate(const LinearAttentionBf16Args&);
template void validate(const LinearAttentionFp16Args&);
template double linear_attention_fma_count(const LinearAttentionArgs&);
template double linear_attention_fma_count(const LinearAttentionBf16Args&);
template double linear_attention_fma_count(const LinearAttentionFp16Args&);

}  // namespace ladder
