// The keys that a query sees.
#pragma once

#include <cstdint>

#include "common/operators/attention/attention.hpp"

namespace ladder {

// The range of a sequence in the B * T_q queries and in the B * T_k keys.
struct AttentionSequence {
  std::int64_t first_query, queries, first_key, keys;
};
std::int64_t sequence_count(const AttentionArgs& a);
AttentionSequence sequence_of(const AttentionArgs& a, std::int64_t n);
// Query l of the sequence sees this many of its first keys, never fewer than query l - 1.
std::int64_t keys_seen(const AttentionArgs& a, const AttentionSequence& sequence, std::int64_t l);
// It sees none before this key, which is 0 without a window.
std::int64_t first_key_seen(const AttentionArgs& a, const AttentionSequence& sequence,
                            std::int64_t l);
// The index in lse of query `row` of the B * T_q, in query head h.
std::int64_t lse_index(const AttentionArgs& a, std::int64_t row, std::int64_t h);

}  // namespace ladder
