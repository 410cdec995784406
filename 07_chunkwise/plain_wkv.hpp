// The arguments of lessons 12 to 14 and 16, WKV in bf16 for heads of 64 channels. All others are
// rejected.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/bfloat16.hpp"
#include "common/core/errors.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

constexpr int kChannels = 64;  // K and V

enum class States { kRefused, kAllowed };

// Requirements beyond ladder::validate. Rows are copied in 16-byte vectors, and a block computes
// one head of one sequence.
inline void require_plain_wkv(const ladder::WkvBf16Args& args, States states = States::kRefused) {
  const bool allowed = states == States::kAllowed;
  ladder::validate(args);
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require(args.V == kChannels,
                  "V is " + std::to_string(args.V) + "; this kernel allows only K = V = 64");
  ladder::require(allowed || args.initial_state == nullptr,
                  "initial_state is given; this kernel allows a null pointer only");
  ladder::require(allowed || args.final_state == nullptr,
                  "final_state is given; this kernel allows a null pointer only");
  ladder::require(!args.reverse, "reverse is true; this kernel allows false only");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "H is " + std::to_string(args.H) + "; this kernel allows B * H up to 2^31 - 1");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_pointer("q", args.q, sizeof(uint4));
  ladder::require_pointer("k", args.k, sizeof(uint4));
  ladder::require_pointer("v", args.v, sizeof(uint4));
  ladder::require_pointer("log_w", args.log_w, sizeof(uint4));
  ladder::require_pointer("o", args.o, sizeof(uint4));
}

}  // namespace chunkwise
