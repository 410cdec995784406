// Streams and events. What is put into a stream waits there until the host, or another stream that the host waits for, needs it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "emulator/launch.hpp"

namespace emulator::detail {

// The place in a stream where an event was recorded.
struct Mark {
  CUstream_st* stream = nullptr;
  bool reached = false;
  std::chrono::steady_clock::time_point at = {};
};

// What stands in a stream: work, or the place of an event, or a wait for one.
struct Entry {
  char letter;  // in the log: see emulator.hpp; 0: none
  std::function<void()> work = {};
  std::shared_ptr<Mark> sets = {};
  std::shared_ptr<Mark> awaits = {};
};

// Taken before the runtime's other locks.
std::lock_guard<std::recursive_mutex> lock_streams();

void open_stream(CUstream_st* stream);
// Its work is still done, at the latest when the device is waited for. The stream is deleted then.
void close_stream(CUstream_st* stream);

void put(CUstream_st* stream, Entry entry);
// A kernel that can start. A launch error where there is no such stream.
void put_kernel(CUstream_st* stream, std::function<void()> work);
// The place behind all that was put into the stream so far; of the default stream, it is reached.
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
  std::shared_ptr<emulator::detail::Mark> mark = {};  // null until it is recorded
};
