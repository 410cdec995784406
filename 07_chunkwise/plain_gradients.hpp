// What lessons 17 and 18 compute: the gradients of WKV in fp32, of heads of 64 channels. They refuse the rest.
#pragma once

#include <string>

#include "common/core/errors.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

constexpr int kChannels = 64;  // K and V

// `lesson` says who refuses.
inline void require_plain_gradients(const ladder::WkvGradArgs& args, const char* lesson) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args.forward, lesson);
  ladder::require(
      args.d_final_state == nullptr,
      "d_final_state is given; this kernel allows only a null pointer: D begins with 0");
  ladder::require(args.d_initial_state == nullptr,
                  "d_initial_state is given; this kernel allows only a null pointer");
  ladder::require(args.forward.K == kChannels, "K is " + std::to_string(args.forward.K) +
                                                   "; this kernel allows only K = V = 64");
}

}  // namespace chunkwise
