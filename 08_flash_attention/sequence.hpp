// Where the queries and keys of one batch, or of one packed sequence, lie; and which keys a query sees.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/attention.hpp"

namespace chapter08 {

using ladder::BasicAttentionArgs;

// Rows are counted over all batches: row r of q begins at q + r * H_q * D.
struct Sequence {
  std::int64_t first_query = 0, queries = 0;
  std::int64_t first_key = 0, keys = 0;
  std::int64_t first_lse = 0;  // of query head 0
  bool causal = false;

  // Query l, counted from the sequence's first, sees keys 0 .. keys_seen(l) - 1.
  __host__ __device__ std::int64_t keys_seen(std::int64_t l) const {
    const std::int64_t aligned = l + 1 + keys - queries;
    if (!causal || aligned > keys) return keys;
    return aligned < 0 ? 0 : aligned;
  }
};

// How many there are: batches, or packed sequences.
template <typename Element>
std::int64_t sequence_count(const BasicAttentionArgs<Element>& args) {
  return args.cu_seqlens_q != nullptr ? args.sequences : args.B;
}

// Batch or packed sequence n. The lse of its query l and query head h is lse[first_lse + h * T_q + l].
template <typename Element>
__device__ Sequence sequence_of(const BasicAttentionArgs<Element>& args, std::int64_t n) {
  Sequence s;
  s.causal = args.causal;
  if (args.cu_seqlens_q != nullptr) {
    s.first_query = s.first_lse = args.cu_seqlens_q[n];
    s.queries = args.cu_seqlens_q[n + 1] - s.first_query;
    s.first_key = args.cu_seqlens_k[n];
    s.keys = args.cu_seqlens_k[n + 1] - s.first_key;
  } else {
    s.first_query = n * args.T_q;
    s.queries = args.T_q;
    s.first_key = n * args.T_k;
    s.keys = args.key_lengths != nullptr ? args.key_lengths[n] : args.T_k;
    s.first_lse = n * args.H_q * args.T_q;
  }
  return s;
}

// Sequence::keys_seen() in 32 bits, for a kernel's innermost loops: row r of the queries from `first` on sees keys(r) keys, or none
// where that is negative.
struct Visible {
  int of_first, step, most;  // step: 1 in the causal form, 0 where all see the same
  __device__ int keys(int row) const { return min(of_first + step * row, most); }
};

inline __device__ Visible visible_from(const Sequence& s, std::int64_t first) {
  const std::int64_t of_first = s.causal ? first + 1 + s.keys - s.queries : s.keys;
  return {static_cast<int>(of_first), s.causal, static_cast<int>(s.keys)};
}

}  // namespace chapter08
