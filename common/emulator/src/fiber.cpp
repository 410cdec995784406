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

// Boost's switch keeps the floating-point control words of every fiber, too. Here all fibers have the same, and on x86-64 those took a
// quarter of the tests' time. A suspended stack begins with six registers and the address where it goes on.
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
  stack[7] = nullptr;  // to where the entry would return
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

Fiber::Fiber(std::size_t index, void (*entry)(boost::context::detail::transfer_t)) : entry_(entry) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  mapped_bytes_ = kStackBytes + page;
  void* const mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<unsigned char*>(mapping);
  // An overflow faults at once. Where the system runs out of mappings, the stack works unguarded.
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

void Fiber::resume(void* data) {
  before_switch(&scheduler_fake_stack_, mapping_, mapped_bytes_);
  context_ = switch_fiber(context_, data).fctx;
  after_switch(scheduler_fake_stack_, nullptr, nullptr);
}

void Fiber::entered(boost::context::detail::transfer_t from) {
  scheduler_ = from.fctx;
  after_switch(nullptr, &scheduler_bottom_, &scheduler_bytes_);
}

void Fiber::suspend() {
  before_switch(&fake_stack_, scheduler_bottom_, scheduler_bytes_);
  scheduler_ = switch_fiber(scheduler_, nullptr).fctx;
  after_switch(fake_stack_, &scheduler_bottom_, &scheduler_bytes_);
}

}  // namespace emulator::detail
