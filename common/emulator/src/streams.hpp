// Streams and events. A stream runs only when the host, or another running stream, waits for it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "emulator/launch.hpp"

namespace emulator::detail {

// The position in a stream at which an event was recorded.
struct Mark {
  CUstream_st* stream = nullptr;
  bool reached = false;
  std::chrono::steady_clock::time_point at = {};
};

// An entry of a stream: work, an event's position, or a wait for one.
struct Entry {
  char letter;  // in the log (emulator.hpp); 0 for none
  std::function<void()> work = {};
  std::shared_ptr<Mark> sets = {};
  std::shared_ptr<Mark> awaits = {};
};

// Locked before the runtime's other mutexes.
std::lock_guard<std::recursive_mutex> lock_streams();

void open_stream(CUstream_st* stream);
// Its work is still done, before the next cudaDeviceSynchronize returns. Then it is deleted.
void close_stream(CUstream_st* stream);

void put(CUstream_st* stream, Entry entry);
// Appends a valid launch. A launch error if there is no such stream.
void put_kernel(CUstream_st* stream, std::function<void()> work);
// Marks the end of the stream so far. In the default stream the mark is reached at once.
std::shared_ptr<Mark> put_mark(CUstream_st* stream);

void finish_stream(CUstream_st* stream);
void finish_to(const Mark& mark);
void finish_streams();

void forget_stream_log();

}  // namespace emulator::detail

struct CUstream_st {
  std::deque<emulator::detail::Entry> entries = {};
  bool closed = false;
};

struct CUevent_st {
  bool timed = true;
  std::shared_ptr<emulator::detail::Mark> mark = {};  // null until recorded
};
