#include "common/testing/first_nan.hpp"

#if defined(__linux__) && defined(__x86_64__)
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/core/device.hpp"

namespace ladder::testing {
namespace {

constexpr int kMostLines = 100;
constexpr int kMostOperations = 100'000;
constexpr unsigned kInvalid = 0x01, kInvalidMask = 0x80;  // in MXCSR
constexpr greg_t kTrapFlag = 0x100;                       // in EFLAGS

std::uintptr_t program_base = 0;
Device* cuda_device = nullptr;

// The SSE registers, in words of 4 bytes.
constexpr int kWords = 64;

// The operation to be executed again, with its address and the registers before it.
std::uintptr_t operation = 0;
std::uint32_t before[kWords];

// x86 makes this NaN from numbers. A NaN made from another NaN keeps that one's bits.
bool is_made_of_numbers(const std::uint32_t* registers, int word) {
  if (registers[word] == before[word]) return false;
  return registers[word] == 0xFFC00000u ||
         (word % 2 == 1 && registers[word] == 0xFFF80000u && registers[word - 1] == 0);
}

// Calls that were printed. Threads with the same calls are not printed again.
std::uint64_t printed[kMostLines];
int lines = 0;

// Avoids the standard library's inline functions, whose instrumented copies the X-ray would count.
void print_calls(std::uintptr_t next) {
  constexpr int kMostCalls = 40;
  void* calls[kMostCalls];
  const int count = backtrace(calls, kMostCalls);
  std::uint64_t hash = operation;
  bool caller = false;  // the handler's own calls come first
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(calls[i]);
    constexpr std::uint64_t kPrime = 0x100000001b3;
    if (caller) hash = (hash ^ address) * kPrime;
    caller = caller || address == next;
  }
  for (int i = 0; i < lines; ++i) {
    if (printed[i] == hash) return;
  }
  printed[lines++] = hash;
  const auto print = [](const char* before, std::uintptr_t address) {
    std::printf("%s\"0x%jx\"", before, static_cast<std::uintmax_t>(address - program_base));
  };
  print(R"({"fact":"nan","addresses":[)", operation);
  caller = false;
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(calls[i]);
    if (caller) print(",", address - 1);
    caller = caller || address == next;
  }
  std::printf(R"(],"where":")");
  if (cuda_device != nullptr) cuda_device->print_running_thread();
  std::puts("\"}");
  std::fflush(stdout);
}

// Executes the operation again, alone and without the trap.
void on_invalid(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  operation = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
  std::memcpy(before, machine.fpregs->_xmm, sizeof before);
  machine.fpregs->mxcsr = (machine.fpregs->mxcsr & ~kInvalid) | kInvalidMask;
  machine.gregs[REG_EFL] |= kTrapFlag;
}

void on_operation_made(int, siginfo_t*, void* context) {
  static int operations = 0;
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  std::uint32_t registers[kWords];
  std::memcpy(registers, machine.fpregs->_xmm, sizeof registers);
  for (int word = 0; word < kWords && lines < kMostLines; ++word) {
    if (!is_made_of_numbers(registers, word)) continue;
    print_calls(static_cast<std::uintptr_t>(machine.gregs[REG_RIP]));
    break;
  }
  machine.fpregs->mxcsr &= ~kInvalid;
  // A program full of NaN raises millions of traps, which are useless after the printed lines.
  if (lines < kMostLines && ++operations < kMostOperations) machine.fpregs->mxcsr &= ~kInvalidMask;
  machine.gregs[REG_EFL] &= ~kTrapFlag;
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void trace_nans() {
  if (std::getenv("LADDER_TRACE_NAN") == nullptr) return;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void*) {
        program_base = program->dlpi_addr;
        return 1;  // the program is the first
      },
      nullptr);
  if (why_unavailable(DeviceKind::kCuda).empty()) cuda_device = &device(DeviceKind::kCuda);
  handle(SIGFPE, on_invalid);
  handle(SIGTRAP, on_operation_made);
  // Only for SSE. An x87 trap, from the tests' long doubles, would be raised again and again,
  // because the handler clears only SSE's.
  _mm_setcsr(_mm_getcsr() & ~kInvalidMask);
}

}  // namespace ladder::testing
#else
namespace ladder::testing {
void trace_nans() {}
}  // namespace ladder::testing
#endif
