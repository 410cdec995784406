#include "common/testing/first_nan.hpp"

#if defined(__linux__) && defined(__x86_64__)
#include <execinfo.h>
#include <link.h>
#include <ucontext.h>

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "common/core/device.hpp"

namespace ladder::testing {
namespace {

constexpr int kMostLines = 100;
constexpr unsigned kInvalid = 0x01, kInvalidMask = 0x80;  // in MXCSR
constexpr greg_t kTrapFlag = 0x100;                       // in EFLAGS

std::uintptr_t program_base = 0;
Device* cuda_device = nullptr;

// Additions, products, quotients and roots. Comparisons, conversions, minima and maxima are called invalid too, but make no NaN,
// or none that was not there.
bool makes_nan(const unsigned char* code) {
  while (*code == 0x66 || *code == 0xF2 || *code == 0xF3 || (*code & 0xF0) == 0x40)
    ++code;  // prefixes
  if (*code == 0xC4 && (code[1] & 0x1F) == 2)
    return code[3] >= 0x96 && code[3] <= 0xBF;  // fused multiply-adds
  const unsigned char operation = *code == 0xC4 ? code[3] : *code == 0xC5 ? code[2] : code[1];
  return operation == 0x51 || operation == 0x58 || operation == 0x59 || operation == 0x5C ||
         operation == 0x5E;
}

// Without the standard library's inline functions: the X-ray would take the instrumented copies of them for the kernel's own.
void print_calls(std::uintptr_t code) {
  constexpr int kMostCalls = 40;
  void* calls[kMostCalls];
  const int count = backtrace(calls, kMostCalls);
  const auto print = [](std::uintptr_t address) {
    std::printf(" 0x%jx", static_cast<std::uintmax_t>(address - program_base));
  };
  std::printf("nan:");
  print(code);
  bool caller = false;  // calls begins with this handler's
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(calls[i]);
    if (caller) print(address - 1);
    caller = caller || address == code;
  }
  if (cuda_device != nullptr) cuda_device->print_running_thread();
  std::puts("");
  std::fflush(stdout);
}

// The operation is made once more, alone and without the trap.
void on_invalid(int, siginfo_t*, void* context) {
  static int lines = 0;
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto code = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
  if (lines < kMostLines && makes_nan(reinterpret_cast<const unsigned char*>(code))) {
    ++lines;
    print_calls(code);
  }
  machine.fpregs->mxcsr = (machine.fpregs->mxcsr & ~kInvalid) | kInvalidMask;
  machine.gregs[REG_EFL] |= kTrapFlag;
}

void on_operation_made(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  machine.fpregs->mxcsr &= ~(kInvalid | kInvalidMask);
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
  feenableexcept(FE_INVALID);
}

}  // namespace ladder::testing
#else
namespace ladder::testing {
void trace_nans() {}
}  // namespace ladder::testing
#endif
