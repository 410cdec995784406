// Builds the picture of a block over time from its events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "emulator/observer.hpp"
#include "model.hpp"

namespace emulator::xray {

class TimelineWriter {
 public:
  // A block begins. It is drawn if the kernel has no picture yet.
  void begin(Timeline& timeline, unsigned threads);
  void happened(const Happening& what);

 private:
  struct OfThread {
    std::size_t next = 0;  // the first span that the thread can still join
    int waits_in = -1;     // span
  };
  struct OfWarpgroup {
    int products = -1;           // the span that the next products may join
    std::deque<int> on_the_way;  // spans of single products
  };

  int add(Span::Kind kind, const Happening& what);
  // The row's span that other threads have begun with the same call, or a new one.
  int join(Span::Kind kind, const Happening& what);
  void end(int span);

  Timeline* timeline_ = nullptr;  // null: not drawn
  unsigned moment_ = 0;
  std::vector<OfThread> threads_;
  std::vector<OfWarpgroup> warpgroups_;
  std::map<std::pair<bool, std::uint64_t>, std::deque<int>> moving_;  // copies and stores
};

}  // namespace emulator::xray
