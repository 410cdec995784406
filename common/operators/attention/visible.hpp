// Which keys a query sees.
#pragma once

#include <cstdint>

#include "common/operators/attention/attention.hpp"

namespace ladder {

// A sequence is this part of the B * T_q queries and of the B * T_k keys.
struct AttentionSequence {
  std::int64_t first_query, queries, first_key, keys;
};
std::int64_t sequence_count(const AttentionArgs& a);
AttentionSequence sequence_of(const AttentionArgs& a, std::int64_t n);
// Its query l, counted from its first, sees so many of its first keys: never fewer than the one before it.
std::int64_t keys_seen(const AttentionArgs& a, const AttentionSequence& sequence, std::int64_t l);
// But none before this one: with a window.
std::int64_t first_key_seen(const AttentionArgs& a, const AttentionSequence& sequence,
                            std::int64_t l);
// Where the lse of query `row` of the B * T_q and of query head h is.
std::int64_t lse_index(const AttentionArgs& a, std::int64_t row, std::int64_t h);

}  // namespace ladder
