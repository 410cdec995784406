// The queries and keys of one batch or packed sequence, and the keys that a query sees.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/clamped.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

using ladder::BasicAttentionArgs;
using ladder::cuda::clamped;

constexpr std::int64_t kMostRows = INT32_MAX - 1024;  // queries or keys, in 32 bits

// Rows are counted over all batches. Row r of q begins at q + r * H_q * D.
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
  __host__ __device__ std::int64_t first_key_seen(std::int64_t) const { return 0; }
};

// The number of batches, or of packed sequences.
template <typename Element>
std::int64_t sequence_count(const BasicAttentionArgs<Element>& args) {
  return args.cu_seqlens_q != nullptr ? args.sequences : args.B;
}

// The first row of packed sequence n, clamped to the T rows of all. Sorted offsets stay sorted.
inline __device__ std::int64_t first_row_of(const std::int64_t* cu_seqlens, std::int64_t n,
                                            std::int64_t T) {
  return clamped(cu_seqlens[n], 0, T);
}

// Batch or packed sequence n. Only kernels see the lengths. Wrong ones give another sequence, but
// one in bounds. The lse of its query l and query head h is lse[first_lse + h * T_q + l].
template <typename Element>
__device__ Sequence sequence_of(const BasicAttentionArgs<Element>& args, std::int64_t n) {
  Sequence s;
  s.causal = args.causal;
  if (args.cu_seqlens_q != nullptr) {
    s.first_query = s.first_lse = first_row_of(args.cu_seqlens_q, n, args.T_q);
    s.queries = clamped(args.cu_seqlens_q[n + 1], s.first_query, args.T_q) - s.first_query;
    s.first_key = first_row_of(args.cu_seqlens_k, n, args.T_k);
    s.keys = clamped(args.cu_seqlens_k[n + 1], s.first_key, args.T_k) - s.first_key;
  } else {
    s.first_query = n * args.T_q;
    s.queries = args.T_q;
    s.first_key = n * args.T_k;
    s.keys = args.key_lengths != nullptr ? clamped(args.key_lengths[n], 0, args.T_k) : args.T_k;
    s.first_lse = n * args.H_q * args.T_q;
  }
  return s;
}

// Sequence::keys_seen() in 32 bits, for a kernel's innermost loops. Row r of the queries from
// `first` on sees keys(r) keys, or none if that is negative, and of these the last `window`.
struct Visible {
  int of_first, step, most;  // `step` is 1 if causal, 0 if all rows see the same
  int window = kMostRows;
  __device__ int keys(int row) const { return min(of_first + step * row, most); }
};

inline __device__ Visible visible_from(const Sequence& s, std::int64_t first) {
  const std::int64_t of_first = s.causal ? first + 1 + s.keys - s.queries : s.keys;
  return {static_cast<int>(of_first), s.causal, static_cast<int>(s.keys)};
}

// Limits of a grid of tiles, heads and sequences, and of 32-bit row numbers. At most `most_packed`
// packed sequences are allowed.
template <typename Element>
void require_grid(const BasicAttentionArgs<Element>& args, std::int64_t most_packed = 65535) {
  constexpr std::int64_t kMost = 65535;
  const auto require_at_most = [](const char* name, std::int64_t value, std::int64_t most) {
    ladder::require(value <= most, std::string(name) + " is " + std::to_string(value) +
                                       "; allowed in this kernel: up to " + std::to_string(most));
  };
  require_at_most("sequences", args.cu_seqlens_q != nullptr ? args.sequences : 0, most_packed);
  require_at_most("B", args.B, kMost);
  require_at_most("H_q", args.H_q, kMost);
  require_at_most("T_q", args.T_q, kMostRows);
  require_at_most("T_k", args.T_k, kMostRows);
}

// Requirements of lessons 10 to 14, which are whole sequences of 64 or 128 channels, in rows of
// 16-byte vectors. Returns false if there is nothing to compute.
template <typename Element>
bool require_whole_rows(const BasicAttentionArgs<Element>& args) {
  constexpr std::uintptr_t kUnitBytes = 16;  // of a vector
  ladder::validate(args);
  ladder::require(args.D == 64 || args.D == 128,
                  "D is " + std::to_string(args.D) + "; this kernel allows 64 and 128");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows T_k keys for every batch");
  ladder::require(args.cu_seqlens_q == nullptr,
                  "cu_seqlens_q is given; this kernel allows no packed sequences");
  require_grid(args);
  if (args.B == 0 || args.T_q == 0) return false;
  ladder::require_pointer("q", args.q, kUnitBytes);
  if (args.T_k > 0) {
    ladder::require_pointer("k", args.k, kUnitBytes);
    ladder::require_pointer("v", args.v, kUnitBytes);
  }
  ladder::require_pointer("o", args.o, sizeof(std::uint32_t));
  return true;
}

}  // namespace flash_attention
