// AddressSanitizer's functions, if the emulator is built with it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif
#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator::detail {

#ifdef EMULATOR_ASAN
inline constexpr bool kAsan = true;
inline void forbid(void* begin, std::size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
inline void allow(void* begin, std::size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
inline constexpr bool kAsan = false;
inline void forbid(void*, std::size_t) {}
inline void allow(void*, std::size_t) {}
#endif

}  // namespace emulator::detail
