// Shared by the kernels with all of the operator's options: a sequence with its window, a grid of
// slots, and the allowed widths.
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

// A query sees only the last `window` of its keys.
struct WindowedSequence : Sequence {
  std::int64_t window = kMostRows;  // the default hides nothing

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

// Packed sequences use slots.
template <typename Element>
void require_grid(const FullAttentionArgs<Element>& args) {
  const BasicAttentionArgs<Element>& part = args;
  require_grid(part, kMostPacked);
}

// Channels of v and o: D for arguments without D_v. With D_v, the launcher has filled it in, so
// that no thread has to choose.
template <typename Args>
__device__ std::int64_t value_channels(const Args& args) {
  if constexpr (requires { args.D_v; }) {
    return args.D_v;
  } else {
    return args.D;
  }
}
template <typename Args>
Args with_value_channels(Args args) {
  args.D_v = args.channels_of_v();
  return args;
}

// The tile must fit the wider of the two.
template <typename Args>
std::int64_t most_channels(const Args& args) {
  return args.D > args.channels_of_v() ? args.D : args.channels_of_v();
}

// The offset of row `first` + `row`. With two strides, a 64-bit product per row needs registers
// that a kernel with options does not have.
template <bool kOptions>
__device__ std::int64_t row_offset(std::int64_t first, int row, std::int64_t stride) {
  const int within = row * static_cast<int>(stride);
  return kOptions ? first * stride + within : (first + row) * stride;
}

constexpr int kMostChannels = 256;

inline void require_units(const char* name, std::int64_t channels, std::int64_t most) {
  ladder::require(channels % 8 == 0 && channels <= most,
                  std::string(name) + " is " + std::to_string(channels) +
                      "; this kernel allows multiples of 8 up to " + std::to_string(most));
}

template <typename Element>
void require_units_of_channels(const BasicAttentionArgs<Element>& args) {
  require_units("D", args.D, kMostChannels);
}
// Also for v.
template <typename Args>
void require_units_of_all_channels(const Args& args, std::int64_t most = kMostChannels) {
  require_units("D", args.D, most);
  require_units("D_v", args.channels_of_v(), most);
}

}  // namespace flash_attention
