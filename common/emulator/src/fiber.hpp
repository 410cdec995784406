// One suspended CUDA thread: a stack and where to go on.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace emulator::detail {

// The fcontext layer, not boost::context::fiber: that one unwinds an unfinished fiber with an exception, which must not
// pass through instrumented or noexcept kernel code. An abandoned fiber here just has its stack reused.
class Fiber {
 public:
  // `index` staggers stack tops: at equal offsets in their pages they would compete for the same cache sets.
  Fiber(std::size_t index, void (*entry)(boost::context::detail::transfer_t));
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the scheduler: runs until the fiber suspends. `data` reaches the entry function on the first run.
  void resume(void* data);
  // From the fiber: goes back to the scheduler, until resumed.
  void suspend();
  // First statement of the entry function.
  void entered(boost::context::detail::transfer_t from);
  // From the scheduler: drops what the fiber was doing.
  void restart();

  const void* stack_begin() const { return mapping_; }
  const void* stack_end() const { return mapping_ + mapped_bytes_; }

 private:
  unsigned char* mapping_;
  std::size_t mapped_bytes_;
  unsigned char* top_;
  void (*entry_)(boost::context::detail::transfer_t);
  boost::context::detail::fcontext_t context_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  // AddressSanitizer's view of both sides.
  void* fake_stack_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  std::size_t scheduler_bytes_ = 0;
};

}  // namespace emulator::detail
