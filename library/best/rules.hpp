// Chooses the fastest kernel for a shape. Pure functions, which launch nothing. They compare times
// measured on both sides of every choice (README.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder::best {

enum class Kernel {
  // WKV and GLA
  kSharedMem,
  kFusedRecurrent,
  kTimeTiles,
  kChunkwise,
  kChunkwiseFused,
  // linear attention
  kStrips,
  kPacked,
  kPrefix,
  kChunkStates,
  kLinearChunkwise,
  // softmax attention
  kScalarTiles,
  kPipelined,
  kHopper,
  kSplitKeys,
  kSlidingWindow,
  // its gradients
  kGradientsScalar,
  kGradientsTwoKernels,
  kGradients,
  kGradientsHopper,
};

// The registered name, such as "wkv_time_tiles".
const char* name_of(Kernel kernel);

// The words that a row of an array consists of.
enum class Words {
  kPieces,  // 16 bytes
  kFour,    // four elements, where that is less than 16 bytes
  kSingle,  // elements
};

struct RecurrenceShape {
  std::int64_t T = 1;
  std::int64_t heads = 1;  // of all batches, B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;  // q, k, v, u and o have 16 bits, otherwise 32
  bool fp16 = false;  // q, k, v, u and o are fp16 (one kernel each in chapters 06 and 07)
  Words words = Words::kPieces;
  bool packed = false;  // cu_seqlens is given
  bool gla = false;
};

// The choice and its reason.
struct Choice {
  struct Time {
    Kernel kernel = {};
    double microseconds = 0;  // infinite if the kernel does not support the shape
  };
  Kernel kernel = {};
  const char* rule = "";  // in words
  // From the fitted lines, or empty if the rule compares no times.
  std::array<Time, 5> compared = {};
  std::size_t times = 0;
};

Choice explain(const RecurrenceShape& shape, int multiprocessors);

inline Kernel choose(const RecurrenceShape& shape, int multiprocessors) {
  return explain(shape, multiprocessors).kernel;
}

struct LinearAttentionShape {
  std::int64_t T = 1;      // steps: queries in the causal form, keys and queries otherwise
  std::int64_t heads = 1;  // of all batches, B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;
  Words words = Words::kPieces;
  bool plain = false;   // identity, no normaliser
  bool strips = false;  // chapter 03 takes it (plain, causal, T_q = T_k, no lengths, V <= 1024)
};

Choice explain(const LinearAttentionShape& shape, int multiprocessors);

inline Kernel choose(const LinearAttentionShape& shape, int multiprocessors) {
  return explain(shape, multiprocessors).kernel;
}

struct AttentionShape {
  std::int64_t rows = 1;         // of queries that share a key head, T_q * H_q / H_kv
  std::int64_t D = 64, D_v = 0;  // 0: D
  bool fp32 = false;             // q, k, v and o have 16 bits otherwise
  bool packed = false;  // cu_seqlens given, and rows are of a sequence of mean length, rounded up
  bool one_query = false;  // in each batch, or in the mean sequence
  bool negative_scale = false;
  bool extra = false;  // a window, a softcap or a scale of 0
  bool gradients = false;
  // Set by the caller.
  bool repeatable = false;  // the same bits again, whatever else is in the batch
  bool hopper = false;      // compute capability 9.0, and the program has Hopper kernels
};

// Decided by recorded winners, not by fitted times. README.md names the records and their gaps.
Choice explain(const AttentionShape& shape);

inline Kernel choose(const AttentionShape& shape) {
  return explain(shape).kernel;
}

template <typename Element, typename LogW>
RecurrenceShape shape_of(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence);

template <typename Element>
LinearAttentionShape shape_of(const BasicLinearAttentionArgs<Element>& args);

// The caller sets `repeatable` and `hopper`.
template <typename Element>
AttentionShape shape_of(const FullAttentionArgs<Element>& args);
template <typename Element>
AttentionShape shape_of(const FullAttentionGradArgs<Element>& args);

}  // namespace ladder::best
