// The functions that the compiler calls in code built with -fsanitize=thread and
// -fsanitize-coverage=trace-pc. The compiler prescribes their names.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "recorder.hpp"

namespace {

using emulator::xray::Operation;
using emulator::xray::Recorder;

// Linking this file turns the X-ray on.
[[maybe_unused]] const bool installed = [] {
  emulator::install(Recorder::instance());
  return true;
}();

std::uintptr_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Passes a kernel's event to the recorder. Events during the recorder's own work are ignored,
// because it may use the same instrumented copies of the standard library's inline functions.
template <typename Note>
void note(Note note) {
  Recorder& recorder = Recorder::instance();
  if (!recorder.in_kernel()) return;
  recorder.in_kernel(false);
  note(recorder);
  recorder.in_kernel(true);
}

void access(const void* pc, const void* address, unsigned bytes, Operation operation) {
  note([=](Recorder& recorder) {
    recorder.accessed(number(pc), number(address), bytes, operation);
  });
}

// For sizes other than 1, 2, 4, 8 and 16 bytes. A GPU moves such a range in words of 4 bytes, or of
// 1 byte if its size or address is not a multiple of 4.
void access_range(const void* pc, const void* address, std::size_t bytes, Operation operation) {
  const unsigned word = bytes % 4 == 0 && number(address) % 4 == 0 ? 4 : 1;
  for (std::size_t at = 0; at < bytes; at += word)
    access(pc, static_cast<const char*>(address) + at, word, operation);
}

}  // namespace

namespace emulator::detail {

void observe_atomic(const void* address, std::size_t bytes) {
  access(__builtin_return_address(0), address, static_cast<unsigned>(bytes), Operation::kAtomic);
}

}  // namespace emulator::detail

#define HOOK extern "C" __attribute__((visibility("default")))
#define PC __builtin_return_address(0)

HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void* call) {
  note([=](Recorder& recorder) { recorder.entered(number(call)); });
}
HOOK void __tsan_func_exit() {
  note([](Recorder& recorder) { recorder.left(); });
}
HOOK void __sanitizer_cov_trace_pc() {
  const void* const pc = PC;
  note([=](Recorder& recorder) { recorder.passed(number(pc)); });
}

#define ACCESS_HOOKS(bytes)                         \
  HOOK void __tsan_read##bytes(void* a) {           \
    access(PC, a, bytes, Operation::kLoad);         \
  }                                                 \
  HOOK void __tsan_write##bytes(void* a) {          \
    access(PC, a, bytes, Operation::kStore);        \
  }                                                 \
  HOOK void __tsan_volatile_read##bytes(void* a) {  \
    access(PC, a, bytes, Operation::kLoad);         \
  }                                                 \
  HOOK void __tsan_volatile_write##bytes(void* a) { \
    access(PC, a, bytes, Operation::kStore);        \
  }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

HOOK void __tsan_read_range(void* a, std::size_t bytes) {
  access_range(PC, a, bytes, Operation::kLoad);
}
HOOK void __tsan_write_range(void* a, std::size_t bytes) {
  access_range(PC, a, bytes, Operation::kStore);
}
HOOK void __tsan_vptr_update(void*, void*) {}

// These only perform the operation. Inside kernels only the emulator's headers use std::atomic, and
// they report their accesses themselves.
#define ATOMIC_HOOKS(bits)                                                                    \
  using Word##bits = std::uint##bits##_t;                                                     \
  HOOK Word##bits __tsan_atomic##bits##_load(const Word##bits* a, int) {                      \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                              \
  }                                                                                           \
  HOOK void __tsan_atomic##bits##_store(Word##bits* a, Word##bits value, int) {               \
    __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_exchange(Word##bits* a, Word##bits value, int) {      \
    return __atomic_exchange_n(a, value, __ATOMIC_SEQ_CST);                                   \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_fetch_add(Word##bits* a, Word##bits value, int) {     \
    return __atomic_fetch_add(a, value, __ATOMIC_SEQ_CST);                                    \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_fetch_sub(Word##bits* a, Word##bits value, int) {     \
    return __atomic_fetch_sub(a, value, __ATOMIC_SEQ_CST);                                    \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_fetch_and(Word##bits* a, Word##bits value, int) {     \
    return __atomic_fetch_and(a, value, __ATOMIC_SEQ_CST);                                    \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_fetch_or(Word##bits* a, Word##bits value, int) {      \
    return __atomic_fetch_or(a, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                           \
  HOOK Word##bits __tsan_atomic##bits##_fetch_xor(Word##bits* a, Word##bits value, int) {     \
    return __atomic_fetch_xor(a, value, __ATOMIC_SEQ_CST);                                    \
  }                                                                                           \
  HOOK int __tsan_atomic##bits##_compare_exchange_strong(Word##bits* a, Word##bits* expected, \
                                                         Word##bits value, int, int) {        \
    return __atomic_compare_exchange_n(a, expected, value, false, __ATOMIC_SEQ_CST,           \
                                       __ATOMIC_SEQ_CST);                                     \
  }                                                                                           \
  HOOK int __tsan_atomic##bits##_compare_exchange_weak(Word##bits* a, Word##bits* expected,   \
                                                       Word##bits value, int, int) {          \
    return __atomic_compare_exchange_n(a, expected, value, true, __ATOMIC_SEQ_CST,            \
                                       __ATOMIC_SEQ_CST);                                     \
  }
ATOMIC_HOOKS(8)
ATOMIC_HOOKS(16)
ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)

HOOK void __tsan_atomic_thread_fence(int) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
HOOK void __tsan_atomic_signal_fence(int) {}

// In code built with _GLIBCXX_ASSERTIONS, libstdc++ calls this for an index past a container's end.
// Its own version prints the same sentence, but not the program's line.
namespace std {
[[noreturn]] void __glibcxx_assert_fail(const char* file, int line, const char* function,
                                        const char* condition) noexcept {
  const std::string where = Recorder::instance().source_of({PC});
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: %s: Assertion '%s' failed.\n%s%s\n", file, line, function, condition,
               where.empty() ? "" : "called at ", where.c_str());
  std::abort();
}
}  // namespace std
