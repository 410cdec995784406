#include "common/core/linear_attention.hpp"

#include "common/core/errors.hpp"

namespace ladder {

void validate(const LinearAttentionArgs& args) {
  require_at_least("B", args.B, 0);
  require_at_least("T_q", args.T_q, 0);
  require_at_least("T_k", args.T_k, 0);
  require_at_least("H", args.H, 1);
  require_at_least("K", args.K, 1);
  require_at_least("V", args.V, 1);
  require(args.eps >= 0.0f, "eps is " + std::to_string(args.eps) + "; allowed: 0 or more");
  if (args.B == 0 || args.T_q == 0) return;
  require_pointer("q", args.q, alignof(float));
  require_pointer("o", args.o, alignof(float));
  if (args.T_k == 0) return;
  require_pointer("k", args.k, alignof(float));
  require_pointer("v", args.v, alignof(float));
  if (args.key_lengths != nullptr) {
    require_pointer("key_lengths", args.key_lengths, alignof(std::int64_t));
  }
}

double linear_attention_fma_count(const LinearAttentionArgs& args) {
  return static_cast<double>(args.B) * (args.T_q + args.T_k) * args.H * args.K * args.V;
}

double linear_attention_bytes(const LinearAttentionArgs& args) {
  const double heads = static_cast<double>(args.B) * args.H;
  return sizeof(float) * heads * (args.T_q + args.T_k) * (args.K + args.V);
}

}  // namespace ladder
