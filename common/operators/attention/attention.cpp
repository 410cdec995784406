#include "common/operators/attention/attention.hpp"

#include <cmath>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"

namespace ladder {

float default_attention_scale(std::int64_t D) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
}

template <typename Element>
void validate(const BasicAttentionArgs<Element>& args, Scale scale) {
  validate_lists(args);
  require(args.H_q % args.H_kv == 0, "H_q is " + std::to_string(args.H_q) +
                                         "; allowed: a multiple of H_kv, which is " +
                                         std::to_string(args.H_kv));
  const bool is_allowed = args.scale > 0.0f || (scale == Scale::kOfAnySign && args.scale < 0.0f);
  require(is_allowed && std::isfinite(args.scale),
          "scale is " + std::to_string(args.scale) + "; allowed: a finite number " +
              (scale == Scale::kPositive ? "above 0" : "other than 0"));
  require((args.cu_seqlens_q == nullptr) == (args.cu_seqlens_k == nullptr),
          "one of cu_seqlens_q and cu_seqlens_k is null; allowed: both or neither");
  if (args.cu_seqlens_q != nullptr) {
    require(args.B == 1, "B is " + std::to_string(args.B) +
                             " with cu_seqlens; allowed: 1, all sequences in one");
    require(args.key_lengths == nullptr, "key_lengths is given; allowed without cu_seqlens only");
    require_at_least("sequences", args.sequences, 0);
  }
}

template <typename Element>
void validate(const BasicAttentionGradArgs<Element>& args) {
  validate(args.forward);
  validate_lists(args);
}

template <typename Element>
void require_usual_D(const BasicAttentionArgs<Element>& args, const char* who) {
  for (const std::int64_t D : {32, 64, 96, 128, 256}) {
    if (args.D == D) return;
  }
  throw std::invalid_argument("D is " + std::to_string(args.D) + "; allowed in " + who +
                              ": 32, 64, 96, 128, 256");
}

template <typename Element>
double attention_fma_count(const BasicAttentionArgs<Element>& args) {
  const double pairs = static_cast<double>(args.T_q) * args.T_k / (args.causal ? 2 : 1);
  return 2 * pairs * args.B * args.H_q * args.D;
}

template <typename Element>
double attention_fma_count(const BasicAttentionGradArgs<Element>& args) {
  return 2.5 * attention_fma_count(args.forward);
}

template void validate(const AttentionArgs&, Scale);
template void validate(const AttentionBf16Args&, Scale);
template void validate(const AttentionFp16Args&, Scale);
template void validate(const AttentionGradArgs&);
template void validate(const AttentionGradBf16Args&);
template void validate(const AttentionGradFp16Args&);
template void require_usual_D(const AttentionArgs&, const char*);
template void require_usual_D(const AttentionBf16Args&, const char*);
template void require_usual_D(const AttentionFp16Args&, const char*);
template double attention_fma_count(const AttentionArgs&);
template double attention_fma_count(const AttentionBf16Args&);
template double attention_fma_count(const AttentionFp16Args&);
template double attention_fma_count(const AttentionGradArgs&);
template double attention_fma_count(const AttentionGradBf16Args&);
template double attention_fma_count(const AttentionGradFp16Args&);

}  // namespace ladder
