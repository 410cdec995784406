// The stack and the next instruction of a suspended CUDA thread.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace emulator::detail {

// The operating-system thread that resumes fibers, and AddressSanitizer's data about its stack.
struct Scheduler {
  boost::context::detail::fcontext_t context = nullptr;
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

// Not boost::context::fiber, which unwinds an unfinished fiber with an exception. That must not
// pass through instrumented or noexcept kernel code. An abandoned fiber's stack is only reused.
class Fiber {
 public:
  // `index` staggers the tops of stacks, which otherwise compete for the same cache sets.
  Fiber(std::size_t index, Scheduler& scheduler, void (*entry)(boost::context::detail::transfer_t));
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The scheduler runs this fiber, and those to which it hands over, until one suspends.
  void resume();
  // The fiber returns to the scheduler until it is resumed.
  void suspend();
  // The fiber suspends, and `next` continues without the scheduler.
  void hand_over(Fiber& next);
  // First statement of the entry function.
  void entered(boost::context::detail::transfer_t from);
  // The scheduler drops the fiber's work.
  void restart();

  // Called before a resume, because other fibers have evicted this stack from the L1 cache.
  void prefetch() const {
    constexpr int kLines = 4;
    for (int i = 0; i < kLines; ++i)
      __builtin_prefetch(static_cast<const char*>(context_) + 64 * i, 1);
  }

  const void* stack_begin() const { return mapping_; }
  const void* stack_end() const { return mapping_ + mapped_bytes_; }

 private:
  unsigned char* mapping_;
  std::size_t mapped_bytes_;
  unsigned char* top_;
  Scheduler& scheduler_;
  void (*entry_)(boost::context::detail::transfer_t);
  boost::context::detail::fcontext_t context_ = nullptr;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
};

}  // namespace emulator::detail
