// Requirements beyond ladder::validate. Rows are copied in 16-byte vectors, and a block computes
// one head of one sequence.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/plain_gradients.hpp"
#include "common/core/errors.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

inline void require_what_is_taken(const ladder::WkvGradBf16Args& args) {
  ladder::validate(args);
  const ladder::WkvBf16Args& forward = args.forward;
  const auto require_null = [](const char* name, const void* pointer) {
    ladder::require(pointer == nullptr,
                    std::string(name) + " is given; this kernel allows only a null pointer");
  };
  require_null("initial_state", forward.initial_state);
  require_null("final_state", forward.final_state);
  require_null("d_final_state", args.d_final_state);
  require_null("d_initial_state", args.d_initial_state);
  ladder::require(!forward.reverse, "reverse is true; this kernel allows false only");
  ladder::require(forward.K == kChannels,
                  "K is " + std::to_string(forward.K) + "; this kernel allows only K = V = 64");
  ladder::require(forward.V == kChannels,
                  "V is " + std::to_string(forward.V) + "; this kernel allows only K = V = 64");
  ladder::require(
      forward.B <= INT32_MAX / forward.H,
      "H is " + std::to_string(forward.H) + "; this kernel allows B * H up to 2^31 - 1");
  if (forward.B == 0 || forward.T == 0) return;
  ladder::require_pointer("q", forward.q, sizeof(uint4));
  ladder::require_pointer("k", forward.k, sizeof(uint4));
  ladder::require_pointer("v", forward.v, sizeof(uint4));
  ladder::require_pointer("log_w", forward.log_w, sizeof(uint4));
  ladder::require_pointer("d_o", args.d_o, sizeof(uint4));
  ladder::require_pointer("dq", args.dq, sizeof(uint4));
  ladder::require_pointer("dk", args.dk, sizeof(uint4));
  ladder::require_pointer("dv", args.dv, sizeof(uint4));
  if (forward.log_w_stride_T > 0) ladder::require_pointer("d_log_w", args.d_log_w, sizeof(uint4));
}

}  // namespace chunkwise
