#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "asan.hpp"

namespace emulator::detail {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;
using FiberEntry = void (*)(transfer_t);

#ifdef EMULATOR_ASAN
constexpr std::size_t kStackBytes = 512 * 1024;  // instrumented frames are several times larger
void before_switch(void** save, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(save, bottom, bytes);
}
void after_switch(void* saved, const void** bottom, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(saved, bottom, bytes);
}
#else
constexpr std::size_t kStackBytes = 128 * 1024;
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace

// Boost's switch also saves floating-point control words, which all fibers share. On x86-64 that
// took a quarter of the tests' time. A suspended stack begins with six registers and its return
// address.
#if defined(__x86_64__) && !defined(_WIN32)
[[gnu::naked, gnu::visibility("hidden")]] transfer_t switch_fiber(fcontext_t /*to*/,
                                                                  void* /*data*/) {
  asm("pushq %rbp; pushq %rbx; pushq %r15; pushq %r14; pushq %r13; pushq %r12;"
      "movq %rsp, %rax; movq %rdi, %rsp;"  // transfer_t as a result, in rax and rdx
      "popq %r12; popq %r13; popq %r14; popq %r15; popq %rbx; popq %rbp; popq %r8;"
      "movq %rsi, %rdx; movq %rax, %rdi;"  // and as an entry's argument, in rdi and rsi
      "jmpq *%r8");
}

static fcontext_t new_fiber(unsigned char* top, std::size_t /*bytes*/, FiberEntry entry) {
  void** const stack =
      reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}) - 8;
  stack[6] = reinterpret_cast<void*>(entry);
  stack[7] = nullptr;  // the entry function's return address
  return stack;
}
#else
static transfer_t switch_fiber(fcontext_t to, void* data) {
  return boost::context::detail::jump_fcontext(to, data);
}
static fcontext_t new_fiber(unsigned char* top, std::size_t bytes, FiberEntry entry) {
  return boost::context::detail::make_fcontext(top, bytes, entry);
}
#endif

Fiber::Fiber(std::size_t index, Scheduler& scheduler, FiberEntry entry)
    : scheduler_(scheduler), entry_(entry) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  mapped_bytes_ = kStackBytes + page;
  void* const mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<unsigned char*>(mapping);
  // An overflow faults at once. Without mappings left, the stack works without a guard.
  static_cast<void>(mprotect(mapping_, page, PROT_NONE));
  top_ = mapping_ + mapped_bytes_ - index % 32 * 128;
  restart();
}

Fiber::~Fiber() {
  munmap(mapping_, mapped_bytes_);
}

void Fiber::restart() {
  allow(mapping_, mapped_bytes_);
  fake_stack_ = nullptr;
  context_ = new_fiber(top_, static_cast<std::size_t>(top_ - mapping_), entry_);
}

// Each switch passes the address at which the context that it leaves is stored.
void Fiber::resume() {
  before_switch(&scheduler_.fake_stack, mapping_, mapped_bytes_);
  const transfer_t from = switch_fiber(context_, &scheduler_.context);
  after_switch(scheduler_.fake_stack, nullptr, nullptr);
  *static_cast<fcontext_t*>(from.data) = from.fctx;
}

void Fiber::entered(transfer_t from) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  after_switch(fake_stack_, &bottom, &bytes);
  *static_cast<fcontext_t*>(from.data) = from.fctx;
  if (from.data != &scheduler_.context) return;
  scheduler_.bottom = bottom;
  scheduler_.bytes = bytes;
}

void Fiber::suspend() {
  before_switch(&fake_stack_, scheduler_.bottom, scheduler_.bytes);
  entered(switch_fiber(scheduler_.context, &context_));
}

void Fiber::hand_over(Fiber& next) {
  before_switch(&fake_stack_, next.mapping_, next.mapped_bytes_);
  entered(switch_fiber(next.context_, &context_));
}

}  // namespace emulator::detail
