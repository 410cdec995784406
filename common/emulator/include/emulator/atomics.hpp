// Relaxed atomic operations that return the old value, as on the GPU. std::type_identity_t keeps
// CUDA's conversions, for example atomicAdd(float*, 1) adds 1.0f.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace emulator::detail {

// Atomics report themselves, because the X-ray's hooks would see a load and a compare-exchange.
#ifdef EMULATOR_XRAY
void observe_atomic(const void* address, std::size_t bytes);
#else
inline void observe_atomic(const void*, std::size_t) {}
#endif

template <typename T>
std::atomic_ref<T> atomic(T* address) {
  observe_atomic(address, sizeof(T));
  return std::atomic_ref<T>(*address);
}

template <typename T, typename Update>
T atomic_update(T* address, Update update) {
  std::atomic_ref<T> target = atomic(address);
  T old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, update(old), std::memory_order_relaxed)) {
  }
  return old;
}

template <typename T, typename... Allowed>
concept OneOf = (std::is_same_v<T, Allowed> || ...);
template <typename T>
concept AtomicInteger = OneOf<T, int, unsigned, long long, unsigned long long>;

}  // namespace emulator::detail

template <emulator::detail::OneOf<int, unsigned, unsigned long long, float, double> T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return emulator::detail::atomic(address).fetch_add(value, std::memory_order_relaxed);
  } else {
    return emulator::detail::atomic_update(address, [=](T old) { return old + value; });
  }
}
template <emulator::detail::OneOf<int, unsigned> T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic(address).fetch_sub(value, std::memory_order_relaxed);
}
template <emulator::detail::OneOf<int, unsigned, unsigned long long, float> T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic(address).exchange(value, std::memory_order_relaxed);
}
template <emulator::detail::OneOf<int, unsigned, unsigned long long, unsigned short> T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  emulator::detail::atomic(address).compare_exchange_strong(compare, value,
                                                            std::memory_order_relaxed);
  return compare;
}
template <emulator::detail::AtomicInteger T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic_update(address, [=](T old) { return old < value ? old : value; });
}
template <emulator::detail::AtomicInteger T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic_update(address, [=](T old) { return old < value ? value : old; });
}
template <emulator::detail::AtomicInteger T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic(address).fetch_and(value, std::memory_order_relaxed);
}
template <emulator::detail::AtomicInteger T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic(address).fetch_or(value, std::memory_order_relaxed);
}
template <emulator::detail::AtomicInteger T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return emulator::detail::atomic(address).fetch_xor(value, std::memory_order_relaxed);
}

inline void __threadfence_block() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_system() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Cache hints change no result.
template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcs(const T* address) {
  return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}
