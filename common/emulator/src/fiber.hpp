// One suspended CUDA thread: a stack and where to go on.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace emulator::detail {

// The operating system's thread that resumes fibers: where it goes on, and AddressSanitizer's view of its stack.
struct Scheduler {
  boost::context::detail::fcontext_t context = nullptr;
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

// The fcontext layer, not boost::context::fiber: that one unwinds an unfinished fiber with an exception, which must not
// pass through instrumented or noexcept kernel code. An abandoned fiber here just has its stack reused.
class Fiber {
 public:
  // `index` staggers stack tops: at equal offsets in their pages they would compete for the same cache sets.
  Fiber(std::size_t index, Scheduler& scheduler, void (*entry)(boost::context::detail::transfer_t));
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the scheduler: runs this fiber, and those that it hands over to, until one suspends.
  void resume();
  // From the fiber: goes back to the scheduler, until resumed.
  void suspend();
  // From the fiber: the same, but `next` goes on, without the scheduler.
  void hand_over(Fiber& next);
  // First statement of the entry function.
  void entered(boost::context::detail::transfer_t from);
  // From the scheduler: drops what the fiber was doing.
  void restart();

  // Soon it will be resumed: its stack is not in the first cache after all others have run.
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
