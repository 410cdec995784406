// Chooses the fastest kernel for a shape. These are pure functions that launch nothing. They
// compare times that were measured on both sides of every choice; README.md explains how.
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

// Its registered name: "wkv_time_tiles".
const char* name_of(Kernel kernel);

// The words that a row of an array consists of.
enum class Words {
  kPieces,  // vectors of 16 bytes
  kFour,    // four elements, if these have less than 16 bytes
  kSingle,  // single elements
};

struct RecurrenceShape {
  std::int64_t T = 1;
  std::int64_t heads = 1;  // of all batches: B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;  // q, k, v, u and o have 16 bits; fp32 otherwise
  bool fp16 = false;  // as bf16, but fp16, for which chapters 06 and 07 have one kernel each
  Words words = Words::kPieces;
  bool packed = false;  // cu_seqlens is given
  bool gla = false;
};

// The choice and its reason.
struct Choice {
  struct Time {
    Kernel kernel = {};
    double microseconds = 0;  // infinite if the kernel does not accept the shape
  };
  Kernel kernel = {};
  const char* rule = "";  // in words
  // From the lines fitted to the measured times; none if the rule uses no times.
  std::array<Time, 5> compared = {};
  std::size_t times = 0;
};

Choice explain(const RecurrenceShape& shape, int multiprocessors);

inline Kernel choose(const RecurrenceShape& shape, int multiprocessors) {
  return explain(shape, multiprocessors).kernel;
}

struct LinearAttentionShape {
  std::int64_t T = 1;      // steps: queries in the causal form, keys and queries otherwise
  std::int64_t heads = 1;  // of all batches: B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;
  Words words = Words::kPieces;
  bool plain = false;  // identity, no normaliser
  bool strips =
      // plain and causal, as many keys as queries, no lengths, V up to 1024: chapter 03's problem
      false;
};

Choice explain(const LinearAttentionShape& shape, int multiprocessors);

inline Kernel choose(const LinearAttentionShape& shape, int multiprocessors) {
  return explain(shape, multiprocessors).kernel;
}

struct AttentionShape {
  std::int64_t rows = 1;         // rows of queries that share a key head: T_q * H_q / H_kv
  std::int64_t D = 64, D_v = 0;  // D_v = 0 means D
  bool fp32 = false;             // q, k, v and o have 16 bits otherwise
  bool packed =
      false;  // cu_seqlens is given; `rows` are those of a sequence of the mean length, rounded up
  bool one_query = false;  // in each batch, or on average in the sequences
  bool negative_scale = false;
  bool extra = false;  // a window, a softcap or a scale of 0
  bool gradients = false;
  // Set by the caller.
  bool repeatable = false;  // the same bits every time, whatever else is in the batch
  bool hopper = false;  // a GPU of compute capability 9.0, and this program has the Hopper kernels
};

// Uses no fitted times. The records decide; README.md names them, and lists what lies between them.
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
