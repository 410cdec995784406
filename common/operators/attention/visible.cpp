#include "common/operators/attention/visible.hpp"

#include <algorithm>

namespace ladder {

std::int64_t sequence_count(const AttentionArgs& a) {
  return a.cu_seqlens_q == nullptr ? a.B : a.sequences;
}

AttentionSequence sequence_of(const AttentionArgs& a, std::int64_t n) {
  if (a.cu_seqlens_q == nullptr)
    return {n * a.T_q, a.T_q, n * a.T_k, a.key_lengths == nullptr ? a.T_k : a.key_lengths[n]};
  const std::int64_t *queries = a.cu_seqlens_q + n, *keys = a.cu_seqlens_k + n;
  return {queries[0], queries[1] - queries[0], keys[0], keys[1] - keys[0]};
}

std::int64_t keys_seen(const AttentionArgs& a, const AttentionSequence& sequence, std::int64_t l) {
  if (!a.causal) return sequence.keys;
  return std::max<std::int64_t>(0, l + 1 + sequence.keys - sequence.queries);
}

std::int64_t first_key_seen(const AttentionArgs& a, const AttentionSequence& sequence,
                            std::int64_t l) {
  if (a.window == 0) return 0;
  return std::max<std::int64_t>(0, keys_seen(a, sequence, l) - a.window);
}

std::int64_t lse_index(const AttentionArgs& a, std::int64_t row, std::int64_t h) {
  return (row / a.T_q * a.H_q + h) * a.T_q + row % a.T_q;
}

}  // namespace ladder
