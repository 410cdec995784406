// Device functions that the course's kernels do not use and other people's do.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

// ---- Atomics ----

namespace emulator_check {

// `next` of the value in memory, by compare and swap, as the CUDA guide writes other atomics.
template <typename Value, typename Next>
Value atomic_update(Value* address, Next next) {
  Value before = atomicCAS(address, Value(), Value());
  for (;;) {
    const Value assumed = before;
    before = atomicCAS(address, assumed, next(assumed));
    if (before == assumed) return before;
  }
}

}  // namespace emulator_check

inline unsigned atomicInc(unsigned* address, unsigned most) {
  return emulator_check::atomic_update(address, [=](unsigned x) { return x >= most ? 0 : x + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned most) {
  return emulator_check::atomic_update(
      address, [=](unsigned x) { return x == 0 || x > most ? most : x - 1; });
}
#define EMULATOR_CHECK_SCOPES(name)                      \
  template <typename Value, typename... Values>          \
  auto name##_block(Value* address, Values... values) {  \
    return name(address, values...);                     \
  }                                                      \
  template <typename Value, typename... Values>          \
  auto name##_system(Value* address, Values... values) { \
    return name(address, values...);                     \
  }
EMULATOR_CHECK_SCOPES(atomicAdd)
EMULATOR_CHECK_SCOPES(atomicSub)
EMULATOR_CHECK_SCOPES(atomicExch)
EMULATOR_CHECK_SCOPES(atomicMin)
EMULATOR_CHECK_SCOPES(atomicMax)
EMULATOR_CHECK_SCOPES(atomicInc)
EMULATOR_CHECK_SCOPES(atomicDec)
EMULATOR_CHECK_SCOPES(atomicCAS)
EMULATOR_CHECK_SCOPES(atomicAnd)
EMULATOR_CHECK_SCOPES(atomicOr)
EMULATOR_CHECK_SCOPES(atomicXor)
#undef EMULATOR_CHECK_SCOPES

// ---- Loads and stores with a cache hint ----

template <typename Value>
Value __ldca(const Value* address) {
  return *address;
}
template <typename Value>
Value __ldcg(const Value* address) {
  return *address;
}
template <typename Value>
Value __ldlu(const Value* address) {
  return *address;
}
template <typename Value>
Value __ldcv(const Value* address) {
  return *address;
}
template <typename Value>
void __stcg(Value* address, Value value) {
  *address = value;
}
template <typename Value>
void __stwb(Value* address, Value value) {
  *address = value;
}
template <typename Value>
void __stwt(Value* address, Value value) {
  *address = value;
}

// ---- Integers ----

inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<std::uint32_t>(a << 8 >> 8) *
                          static_cast<std::uint32_t>(b << 8 >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline unsigned umin(unsigned a, unsigned b) {
  return a < b ? a : b;
}
inline unsigned umax(unsigned a, unsigned b) {
  return a > b ? a : b;
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = selector >> 4 * i & 7;
    result |= static_cast<unsigned>(bytes >> 8 * which & 0xff) << 8 * i;
  }
  return result;
}

// ---- Time ----

// A GPU's clock counts cycles. Here it only grows.
inline long long clock64() {
  static thread_local long long ticks = 0;
  return ++ticks;
}
inline void __nanosleep(unsigned) {}
