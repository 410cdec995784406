// The shapes that the rules know, and how they are read from a launcher's arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace ladder::best {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The words that a row of an array consists of.
enum class Words {
  kPieces,  // vectors of 16 bytes
  kFour,    // four elements, if these have less than 16 bytes
  kSingle,  // single elements
};

// What the rules ask of a GPU.
struct Card {
  int multiprocessors = 132;
  int kilobytes = 227;  // of shared memory, at most for a block
};
constexpr Card kH200 = {};  // the measured one

struct RecurrenceShape {
  std::int64_t T = 1;
  std::int64_t heads = 1;  // of all batches: B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;        // q, k, v, u and o have 16 bits; fp32 otherwise
  bool fp16 = false;        // as bf16, but fp16, for which chapters 06 and 07 have one kernel each
  bool fp32_decay = false;  // log_w has 32 bits beside 16
  Words words = Words::kPieces;
  bool packed = false;  // cu_seqlens is given
  bool gla = false;
};

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

// The widest words of arrays that begin at `pointers` (null ones do not count) and have rows of K
// and V elements.
template <typename Element>
Words words_of(std::initializer_list<const void*> pointers, std::int64_t K, std::int64_t V) {
  const auto consist_of = [&](std::uintptr_t bytes) {
    return K * sizeof(Element) % bytes == 0 && V * sizeof(Element) % bytes == 0 &&
           std::all_of(pointers.begin(), pointers.end(), [&](const void* pointer) {
             return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
           });
  };
  if (consist_of(16)) return Words::kPieces;
  return consist_of(4 * sizeof(Element)) ? Words::kFour : Words::kSingle;
}

template <typename Element, typename LogW>
RecurrenceShape shape_of(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence) {
  return {.T = args.T,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == sizeof(bfloat16),
          .fp16 = std::is_same_v<Element, float16>,
          .fp32_decay = sizeof(LogW) > sizeof(Element),
          .words = words_of<Element>({args.q, args.k, args.v, args.log_w, args.o}, args.K, args.V),
          .packed = args.cu_seqlens != nullptr,
          .gla = recurrence == Recurrence::kGla};
}

template <typename Element>
LinearAttentionShape shape_of(const BasicLinearAttentionArgs<Element>& args) {
  const bool plain = args.feature_map == FeatureMap::kIdentity && !args.normalize;
  constexpr std::int64_t kMostColumns = 1024;  // threads of chapter 03's block
  return {.T = args.causal ? args.T_q : args.T_k + args.T_q,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == sizeof(bfloat16),
          .words = words_of<Element>({args.q, args.k, args.v, args.o}, args.K, args.V),
          .plain = plain,
          .strips = plain && args.causal && args.T_q == args.T_k && args.key_lengths == nullptr &&
                    args.V <= kMostColumns};
}

template <typename Element>
AttentionShape shape_of(const FullAttentionArgs<Element>& args) {
  const std::int64_t group = args.H_kv > 0 ? args.H_q / args.H_kv : 1;
  const bool packed = args.cu_seqlens_q != nullptr;
  const std::int64_t of_each =
      packed ? ceil_div(args.T_q, std::max<std::int64_t>(args.sequences, 1)) : args.T_q;
  return {.rows = of_each * group,
          .D = args.D,
          .D_v = args.channels_of_v(),
          .fp32 = std::is_same_v<Element, float>,
          .packed = packed,
          .one_query = of_each <= 1,
          .negative_scale = args.scale < 0.0f,
          .extra = args.window != 0 || args.softcap != 0.0f || args.scale == 0.0f};
}

template <typename Element>
AttentionShape shape_of(const FullAttentionGradArgs<Element>& args) {
  AttentionShape shape = shape_of(args.forward);
  shape.gradients = true;
  return shape;
}

}  // namespace ladder::best
