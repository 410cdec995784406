// An mbarrier on the CPU. Threads and copies complete its phases, and other threads wait for them
// by parity. It is for the reader and for ring_test.cpp. The kernel uses the hardware's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace flash_attention {

class PhaseBarrier {
 public:
  explicit PhaseBarrier(int arrivals) : arrivals_(arrivals), missing_(arrivals) {}

  void arrive() { arrive_expect_tx(0); }

  // Arrives, and adds bytes that copies will complete in this phase.
  void arrive_expect_tx(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    --missing_;
    end_phase_if_complete();
  }

  // A copy has completed that many bytes. It may run before arrive_expect_tx() adds them, as long
  // as an arrival is missing.
  void complete(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    end_phase_if_complete();
  }

  // Waits until the phase of this parity is over, and the barrier is in a phase of the other one.
  void wait(std::uint32_t parity) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return phase_ % 2 != parity; });
  }

  std::uint64_t phase() {
    const std::lock_guard lock(mutex_);
    return phase_;
  }

 private:
  void end_phase_if_complete() {
    if (missing_ > 0 || bytes_ != 0) return;
    missing_ = arrivals_;  // of the next phase
    ++phase_;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  const int arrivals_;
  int missing_;
  std::int64_t bytes_ = 0;
  std::uint64_t phase_ = 0;
};

}  // namespace flash_attention
