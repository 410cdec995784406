// What is right in softmax attention (common/operators/attention/attention.hpp has the formulas and their sources).
#pragma once

#include <cstdint>
#include <vector>

#include "common/operators/attention/cases.hpp"

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

template <typename Number>
struct BasicAttentionResult {
  std::vector<Number> o;        // (B, T_q, H_q, D_v)
  std::vector<Number> lse;      // (B, H_q, T_q)
  std::vector<Number> largest;  // (B, H_q, T_q): of the scaled scores
};

using AttentionResult = BasicAttentionResult<double>;

// By the formula: the largest of a query's scores, then the sum.
AttentionResult attention_closed_sum(const AttentionArgs& a);

// Made from the exact o and lse: those that the arguments hold, which were rounded, are not looked at.
BasicAttentionGradients<double> attention_gradients(const AttentionGradArgs& a);

}  // namespace ladder
