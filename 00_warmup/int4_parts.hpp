// Shared by lessons 20b and 20c, a thread's part of the packed weights and checks of arguments.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "00_warmup/low_bit.hpp"
#include "common/core/errors.hpp"

namespace warmup {

constexpr int kColumns = 4;               // per thread, whose words are 16 bytes
constexpr int kWords = 4;                 // rows of words per part, which are in one group
constexpr int kPart = kWords * kNibbles;  // k per part

// A float whose exponent bits are 0 or 1 is its bits, as an integer, times 2^-149. A nibble in
// position 0 to 5 of a word is therefore already a float, q * 16^position * 2^-149, without a
// conversion. Elements of A are multiplied by 2^64 / 16^position, which is exact. Their products
// with nibbles are then a * q * 2^-85, far from both ends of fp32's range.
constexpr int kPlaces = 6;
constexpr int kUp = 64;
constexpr float kDown = 0x1p-64f, kOfProduct = 0x1p85f;

inline __device__ float power_of_2(int exponent) {
  return __int_as_float((127 + exponent) << 23);
}
inline __device__ int place_of(int nibble) {
  return nibble % kPlaces;
}

// A part of four columns.
struct Part {
  uint4 words[kWords];
  float4 scale;
  uchar4 zero;
};

// Four adjacent elements of a row. With kWide they are aligned, otherwise those from `count` on are
// 0.
template <typename Four, bool kWide, typename Element>
__device__ Four four_of(const Element* from, std::int64_t count) {
  if (kWide) return *reinterpret_cast<const Four*>(from);
  Four four = {};
  four.x = from[0];
  if (count > 1) four.y = from[1];
  if (count > 2) four.z = from[2];
  if (count > 3) four.w = from[3];
  return four;
}

// Parts per group, as a power of 2. Rejects other groups.
inline int group_shift_of(const LowBitArgs<4>& args) {
  int shift = 0;
  while (shift < 26 && std::int64_t{kPart} << shift < args.GROUP)
    ++shift;
  ladder::require(
      std::int64_t{kPart} << shift == args.GROUP || args.GROUP >= args.K,
      "GROUP is " + std::to_string(args.GROUP) + "; allowed: 32, 64, 128 and so on, and K or more");
  return args.GROUP >= args.K ? 30 : shift;
}

// True if all arrays can be loaded in groups of four.
inline bool in_fours(const LowBitArgs<4>& args) {
  const auto begins_at = [](const void* pointer, int multiple) {
    return reinterpret_cast<std::uintptr_t>(pointer) % multiple == 0;
  };
  return args.N % 4 == 0 && args.K % 4 == 0 && begins_at(args.a, 16) && begins_at(args.w, 16) &&
         begins_at(args.scale, 16) && begins_at(args.zero, 4);
}

}  // namespace warmup
