// The arguments and sizes of lessons 07 to 09c, the causal product in bf16 for heads of 64
// channels. All others are rejected. 16b computes its gradients.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"

namespace chunkwise {

constexpr int kChannels = 64;              // K and V
constexpr int kChunk = kChannels;          // tokens, so q, k, v, scores and state are 64 x 64
constexpr int kSize = kChunk * kChannels;  // elements of each
constexpr int kBlock = 16;                 // rows and columns of two neighbouring products
constexpr int kBlocks = kChunk / kBlock;   // blocks along a side
constexpr int kThreads = kBlocks * ladder::cuda::kWarpSize;

// Limits of the sizes B, H, K and V.
template <typename Args>
void require_plain_heads(const Args& args) {
  ladder::require(args.K == kChannels && args.V == kChannels,
                  "K is " + std::to_string(args.K) + " and V is " + std::to_string(args.V) +
                      "; this kernel allows only K = V = 64");
  ladder::require(args.B <= 65535 && args.H <= 65535,
                  "B is " + std::to_string(args.B) + " and H is " + std::to_string(args.H) +
                      "; this kernel allows up to 65535 of each");
}

// For arrays that must all be given, because rows are copied in 16-byte vectors.
struct RequireUnits {
  template <typename Element>
  void operator()(const char* name, Element* array, const ladder::Axes&) const {
    ladder::require_pointer(name, array, sizeof(uint4));
  }
};

// Requirements beyond ladder::validate, because rows are copied in 16-byte vectors.
inline void require_plain_product(const ladder::LinearAttentionBf16Args& args) {
  ladder::validate(args);
  ladder::require(args.causal, "causal is false; this kernel allows the causal form only");
  ladder::require(args.feature_map == ladder::FeatureMap::kIdentity,
                  "feature_map is elu + 1; this kernel allows the identity only");
  ladder::require(!args.normalize, "normalize is true; this kernel allows false only");
  ladder::require(args.key_lengths == nullptr,
                  "key_lengths is given; this kernel allows a null pointer only");
  ladder::require(args.T_q == args.T_k, "T_q is " + std::to_string(args.T_q) + " and T_k is " +
                                            std::to_string(args.T_k) +
                                            "; this kernel allows T_q = T_k only");
  require_plain_heads(args);
  if (args.B == 0 || args.T_q == 0) return;
  ladder::require_pointer("q", args.q, sizeof(uint4));
  ladder::require_pointer("k", args.k, sizeof(uint4));
  ladder::require_pointer("v", args.v, sizeof(uint4));
  ladder::require_pointer("o", args.o, sizeof(uint4));
}

}  // namespace chunkwise
