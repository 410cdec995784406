// Which kernel is the fastest for a shape. Pure functions: nothing is launched, and every number in them was measured on both
// sides (README.md).
#pragma once

#include <cstdint>

#include "common/core/linear_attention.hpp"
#include "common/core/wkv.hpp"

namespace ladder::best {

// Of WKV or GLA.
enum class RecurrenceKernel {
  kRecurrent,  // step after step: "wkv_recurrent", for GLA "wkv_time_tiles"
  kChunkwise,  // chunks on tensor cores: "wkv_chunkwise"
};

struct RecurrenceShape {
  std::int64_t T = 1;
  std::int64_t heads = 1;  // of all batches: B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;    // q, k, v, u and o; fp32 otherwise
  bool packed = false;  // cu_seqlens is given
  bool gla = false;
};

RecurrenceKernel choose(const RecurrenceShape& shape, int multiprocessors);

enum class LinearAttentionKernel {
  kRecurrent,  // "linear_attention_shared_mem"
  kChunkwise,  // "linear_attention_chunkwise"
  kStrips,     // "causal_dot_product": any K
};

struct LinearAttentionShape {
  std::int64_t T_q = 1, T_k = 1;
  std::int64_t heads = 1;  // of all batches: B * H
  std::int64_t K = 64, V = 64;
  bool bf16 = false;
  bool whole_words = true;  // every row of q, k, v and o begins at a multiple of 16 bytes
  bool plain = false;       // causal, identity, no normaliser, T_q = T_k, no key lengths
};

LinearAttentionKernel choose(const LinearAttentionShape& shape, int multiprocessors);

// What the rules look at, from a launcher's arguments.
template <typename Element, typename LogW>
RecurrenceShape shape_of(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence) {
  return {.T = args.T,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == 2,
          .packed = args.cu_seqlens != nullptr,
          .gla = recurrence == Recurrence::kGla};
}

template <typename Element>
LinearAttentionShape shape_of(const BasicLinearAttentionArgs<Element>& args) {
  constexpr std::uintptr_t kWord = 16;
  const auto whole = [](const Element* pointer, std::int64_t width) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kWord == 0 &&
           width * sizeof(Element) % kWord == 0;
  };
  return {.T_q = args.T_q,
          .T_k = args.T_k,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == 2,
          .whole_words = whole(args.q, args.K) && whole(args.k, args.K) && whole(args.v, args.V) &&
                         whole(args.o, args.V),
          .plain = args.causal && args.feature_map == FeatureMap::kIdentity && !args.normalize &&
                   args.T_q == args.T_k && args.key_lengths == nullptr};
}

}  // namespace ladder::best
