// What the kernels that take all of the operator's options share: a sequence with its window, a grid of slots, and which widths they have.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "08_flash_attention/sequence.hpp"
#include "08_flash_attention/slots.hpp"
#include "common/core/errors.hpp"
#include "common/operators/attention/attention.hpp"

namespace flash_attention {

using ladder::FullAttentionArgs;

// Of the keys that a query sees, these are the last `window`.
struct WindowedSequence : Sequence {
  std::int64_t window = kMostRows;  // of so many nothing is hidden

  __host__ __device__ std::int64_t first_key_seen(std::int64_t l) const {
    const std::int64_t first_key = keys_seen(l) - window;
    return first_key < 0 ? 0 : first_key;
  }
};

template <typename Element>
__device__ WindowedSequence sequence_of(const FullAttentionArgs<Element>& args, std::int64_t n) {
  const BasicAttentionArgs<Element>& part = args;
  WindowedSequence s{sequence_of(part, n)};
  if (args.window > 0 && args.window < kMostRows) s.window = args.window;
  return s;
}

inline __device__ Visible visible_from(const WindowedSequence& s, std::int64_t first) {
  const Sequence& whole = s;
  Visible visible = visible_from(whole, first);
  visible.window = static_cast<int>(s.window);
  return visible;
}

// Packed sequences lie in slots.
template <typename Element>
void require_grid(const FullAttentionArgs<Element>& args) {
  const BasicAttentionArgs<Element>& part = args;
  require_grid(part, kMostPacked);
}

constexpr int kMostChannels = 256;

template <typename Element>
void require_units_of_channels(const BasicAttentionArgs<Element>& args) {
  ladder::require(args.D % 8 == 0 && args.D <= kMostChannels,
                  "D is " + std::to_string(args.D) + "; this kernel allows multiples of 8 up to " +
                      std::to_string(kMostChannels));
}

}  // namespace flash_attention
